package phrases

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// The environment variables that contain keys.
const (
	openAIKey = "OPENAI_API_KEY"
	urlKey    = "DESKHAND_PHRASES_KEY"
)

// Remote is a model at a URL: at OpenAI, at another server with the same POST
// /chat/completions, or at Ollama. It may be used concurrently.
type Remote struct {
	// Name is the specification that the user gave.
	Name string
	// batch is the number of sections in a request, and concurrent the maximum
	// number of concurrent requests.
	batch, concurrent int

	url, model string
	ollama     bool
	// key is the name of the environment variable that secret comes from. Both
	// may be empty.
	key, secret string
	client      *http.Client
	// pause is the first pause between attempts. Tests shorten it.
	pause time.Duration
}

// OpenRemote opens openai:MODEL, ollama:MODEL or URL#MODEL. It sends nothing.
// It can return the faults "bad_writer" and "no_key". With "no_key" it also
// returns a Remote, which can still be used for estimates.
func OpenRemote(spec string) (*Remote, error) {
	// The client follows no redirects: the key and the text go only to the URL
	// that the user gave.
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	m := &Remote{Name: spec, batch: 5, concurrent: 4, client: client, pause: time.Second}
	base, model, ok := strings.Cut(spec, ":")
	switch {
	case ok && base == "openai":
		m.key, m.secret = openAIKey, strings.TrimSpace(os.Getenv(openAIKey))
		m.url, m.model = "https://api.openai.com/v1/chat/completions", model
	case ok && base == "ollama":
		// A local model handles one request at a time, and small models
		// miscount sections.
		m.batch, m.concurrent, m.ollama = 1, 1, true
		m.url, m.model = embed.OllamaAPI()+"/chat", model
	case strings.HasPrefix(spec, "http://") || strings.HasPrefix(spec, "https://"):
		base, m.model, _ = strings.Cut(spec, "#")
		u, err := url.Parse(base)
		if err != nil || u.Host == "" {
			return nil, fault.New("bad_writer", "the address of the model is not valid", "write it as http://localhost:8080/v1#MODEL")
		}
		if u.User != nil || u.RawQuery != "" {
			return nil, fault.New("bad_writer", "the address of the model at "+u.Host+" contains a password or a query", "put the key in the environment variable "+urlKey)
		}
		m.key, m.secret = urlKey, strings.TrimSpace(os.Getenv(urlKey))
		m.url = strings.TrimRight(base, "/") + "/chat/completions"
	default:
		return nil, fault.New("bad_writer", "unknown source of phrases: "+spec, "use agent:NAME, ollama:MODEL, openai:MODEL, http://HOST/v1#MODEL or gaps")
	}
	if strings.TrimSpace(m.model) == "" {
		return nil, fault.New("bad_writer", spec+" has no model name", "write it as ollama:llama3.1, openai:gpt-4.1-mini or http://localhost:8080/v1#MODEL")
	}
	if m.key == openAIKey && m.secret == "" {
		return m, fault.New("no_key", spec+" needs a key", "set it in the environment variable "+openAIKey)
	}
	return m, nil
}

const (
	// tries is the maximum number of attempts at a request. The pauses between
	// the attempts double, up to longestPause. If the other side asks for a
	// longer pause, up to longestWait, that pause applies. If the other side asks
	// for an even longer pause, the request fails.
	tries        = 5
	longestPause = 20 * time.Second
	longestWait  = 2 * time.Minute
	// answerWithin is the timeout of a request. A local model may have to be
	// loaded first.
	answerWithin = 5 * time.Minute
	// maxReply is the maximum number of bytes that are read from an answer.
	maxReply = 4 << 20
)

// failure describes a failed request.
type failure struct {
	status int // HTTP status; 0 if there was no response
	reason string
	wait   time.Duration // pause that the other side asked for
	again  bool          // whether a retry may succeed
}

func (f *failure) Error() string {
	if f.status == 0 {
		return f.reason
	}
	return strings.TrimSuffix(fmt.Sprintf("%d %s: %s", f.status, http.StatusText(f.status), f.reason), ": ")
}

// ask sends m and returns the text of the answer. It retries as long as a retry
// may succeed. Its faults are "writer_down" and "writer_refused".
func (r *Remote) ask(ctx context.Context, m message) (answer string, u Usage, err error) {
	for try := 1; ; try++ {
		answer, once, err := r.send(ctx, m)
		u.add(once)
		if err == nil {
			return answer, u, nil
		}
		if ctx.Err() != nil {
			return "", u, ctx.Err()
		}
		f := new(failure)
		if !errors.As(err, &f) {
			return "", u, err
		}
		if !f.again || try == tries || f.wait > longestWait {
			return "", u, r.fault(f, try)
		}
		pause := min(r.pause<<(try-1), longestPause)
		pause = max(f.wait, pause/2+rand.N(pause/2+1))
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return "", u, ctx.Err()
		}
	}
}

