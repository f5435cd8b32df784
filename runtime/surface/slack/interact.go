package slack

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	api "github.com/slack-go/slack"
	"github.com/slack-go/slack/socketmode"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// maxFrame is the maximum size of a message from Slack in bytes. A completely
// filled form has about 300 KB.
const maxFrame = 4 << 20

// listen keeps the connection open over which Slack reports what people press.
// While the connection is open, people can be reached. listen returns nil when
// ctx ends, and an error if Slack permanently refuses the connection.
func (d *leader) listen(ctx context.Context) error {
	for ctx.Err() == nil {
		_, err := d.api.AuthTestContext(ctx)
		if err == nil {
			err = d.connect(ctx)
		}
		if final := refused(err); final != nil {
			return final
		}
		if err != nil && ctx.Err() == nil {
			d.o.Log.Warn("no connection", "surface", Channel, "error", err)
			pause(ctx, retryTime)
		}
	}
	return nil
}

func (d *leader) connect(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	client := socketmode.New(d.api, socketmode.OptionReadLimit(maxFrame), socketmode.OptionLog(discard{}))
	var running sync.WaitGroup
	running.Go(func() {
		handling := &handler{leader: d, client: client}
		handling.run(ctx)
	})
	err := client.RunContext(ctx)
	stop()
	running.Wait()
	return err
}

// handler handles the events of one connection.
type handler struct {
	*leader
	client  *socketmode.Client
	calls   sync.WaitGroup // running calls of Slack's API methods
	offline func()         // detaches the station; nil while offline
}

func (h *handler) run(ctx context.Context) {
	defer func() {
		h.gone()
		h.calls.Wait()
	}()
	for {
		select {
		case e := <-h.client.Events:
			h.event(ctx, e)
		case <-ctx.Done():
			return
		}
	}
}

func (h *handler) event(ctx context.Context, e socketmode.Event) {
	switch e.Type {
	case socketmode.EventTypeConnected:
		h.gone()
		_, _, detach, err := h.hub.Attach(ctx, elicit.Station{Kind: Channel, Members: Members(h.o.People)})
		if err != nil {
			h.o.Log.Warn("cannot attach the station", "surface", Channel, "error", err)
			return
		}
		h.offline = detach
	case socketmode.EventTypeConnectionError:
		h.gone()
		if failed, ok := e.Data.(*api.ConnectionErrorEvent); ok {
			h.o.Log.Warn("no connection", "surface", Channel, "error", failed.ErrorObj, "again", failed.Backoff)
		}
	case socketmode.EventTypeInteractive:
		if c, ok := e.Data.(api.InteractionCallback); ok && e.Request != nil {
			h.interaction(ctx, e.Request.EnvelopeID, &c)
		}
	default:
		if e.Request != nil && e.Request.EnvelopeID != "" { // a kind of event that deskhand does not use
			h.ack(ctx, e.Request.EnvelopeID, nil)
		}
	}
}

func (h *handler) gone() {
	if h.offline != nil {
		h.offline()
		h.offline = nil
	}
}

func (h *handler) ack(ctx context.Context, envelope string, payload any) {
	if err := h.client.AckCtx(ctx, envelope, payload); err != nil && ctx.Err() == nil {
		h.o.Log.Warn("cannot acknowledge a press", "surface", Channel, "error", err)
	}
}

// interaction handles a pressed button or a submitted form. Slack requires an
// acknowledgement within three seconds.
func (h *handler) interaction(ctx context.Context, envelope string, c *api.InteractionCallback) {
	if c.Type == api.InteractionTypeViewSubmission && c.View.CallbackID == formCallback {
		h.ack(ctx, envelope, h.submit(ctx, c))
		return
	}
	h.ack(ctx, envelope, nil)
	if c.Type != api.InteractionTypeBlockActions {
		return
	}
	for _, a := range c.ActionCallback.BlockActions {
		if c.View.CallbackID == formCallback {
			h.draft(ctx, c, a)
		} else if err := h.press(ctx, c, a); err != nil {
			h.tell(ctx, c, err)
		}
	}
}

