package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/surface/slack/slacktest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// withSlack are the variables of a server that posts to a Slack of the test.
func withSlack(s *slacktest.Slack) []string {
	return []string{"DESKHAND_SLACK_CHANNEL=" + slacktest.Channel, "DESKHAND_SLACK_PEOPLE=U0ANN=local", "DESKHAND_SLACK_API=" + s.API(),
		"DESKHAND_SLACK_BOT_TOKEN=" + slacktest.BotToken, "DESKHAND_SLACK_APP_TOKEN=" + slacktest.AppToken}
}

// messageOf waits for the message of a request that has words in it.
func messageOf(t *testing.T, s *slacktest.Slack, r elicit.Request, words string) (found slacktest.Message) {
	t.Helper()
	s.Until(t, "a message that says "+words, 2*patience, func() bool {
		for _, m := range s.Messages() {
			if m.Metadata.EventPayload["id"] == r.ID && strings.Contains(m.Text, words) {
				found = m
				return true
			}
		}
		return false
	})
	return found
}

// I-053, I-055: an agent asks, a person presses in Slack, and the call goes on.
func TestAPressInSlackAnswersAnAgent(t *testing.T) {
	s, state := slacktest.New(t), filepath.Join(t.TempDir(), "state")
	agent := askingServer(t, state, append(withSlack(s), "DESKHAND_INBOX=off")...)
	s.Until(t, "a connection", patience, func() bool { return s.Sockets() == 1 })
	hub := inboxOf(t, state)
	waittest.Until(t, "Slack says that it is there", func() (bool, any) { // it is connected just before it says so
		up, err := hub.Reach(t.Context())
		return len(up) > 0, err
	})
	answers := calls(t, agent, "ask_user", map[string]any{"questions": []any{map[string]any{"question": "Ship it?", "type": "confirm"}}})
	s.Press(t, "U0ANN", messageOf(t, s, oneOpen(t, hub), "Ship it?"), "yes", "")
	if got := come(t, answers); !strings.Contains(got, `"answered":true`) {
		t.Errorf("ask_user = %s, want the answer", got)
	}
}

// The process that posts is killed; another one carries on, with what the first
// began too, and nothing is there twice.
func TestAKilledPosterIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	s, state := slacktest.New(t), filepath.Join(t.TempDir(), "state")
	first := askingServer(t, state, withSlack(s)...)
	s.Until(t, "a connection", patience, func() bool { return s.Sockets() == 1 })
	second := askingServer(t, state, withSlack(s)...)
	answers := calls(t, second, "ask_user", map[string]any{"questions": []any{map[string]any{"question": "Ship it?", "type": "confirm"}}})
	r := oneOpen(t, inboxOf(t, state))
	messageOf(t, s, r, "")
	kill(t, first)
	asked := calls(t, second, "ask_user", map[string]any{"questions": []any{map[string]any{"question": "And then?", "type": "confirm"}}})
	next := newest(t, inboxOf(t, state), "And then?")
	s.Until(t, "a connection of the other", 2*patience, func() bool { return s.Sockets() == 1 && s.Calls("apps.connections.open") == 2 })
	s.Press(t, "U0ANN", messageOf(t, s, next, "And then?"), "no", "")
	s.Press(t, "U0ANN", messageOf(t, s, r, "Ship it?"), "yes", "")
	for what, answers := range map[string]<-chan string{"the first": answers, "the second": asked} {
		if got := come(t, answers); !strings.Contains(got, `"answered":true`) {
			t.Errorf("%s question: %s, want an answer", what, got)
		}
	}
	messageOf(t, s, r, "Answered in Slack")
	messageOf(t, s, next, "Answered in Slack")
	if n := len(s.Messages()); n != 2 {
		t.Errorf("%d messages of two questions", n)
	}
}

// kill ends a server without a word.
func kill(t *testing.T, c *mcpserver.Client) {
	t.Helper()
	p, err := os.FindProcess(c.PID())
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestSettingsOfSlackAreCheckedAtTheStart(t *testing.T) {
	for name, one := range map[string]struct{ file, says string }{
		"nobody may answer": {"slack:\n  channel: C012\n", "slack.people is empty"},
		"a name":            {"slack:\n  channel: '#general'\n  people: [U01=local]\n", "not a Slack channel ID"},
		"no token":          {"slack:\n  channel: C012\n  people: [U01=local]\n", "bot token"},
		"not who":           {"slack:\n  channel: C012\n  people: [ann]\n", "does not map a person in Slack"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"deskhand.yaml": one.file})
			for _, command := range [][]string{{"config", "--config", "deskhand.yaml"}, {"serve", "--tools", "ask", "--config", "deskhand.yaml"}} {
				if got := deskhand(t, dir, command...); got.code != 2 || !strings.Contains(got.stderr, one.says) || !strings.Contains(got.stderr, "hint: ") {
					t.Errorf("deskhand %s: exit %d, stderr %q; want 2 and %q", command[0], got.code, got.stderr, one.says)
				}
			}
		})
	}
}