// fault returns the fault for a request that failed after the given number of
// tries.
func (r *Remote) fault(f *failure, tried int) error {
	message := r.Name + " wrote no phrases: " + f.Error()
	if tried > 1 {
		message = fmt.Sprintf("%s wrote no phrases in %d tries; the last error: %s", r.Name, tried, f.Error())
	}
	switch {
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		hint := "put a proxy that adds its key in front of it; deskhand has no variable for this key"
		if r.key != "" {
			hint = "check the key in the environment variable " + r.key
		}
		return fault.New("writer_refused", message, hint)
	case f.status == http.StatusNotFound && r.ollama:
		return fault.New("writer_refused", message, "download the model first: ollama pull "+r.model)
	case f.status == http.StatusNotFound:
		return fault.New("writer_refused", message, "check the model's name and the address")
	case f.again:
		return &fault.Fault{Code: "writer_down", Message: message, Retryable: true,
			Hint: "check that it is running and reachable, then run the same command again; the phrases written so far are in the file"}
	}
	return fault.New("writer_refused", message, "fix the reported problem, or use another model")
}

// send sends m once.
func (r *Remote) send(ctx context.Context, m message) (answer string, u Usage, err error) {
	type said struct {
		Role    string `json:"role"`
		Content string `json:"content"`
	}
	body := map[string]any{"model": r.model, "messages": []said{{"system", m.system}, {"user", m.user}}}
	if r.ollama {
		body["stream"], body["format"] = false, "json"
	}
	raw, err := json.Marshal(body)
	if err != nil {
		return "", u, fmt.Errorf("encode request: %w", err)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, answerWithin, fmt.Errorf("it did not answer within %v", answerWithin))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.url, bytes.NewReader(raw))
	if err != nil {
		return "", u, fmt.Errorf("create request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if r.secret != "" {
		req.Header.Set("Authorization", "Bearer "+r.secret)
	}
	u.Requests = 1
	resp, err := r.client.Do(req)
	if err != nil {
		return "", u, unreached(ctx, err)
	}
	defer resp.Body.Close()
	reply, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if resp.StatusCode != http.StatusOK {
		return "", u, r.refused(resp, reply)
	}
	if err != nil {
		return "", u, unreached(ctx, err)
	}
	answer, u.TokensIn, u.TokensOut, err = r.decode(reply)
	if err == nil && u.TokensIn+u.TokensOut == 0 {
		u.TokensIn, u.TokensOut, u.Estimated = tokensOf(m.system)+tokensOf(m.user), tokensOf(answer), true
	}
	return answer, u, err
}

func unreached(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &failure{reason: plain(err.Error()), again: true}
}

// decode parses an answer of either API.
func (r *Remote) decode(reply []byte) (answer string, in, out int64, err error) {
	type said struct {
		Content string `json:"content"`
	}
	var all struct {
		Choices []struct {
			Message said `json:"message"`
		} `json:"choices"`
		Usage struct {
			In  int64 `json:"prompt_tokens"`
			Out int64 `json:"completion_tokens"`
		} `json:"usage"`
		// Fields of Ollama's answer.
		Message said  `json:"message"`
		In      int64 `json:"prompt_eval_count"`
		Out     int64 `json:"eval_count"`
	}
	if err := json.Unmarshal(reply, &all); err != nil {
		return "", 0, 0, &failure{reason: "cannot read its answer: " + plain(err.Error())}
	}
	if r.ollama {
		answer = all.Message.Content
	} else if len(all.Choices) > 0 {
		answer = all.Choices[0].Message.Content
	}
	if answer == "" {
		return "", 0, 0, &failure{reason: "its answer has no text"}
	}
	return answer, cmp.Or(all.Usage.In, all.In), cmp.Or(all.Usage.Out, all.Out), nil
}

// refused returns the failure for an answer whose status is not 200.
func (r *Remote) refused(resp *http.Response, reply []byte) error {
	f := &failure{status: resp.StatusCode, reason: complaint(reply)}
	if r.secret != "" {
		f.reason = strings.ReplaceAll(f.reason, r.secret, "***")
	}
	switch {
	case f.status == http.StatusUnauthorized || f.status == http.StatusForbidden:
		f.reason = "" // the message may contain the key
	case f.status == http.StatusTooManyRequests:
		f.again = !noQuota.Match(reply)
	default:
		f.again = f.status >= 500 || f.status == http.StatusRequestTimeout || f.status == http.StatusTooEarly
	}
	if seconds, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64); err == nil && seconds > 0 {
		f.wait = time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	return f
}

// noQuota matches a 429 answer for an account without credit, which a retry
// cannot fix.
var noQuota = regexp.MustCompile(`"insufficient_quota"`)

// complaint returns the message in an error answer: {"error": {"message": ...}},
// {"error": ...} or {"message": ...}.
func complaint(reply []byte) string {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
	}
	if json.Unmarshal(reply, &outer) != nil {
		return ""
	}
	var inner struct {
		Message string `json:"message"`
	}
	var text string
	if json.Unmarshal(outer.Error, &inner) != nil {
		_ = json.Unmarshal(outer.Error, &text) // answers in any other form have no message
	}
	return plain(cmp.Or(inner.Message, text, outer.Message))
}

// plain returns text from outside as one line of at most 300 characters.
func plain(text string) string { return textutil.Shorten(textutil.OneLine(textutil.Plain(text)), 300) }