// actor makes the Slack user the acting person of an action.
func (h *handler) actor(c *api.InteractionCallback, a elicit.Action) (elicit.Action, error) {
	p, ok := h.o.person(c.User.ID)
	if !ok {
		return a, fault.New("unknown_person", "You are not allowed to answer here.",
			"deskhand's operator can add "+c.User.ID+" to slack.people.")
	}
	a.By, a.Roles, a.Channel, a.Client = p.Principal, p.Roles, Channel, c.User.ID
	return a, nil
}

// get reads a request for a person. The person may have lost its project since the message was
// posted, and the form would show what was said since.
func (h *handler) get(ctx context.Context, id, principal string) (r elicit.Request, err error) {
	if r, err = h.hub.Get(ctx, id); err != nil {
		return r, err
	}
	sees, err := h.hub.Sees(ctx, principal, r.Context.ProjectID)
	if err == nil && !sees {
		err = fault.New(elicit.UnknownRequest, "You do not see this project any more.", "Ask a member of the project.")
	}
	return r, err
}

// press handles a pressed button or menu item in a message.
func (h *handler) press(ctx context.Context, c *api.InteractionCallback, a *api.BlockAction) error {
	action, err := h.actor(c, elicit.Action{Type: elicit.CompletedBy, RequestID: a.BlockID, Response: elicit.Accept})
	if err != nil || a.ActionID == opLink {
		return err
	}
	r, err := h.get(ctx, a.BlockID, action.By)
	if err != nil {
		return err
	}
	op, chosen := cmp.Or(a.SelectedOption.Value, a.ActionID), ""
	if a.ActionID == opPick {
		op, chosen = opChoose, a.SelectedOption.Value
	} else if after, ok := strings.CutPrefix(a.ActionID, opChoose); ok {
		op, chosen = opChoose, after
	}
	switch op {
	case opForm:
		h.open(ctx, c, r)
		return nil
	case opDecline:
		action.Response = elicit.Decline
	case opCancel:
		action.Response = elicit.Cancel
	case opLonger:
		action = elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(r.Deadline.Add(10 * time.Minute)),
			By: action.By, Roles: action.Roles, Channel: Channel, Client: action.Client}
	case opAgree:
	case opYes, opNo, opChoose:
		if action.Answers, err = answer(&r, op, chosen); err != nil {
			return err
		}
	default:
		return fault.New("old_message", "This message is from another version of deskhand.", "Answer in its inbox.")
	}
	_, err = h.hub.Dispatch(ctx, action)
	if errors.As(err, new(*elicit.Rejection)) {
		h.want(r.ID)
	}
	return err
}

// answer returns the answer that a pressed button or menu item gives.
func answer(r *elicit.Request, op, chosen string) (map[string]elicit.Answer, error) {
	q := small(r)
	if q == nil {
		return nil, fault.New("old_message", "The question has changed since then.", "Check it again.")
	}
	text := op
	if op == opChoose {
		text = ""
		for _, o := range q.Options {
			if tag(o.ID) == chosen {
				text = o.ID
			}
		}
		if text == "" {
			return nil, fault.New("old_message", "The question has changed since then, and this answer no longer exists.", "Check it again.")
		}
	}
	return r.Fields(map[string][]string{q.ID: {text}})
}

// open shows a request's form.
func (h *handler) open(ctx context.Context, c *api.InteractionCallback, r elicit.Request) {
	view := form(&r)
	if r.Status == elicit.Completed {
		view = says(ended(&r))
	}
	h.calls.Go(func() {
		if _, err := h.api.OpenViewContext(ctx, c.TriggerID, view); err != nil && ctx.Err() == nil {
			h.o.Log.Warn("cannot open a form", "surface", Channel, "elicitationId", r.ID, "error", err)
		}
	})
}

