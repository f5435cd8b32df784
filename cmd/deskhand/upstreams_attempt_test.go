//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// An agent in an attempt calls a tool of an upstream: what it lacks is asked on
// the stream of the chat that it belongs to and in the inbox, the call goes on
// once, and the transcript says when it waited.
func TestAgentOfAnAttemptCallsAnUpstream(t *testing.T) { // I-002 I-009 I-013 I-050 I-062
	const key = "sk-test-0123456789"
	t.Setenv("CI", "")
	k := newKeyed(t, key)
	file, _ := configured(t, "upstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	t.Setenv("DESKHAND_CONFIG", file)
	state := lingering(t)
	s := socketOf(t, exec.Command("deskhand", "serve", "--tools", "ask,work", "--http", "127.0.0.1:0", "--state", state))
	s.token, s.key = tokenOf(t, state), peopleOf(t, state).Key
	session := s.session(state, gitRepo(t, map[string]string{"README.md": "# Shop\n"}))
	resp := s.chat("/run/api/chat", fmt.Sprintf(`{"conversationId":%q,"messages":[{"role":"user","content":%q}]}`, session, "run mcpcall linear_issues\nsay after"), "x-supports-elicitation", "true")
	stream := bufio.NewReader(resp.Body)
	asked, _ := s.chatUntil(stream, `"type":"data-elicitation-request"`, `"mode":"url"`, `"trigger":"credential_required"`, "/connect/elc_")
	r := oneOpen(t, inboxOf(t, state))
	if !strings.Contains(asked, r.ID) || r.Context.AttemptID == "" || r.Trigger != elicit.CredentialRequired {
		t.Errorf("in the inbox is %+v, on the stream\n%s\nwant the same", r, asked)
	}
	paste(t, state, r, key)
	rest, _ := s.chatUntil(stream)
	if !strings.Contains(rest, "3 issues") || !strings.Contains(rest, `"outcome":"accept"`) || !strings.Contains(rest, `"delta":"after"`) || k.seen() != "1 calls, 0 refused" {
		t.Errorf("the upstream saw %s, the rest of the stream is\n%s\nwant the answer of one call", k.seen(), rest)
	}
	c, err := mcpserver.Dial(t.Context(), mcpserver.Target{URL: s.url, Token: s.token})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	text, _, _, err := c.Call(t.Context(), "tail_session_messages", map[string]any{"session_id": session})
	var got struct {
		Page struct {
			Entries []struct {
				Pauses []struct{ ID, Text, Paused_At, Resumed_At, Outcome string }
			}
		}
	}
	if err != nil || json.Unmarshal([]byte(text), &got) != nil || len(got.Page.Entries) != 2 || len(got.Page.Entries[0].Pauses) != 0 || len(got.Page.Entries[1].Pauses) != 1 {
		t.Fatalf("tail_session_messages = %s, %v; want one pause, in the second turn", text, err)
	}
	if p := got.Page.Entries[1].Pauses[0]; p.ID != r.ID || p.Outcome != "accept" || p.Paused_At == "" || p.Resumed_At <= p.Paused_At {
		t.Errorf("the pause is %+v, want that of %s", p, r.ID)
	}
	if strings.Contains(asked+rest+text+s.stderr.String(), key) {
		t.Error("the stream, the transcript or the log shows the key")
	}
}

// An attempt's agent uses the credential of the person who started it, and that person is asked
// for one, also if the owner of the installation has one.
func TestAnAttemptUsesTheCredentialOfWhoStartedIt(t *testing.T) {
	const key = "sk-test-0123456789"
	t.Setenv("CI", "")
	k := newKeyed(t, key)
	file, _ := configured(t, "upstreams:\n  - {name: linear, url: '"+k.URL+"', credential_scope: user, auth: {kind: header}}\n")
	t.Setenv("DESKHAND_CONFIG", file)
	state := lingering(t)
	done(t, t.TempDir(), "people", "add", "ada", "--state", state)
	s := socketOf(t, exec.Command("deskhand", "serve", "--tools", "ask,work", "--http", "127.0.0.1:0", "--state", state))
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, repo, "tasks", "project", "add", ".", "--name", "shop", "--state", state)
	task := strings.TrimSpace(done(t, repo, "tasks", "add", "Look", "--state", state))
	hub := inboxOf(t, state)
	project := zooID(t, s.tool(tokenOf(t, state), "list_projects", `{}`), "project_id")
	repoID := zooID(t, s.tool(tokenOf(t, state), "list_repos", fmt.Sprintf(`{"project_id":%q}`, project)), "repo_id")
	start := fmt.Sprintf(`{"task_id":%q,"executor":"fake","prompt":"run mcpcall linear_issues\nsay after","repos":[{"repo_id":%q}]}`, task, repoID)
	ada := strings.TrimSpace(done(t, t.TempDir(), "token", "create", "--for", "ada", "--scope", "work:read,work:start", "--state", state))
	for _, c := range []struct{ token, asked string }{{tokenOf(t, state), elicit.Local}, {ada, "ada"}} {
		s.tool(c.token, "start_task_attempt", start)
		r := oneOpen(t, hub)
		if r.Trigger != elicit.CredentialRequired || r.Audience.Principal != c.asked {
			t.Fatalf("%s is asked %s, want %s", r.Audience.Principal, r.Trigger, c.asked)
		}
		if c.asked == elicit.Local {
			paste(t, state, r, key)
		}
	}
}
