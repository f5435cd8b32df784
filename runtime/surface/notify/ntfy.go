package notify

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// toNtfy publishes messages to a topic of an ntfy server, which shows them on phones.
var toNtfy = kind{name: "ntfy", send: ntfy, parse: func(h *Hook, rest string) error {
	if err := h.address(rest, "https://ntfy.sh/topic"); err != nil {
		return err
	}
	if len(strings.Trim(h.target.Path, "/")) == 0 {
		return errors.New("ntfy needs a topic, for example ntfy:https://ntfy.sh/topic")
	}
	return nil
}}

// ntfyActions is the maximum number of buttons that the ntfy apps show.
const ntfyActions = 3

// ntfy publishes a message as JSON to the root path of the server.
func ntfy(ctx context.Context, h Hook, m Message) (string, error) {
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
		return "", fmt.Errorf("encode notification: %w", err)
	}
	root := *h.target
	root.User, root.RawQuery, root.Path = nil, "", strings.TrimSuffix(path.Dir(root.Path), "/")+"/"
	header := map[string]string{}
	if user := h.target.User; user != nil {
		header["Authorization"] = "Bearer " + user.Username()
	}
	_, err = h.do(ctx, http.MethodPost, root.String(), body, header)
	return "", err
}