// draft saves the text that a person types, so that all surfaces show it.
func (h *handler) draft(ctx context.Context, c *api.InteractionCallback, a *api.BlockAction) {
	action, err := h.actor(c, elicit.Action{Type: elicit.AnswerChanged, RequestID: c.View.PrivateMetadata})
	if err != nil {
		return // a submit reports the error
	}
	r, err := h.get(ctx, action.RequestID, action.By)
	if err != nil {
		return
	}
	all := fields(&r, c.View.State)
	for i := range r.Questions {
		q := &r.Questions[i]
		if a.BlockID != answerBlock+tag(q.ID) && a.BlockID != ownBlock+tag(q.ID) {
			continue
		}
		mine := map[string][]string{q.ID: all[q.ID]}
		if own := all[q.ID+elicit.OtherSuffix]; own != nil {
			mine[q.ID+elicit.OtherSuffix] = own
		}
		answers, err := r.Fields(mine)
		if err != nil {
			return // not an answer yet, for example an incomplete number
		}
		action.QuestionID = q.ID
		if given, ok := answers[q.ID]; ok {
			action.Answer = &elicit.Answer{State: elicit.Draft, Value: given.Value}
		}
		if _, err := h.hub.Dispatch(ctx, action); err != nil && fault.Of(err) == nil {
			h.o.Log.Warn("cannot save a draft", "surface", Channel, "elicitationId", r.ID, "error", err)
		}
	}
}

// submit handles a submitted form. It returns what Slack shows. nil closes the
// form. Otherwise, Slack shows the problem with each question, or the reason
// why the answer was not accepted.
func (h *handler) submit(ctx context.Context, c *api.InteractionCallback) any {
	action, err := h.actor(c, elicit.Action{Type: elicit.CompletedBy, RequestID: c.View.PrivateMetadata, Response: elicit.Accept})
	if err != nil {
		return told(err)
	}
	r, err := h.get(ctx, action.RequestID, action.By)
	if err != nil {
		return told(err)
	}
	action.Note = noteIn(c.View.State)
	answers, err := r.Fields(fields(&r, c.View.State))
	if err == nil {
		action.Answers = r.Final(answers)
		_, err = h.hub.Dispatch(ctx, action)
	}
	if err == nil {
		return nil
	}
	if errors.As(err, new(*elicit.Rejection)) {
		h.want(r.ID)
	}
	if wrong := problems(&r, err); wrong != nil {
		return api.NewErrorsViewSubmissionResponse(wrong)
	}
	return told(err)
}

// noteIn returns the note in a form.
func noteIn(state *api.ViewState) string {
	if state == nil {
		return ""
	}
	return strings.TrimSpace(state.Values[noteBlock][inputAction].Value)
}

// told returns a form that shows an error and replaces the submitted form.
func told(err error) any {
	view := says(sentence(err))
	return api.NewUpdateViewSubmissionResponse(&view)
}

// sentence returns the text of an error in a form for people.
func sentence(err error) string {
	f := fault.Of(err)
	if f == nil {
		return "deskhand could not save the answer. Please retry, or answer in its inbox."
	}
	text := strings.ToUpper(f.Message[:1]) + f.Message[1:]
	if f.Hint != "" {
		text += " " + strings.ToUpper(f.Hint[:1]) + f.Hint[1:]
	}
	return text
}

// tell shows an error only to the person who pressed the button.
func (h *handler) tell(ctx context.Context, c *api.InteractionCallback, cause error) {
	if fault.Of(cause) == nil && ctx.Err() == nil {
		h.o.Log.Error("cannot handle a press", "surface", Channel, "error", cause)
	}
	h.calls.Go(func() {
		text := api.MsgOptionText(escape.Replace(cut(sentence(cause), maxText)), false)
		if _, err := h.api.PostEphemeralContext(ctx, c.Channel.ID, c.User.ID, text); err != nil && ctx.Err() == nil {
			h.o.Log.Warn("cannot send a person a message", "surface", Channel, "error", err)
		}
	})
}
