package notify

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path"
	"runtime"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Hook is one way to deliver messages to a person.
type Hook struct {
	kind   string   // desktop, command, ntfy or webhook
	path   string   // the program, for command
	target *url.URL // the address, for ntfy and webhook
	key    []byte   // signs webhook messages
	send   func(context.Context, Message) error
}

// HookTo returns a hook that calls send. If send returns [ErrAway], the message is
// sent again later.
func HookTo(kind string, send func(context.Context, Message) error) Hook {
	return Hook{kind: kind, send: send}
}

// ErrAway is the error for a failure after which a retry may succeed.
var ErrAway = errAway

// Name returns the hook's name for logs, without its address, which may contain
// a secret.
func (h Hook) Name() string {
	if h.target != nil {
		return h.kind + ":" + h.target.Host
	}
	return h.kind
}

// Signed returns h with the key that signs webhook messages.
func (h Hook) Signed(key []byte) Hook {
	h.key = key
	return h
}

// ParseHook parses desktop, command:PROGRAM, ntfy:URL or webhook:URL. The hook
// does not sign its messages; see [Hook.Signed].
func ParseHook(text string) (Hook, error) {
	kind, rest, _ := strings.Cut(text, ":")
	h := Hook{kind: kind}
	switch kind {
	case "desktop":
		if rest != "" || runtime.GOOS == "windows" {
			return h, fmt.Errorf("desktop takes no value, and works only on Linux and macOS: use command:PROGRAM")
		}
		return h, nil
	case "command":
		if h.path = rest; rest == "" {
			return h, fmt.Errorf("command needs a program, for example command:/usr/local/bin/tell-me")
		}
		return h, nil
	case "ntfy", "webhook":
		u, err := url.Parse(rest)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return h, fmt.Errorf("%s needs an address, for example %s:https://ntfy.sh/topic", kind, kind)
		}
		if kind == "ntfy" && len(strings.Trim(u.Path, "/")) == 0 {
			return h, fmt.Errorf("ntfy needs a topic, for example ntfy:https://ntfy.sh/topic")
		}
		h.target = u
		return h, nil
	}
	return h, fmt.Errorf("%q is not desktop, command:PROGRAM, ntfy:URL or webhook:URL", kind)
}

func (h Hook) deliver(ctx context.Context, m Message) error {
	if h.send != nil {
		return h.send(ctx, m)
	}
	switch h.kind {
	case "desktop":
		return h.run(desktop(ctx, m), m)
	case "command":
		return h.run(exec.CommandContext(ctx, h.path), m)
	case "ntfy":
		return h.ntfy(ctx, m)
	}
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode notification: %w", err)
	}
	mac := hmac.New(sha256.New, h.key)
	mac.Write(body)
	return h.post(ctx, h.target.String(), body, map[string]string{"Deskhand-Signature": "sha256=" + hex.EncodeToString(mac.Sum(nil))})
}

// desktop returns the system's own notification command. Text from agents is
// passed as arguments, and never in a script or as an option.
func desktop(ctx context.Context, m Message) *exec.Cmd {
	if runtime.GOOS == "darwin" {
		return exec.CommandContext(ctx, "osascript", "-e", "on run argv", "-e",
			"display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", m.Title, m.Body)
	}
	urgency := map[elicit.Priority]string{elicit.Low: "low", elicit.Urgent: "critical"}[m.Priority]
	if urgency == "" {
		urgency = "normal"
	}
	return exec.CommandContext(ctx, "notify-send", "--app-name=deskhand", "--urgency="+urgency, "--", m.Title, unmarked.Replace(m.Body))
}

// unmarked escapes markup, which the Desktop Notifications Specification (chapter
// 5) allows in a notification's body but not in its title.
var unmarked = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

// run starts a command with the message on stdin and in its environment.
func (h Hook) run(cmd *exec.Cmd, m Message) error {
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode notification: %w", err)
	}
	cmd.Stdin = bytes.NewReader(body)
	cmd.Env = append(os.Environ(), "DESKHAND_QUESTION_ID="+m.ID, "DESKHAND_QUESTION_TITLE="+m.Title, "DESKHAND_QUESTION_URL="+m.URL)
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("run %s: %w", cmd.Path, err)
	}
	return nil
}

// ntfyActions is the maximum number of buttons that the ntfy apps show.
const ntfyActions = 3

// ntfy publishes a message as JSON to the root path of the server.
func (h Hook) ntfy(ctx context.Context, m Message) error {
	type action struct {
		Action string `json:"action"`
		Label  string `json:"label"`
		URL    string `json:"url"`
		Method string `json:"method,omitempty"`
		Clear  bool   `json:"clear"`
	}
	out := struct {
		Topic    string   `json:"topic"`
		Title    string   `json:"title"`
		Message  string   `json:"message"`
		Priority int      `json:"priority"`
		Tags     []string `json:"tags"`
		Click    string   `json:"click,omitempty"`
		Actions  []action `json:"actions,omitempty"`
	}{Topic: path.Base(h.target.Path), Title: m.Title, Message: m.Body, Tags: []string{"bellhop_bell"}, Click: m.URL,
		Priority: map[elicit.Priority]int{elicit.Low: 2, elicit.Normal: 3, elicit.High: 4, elicit.Urgent: 5}[m.Priority]}
	if len(m.Answers) <= ntfyActions {
		for _, c := range m.Answers {
			out.Actions = append(out.Actions, action{"http", c.Label, c.URL, http.MethodPost, true})
		}
	}
	body, err := json.Marshal(out)
	if err != nil {
		return fmt.Errorf("encode notification: %w", err)
	}
	root := *h.target
	root.User, root.RawQuery, root.Path = nil, "", strings.TrimSuffix(path.Dir(root.Path), "/")+"/"
	header := map[string]string{}
	if user := h.target.User; user != nil {
		header["Authorization"] = "Bearer " + user.Username()
	}
	return h.post(ctx, root.String(), body, header)
}

// client follows no redirects, because each message and key is meant for only
// one server.
var client = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// errAway is the error for a failure after which a retry may succeed.
var errAway = errors.New("send")

// post sends JSON. Its errors do not contain the address, which may contain a
// secret.
func (h Hook) post(ctx context.Context, to string, body []byte, header map[string]string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create request: invalid address")
	}
	r.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		r.Header.Set(name, value)
	}
	response, err := client.Do(r)
	if failed, ok := err.(*url.Error); ok { //nolint:errorlint // Do always returns this type
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errAway, err)
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, 64<<10)) // read the rest, so that the connection can be reused
	switch code := response.StatusCode; {
	case code >= 500, code == http.StatusTooManyRequests, code == http.StatusRequestTimeout:
		return fmt.Errorf("%w: it answered %s", errAway, response.Status)
	case code >= 300:
		return fmt.Errorf("send: it answered %s", response.Status)
	}
	return nil
}
