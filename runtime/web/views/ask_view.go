package views

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// askViewIn is the data that the form sends. The action open finds the form's
// question. The other actions are requests from the form's script.
type askViewIn struct {
	Do        string          `json:"do"`
	Proof     string          `json:"proof"`
	Arguments json.RawMessage `json:"arguments"`
	RequestID string          `json:"request_id"`
	Again     bool            `json:"again"`
	Key       string          `json:"key"`
	Body      string          `json:"body"`
	After     int64           `json:"after"`
	Wait      int64           `json:"wait"`
}

// metaView is the _meta member that contains the answer to the form. Hosts pass
// it to the view and not to the model.
const metaView = "deskhand/view"

// mostBody is the maximum size of a body in bytes. Every request's form is
// smaller.
const mostBody = 1 << 20

// mostPolls is the maximum number of requests for changes that are held at the
// same time. Further requests are answered immediately.
const mostPolls = 64

// steps maps the requests of the form's script to the inbox's handlers.
var steps = map[string]struct{ method, path, kind, accept string }{
	"form":      {http.MethodGet, "", "", "text/html"},
	"act":       {http.MethodPost, "", "application/x-www-form-urlencoded", "text/html"},
	"draft":     {http.MethodPost, "/draft", "application/json", "application/json"},
	"presented": {http.MethodPost, "/presented", "application/json", "application/json"},
	"changes":   {http.MethodGet, "/changes", "", "application/json"},
}

func (v *Views) askView() contract.Tool {
	least := 0.0
	text := func(about string) *jsonschema.Schema { return &jsonschema.Schema{Type: "string", Description: about} }
	schema := contract.Object([]string{"do"},
		contract.Property{Name: "do", Schema: &jsonschema.Schema{Type: "string", Enum: []any{"open", "form", "act", "draft", "presented", "changes"}, Description: "The form's action."}},
		contract.Property{Name: "proof", Schema: text("For open: an ID chosen by the page.")},
		contract.Property{Name: "arguments", Schema: &jsonschema.Schema{Type: "object", Description: "For open: the arguments of the call to " + v.askName + "."}},
		contract.Property{Name: "request_id", Schema: text("The question's ID; replaces arguments for open.")},
		contract.Property{Name: "again", Schema: &jsonschema.Schema{Type: "boolean", Description: "For open: accept a question that a view has already shown."}},
		contract.Property{Name: "key", Schema: text("Required for every action except open: the key that open returned.")},
		contract.Property{Name: "body", Schema: text("The data that the form sends.")},
		contract.Property{Name: "after", Schema: &jsonschema.Schema{Type: "integer", Minimum: &least, Description: "For changes: return changes after this position."}},
		contract.Property{Name: "wait", Schema: &jsonschema.Schema{Type: "integer", Minimum: &least, Description: "For changes: how long to wait, in milliseconds."}},
	)
	return markOnly(contract.Define(contract.Spec{
		Name: v.askViewName, Title: "A question's form",
		Description: "Carries out what a person does in a question's form. Only the form itself can call this.",
		Input:       contract.Freeze(schema), Additive: true,
	}, v.carry))
}

func markOnly(t contract.Tool) contract.Tool {
	t.OnlyViews = true
	return t
}

// carry passes the form's request to its handler.
func (v *Views) carry(ctx context.Context, caller contract.Caller, in askViewIn) (contract.Result, error) {
	if in.Do == "open" {
		return v.open(ctx, caller, in)
	}
	step := steps[in.Do]
	if len(in.Body) > mostBody {
		return contract.Result{}, fault.New("too_large", fmt.Sprintf("the form is larger than %d bytes", mostBody), "shorten the answer")
	}
	key, err := v.key(ctx, in.RequestID, caller)
	if err != nil {
		return contract.Result{}, err
	}
	if in.RequestID == "" || !same(in.Key, key) {
		return contract.Result{}, notForm()
	}
	path := "/inbox/" + url.PathEscape(in.RequestID) + step.path
	if in.Do == "changes" {
		select {
		case v.polls <- struct{}{}:
			defer func() { <-v.polls }()
		default:
			in.Wait = 0
		}
		path += "?after=" + strconv.FormatInt(in.After, 10) + "&wait=" + strconv.FormatInt(in.Wait, 10)
	}
	a, err := v.request(ctx, step.method, path, step.kind, step.accept, in.Body)
	if err != nil {
		return contract.Result{}, err
	}
	return shown(map[string]any{"status": a.status, "body": a.body.String()}), nil
}

