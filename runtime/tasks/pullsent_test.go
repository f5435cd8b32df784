package tasks_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/forge/forgetest"
	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// Review comments are sent and remembered at once, or neither: a crash in between left
// comments that could not be sent again after the agent had changed the quoted lines.
func TestReviewCommentsAreSentAndRememberedAtOnce(t *testing.T) {
	t.Setenv("GITEA_TOKEN", forgetest.Token)
	f := forgetest.New(t)
	p, err := forge.PlaceOf("/srv/acme/shop.git", forge.Gitea, f.URL+"/gitea")
	if err != nil {
		t.Fatal(err)
	}
	c := &forge.Client{Token: func(context.Context, forge.Place) (string, error) { return forgetest.Token, nil }, Find: func(string) string { return "" }}
	pull, err := c.Open(t.Context(), p, forge.Request{Branch: "b", Target: "main", Title: "t"})
	if err != nil {
		t.Fatal(err)
	}
	f.Change(1, func(p *forgetest.Pull) {
		p.Comments = []forgetest.Comment{{Author: "grace", Path: "a.txt", Line: 1, Quote: "one", Text: "Why not two?"}}
	})
	d := open(t, Repo{}, settings{})
	s := d.ended(d.start("write a.txt one").AttemptID)
	data, err := json.Marshal(PullRequest{Place: p, Pull: pull})
	if err != nil {
		t.Fatal(err)
	}
	exec := func(query string, args ...any) {
		t.Helper()
		if err := d.db.Update(t.Context(), func(tx *store.Tx) error { _, err := tx.Exec(t.Context(), query, args...); return err }); err != nil {
			t.Fatal(err)
		}
	}
	exec("INSERT INTO pulls (attempt_id, repo, host, state, data, looked_at, created_at) VALUES (?, '', 'h', ?, ?, 0, 0)", s.ID, string(forge.Open), string(data))
	exec("CREATE TRIGGER crash BEFORE INSERT ON pull_comments BEGIN SELECT RAISE(ABORT, 'crash'); END")
	if _, _, err := d.SendPullComments(t.Context(), s.ID); err == nil || !strings.Contains(err.Error(), "crash") {
		t.Fatalf("SendPullComments = %v", err)
	}
	if now, err := d.Status(t.Context(), s.ID); err != nil || now.State != s.State {
		t.Errorf("the agent got the comments: %s, %v", now.State, err)
	}
	exec("DROP TRIGGER crash")
	if sent, _, err := d.SendPullComments(t.Context(), s.ID); err != nil || len(sent) != 1 {
		t.Errorf("afterwards: %v, %v", sent, err)
	}
	if left, err := d.PullComments(t.Context(), s.ID); err != nil || len(left) != 0 {
		t.Errorf("still to send: %v, %v", left, err)
	}
}
