package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/ahp"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// watching is a program that watches the one session with an open request.
func watching(t *testing.T, s *socket) (c *ahp.Client, session string, r ahp.InputRequest) {
	t.Helper()
	c = ahp.NewClient(ahp.ClientOptions{
		URL: strings.TrimSuffix(s.url, "/mcp") + "/ahp", Header: http.Header{"Authorization": {"Bearer " + personKey}}, ID: t.Name(),
	})
	if err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Disconnect)
	waittest.Until(t, "a session needs input", func() (bool, any) {
		sessions, err := c.Sessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range sessions {
			if one.Status != ahp.InputNeeded {
				continue
			}
			if err := c.Subscribe(t.Context(), one.Resource); err != nil {
				t.Fatal(err)
			}
			if state, _ := c.State(one.Resource); len(state.InputRequests) > 0 {
				session, r = one.Resource, state.InputRequests[0]
				return true, nil
			}
		}
		return false, sessions
	})
	return c, session, r
}

// E-015: what is completed through the channel, the tool call that asked returns.
func TestTheChannelAnswersACallOfAskUser(t *testing.T) {
	t.Setenv("CI", "") // somebody may come and look
	s := overSocket(t, "--tools", "ask", "--state", t.TempDir())
	agent, err := mcpserver.Dial(t.Context(), mcpserver.Target{URL: s.url, Token: bearer})
	if err != nil {
		t.Fatal(err)
	}
	defer agent.Close()
	for _, response := range []elicit.Outcome{elicit.Accept, elicit.Decline} {
		said := calls(t, agent, "ask_user", map[string]any{"questions": []map[string]any{
			{"id": "way", "question": "Which way?", "type": "select", "options": []string{"Left", "Right"}},
		}})
		c, session, r := watching(t, s)
		var answer ahp.Answer
		if err := json.Unmarshal([]byte(`{"state":"submitted","value":{"kind":"selected","value":"Right"}}`), &answer); err != nil {
			t.Fatal(err)
		}
		a := ahp.Action{Type: ahp.Completed, RequestID: r.ID, Response: response}
		if response == elicit.Accept {
			a.Answers = map[string]ahp.Answer{r.Questions[0].ID: answer}
		}
		if _, err := c.Dispatch(t.Context(), session, a); err != nil {
			t.Fatal(err)
		}
		want := map[elicit.Outcome]string{elicit.Accept: `"Right"`, elicit.Decline: `"cancelled":true`}[response]
		if got := <-said; !strings.Contains(strings.ReplaceAll(got, " ", ""), want) {
			t.Errorf("after %s ask_user returns %s, want %s", response, got, want)
		}
		c.Disconnect()
	}
}