// notForm returns the refusal for a caller that is not the form.
func notForm() error {
	return fault.New("not_the_form", "only a question's form can call this", "ask a person with ask_user; it returns their answer")
}

// shown returns a result for the view. The model does not get it.
func shown(what map[string]any) contract.Result {
	return contract.Result{Text: []string{"The question was shown to the person."}, Meta: map[string]any{metaView: what}}
}

// open finds a call's question. It returns the question's form and key.
func (v *Views) open(ctx context.Context, caller contract.Caller, in askViewIn) (contract.Result, error) {
	proof, err := v.proof(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	if !same(in.Proof, proof) {
		return contract.Result{}, notForm()
	}
	hub, err := v.options.Hub(ctx)
	if err != nil {
		return contract.Result{}, err
	}
	r, seq, err := v.take(ctx, hub, caller, in)
	if err != nil {
		return contract.Result{}, err
	}
	if r == nil { // the call has not asked a question yet, or has ended
		return shown(map[string]any{"found": false}), nil
	}
	id := r.ID
	form := steps["form"]
	a, err := v.request(ctx, form.method, "/inbox/"+url.PathEscape(id), "", form.accept, "")
	if err != nil {
		return contract.Result{}, err
	}
	key, err := v.key(ctx, id, caller)
	if err != nil {
		return contract.Result{}, err
	}
	return shown(map[string]any{"found": true, "request_id": id, "key": key, "seq": seq, "status": a.status, "body": a.body.String()}), nil
}

// take finds a view's question and records that the view shows it. The next
// view therefore finds another question, and the client need not show this
// question in another way. If there is no question yet, it returns nil.
func (v *Views) take(ctx context.Context, hub *elicit.Hub, caller contract.Caller, in askViewIn) (*elicit.Request, int64, error) {
	v.opening.Lock()
	defer v.opening.Unlock()
	id := in.RequestID
	if id == "" {
		var err error
		if id, err = v.options.Find(ctx, caller, in.Arguments, in.Again); err != nil || id == "" {
			return nil, 0, err
		}
	}
	r, seq, err := hub.GetAt(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	if r.Trigger != elicit.AskUser || r.Source.Kind != "mcp" || r.Source.Name != caller.Name {
		return nil, 0, fault.New(elicit.UnknownRequest, "this client has no such question", "")
	}
	presented := elicit.Action{Type: elicit.PresentedTo, RequestID: id, Channel: v.options.Channel, Client: caller.Name}
	_, err = hub.Dispatch(ctx, presented)
	if rejected := new(elicit.Rejection); errors.As(err, &rejected) { // the question has ended
		err = nil
	}
	return &r, seq, err
}

// answer records a handler's response.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }
func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}
func (a *answer) Write(b []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(b)
}

// request passes a request to the form's handler. The key has proved that the
// request comes from one of deskhand's forms. No form token is needed; see
// [page.Shell.Checked].
func (v *Views) request(ctx context.Context, method, path, kind, accept, body string) (*answer, error) {
	r, err := http.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("encode a form's request: %w", err)
	}
	for name, value := range map[string]string{"Accept": accept, "Content-Type": kind, "Deskhand-Part": "1", "Authorization": "view"} {
		if value != "" {
			r.Header.Set(name, value)
		}
	}
	a := &answer{header: http.Header{}}
	v.made().form.ServeHTTP(a, r)
	a.WriteHeader(http.StatusOK)
	return a, nil
}
