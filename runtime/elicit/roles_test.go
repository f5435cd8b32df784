package elicit_test

import (
	"context"
	"testing"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// A person at a terminal, who comes without a token, has the roles that the person was added with.
func TestAPersonOfTheSettingsHasRoles(t *testing.T) {
	place := t.TempDir()
	people := func(context.Context) ([]Member, error) {
		return []Member{{Principal: "ivy", Roles: []string{"ops"}}, {Principal: "bob"}}, nil
	}
	r := greeting()
	r.Audience = Audience{Roles: []string{"ops"}}
	asker := peer(t, place, Options{People: people, Attended: true})
	opened, err := asker.Open(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	bob := peer(t, place, Options{People: people, Principal: "bob"})
	if _, err := bob.Dispatch(t.Context(), accept(opened.ID, "Bob")); fault.Of(err) == nil || fault.Of(err).Code != NotYours {
		t.Errorf("bob without the role = %v, want not_yours", err)
	}
	ivy := peer(t, place, Options{People: people, Principal: "ivy"})
	if c, err := ivy.Dispatch(t.Context(), accept(opened.ID, "Ivy")); err != nil || c.Request.Completion.By != "ivy" {
		t.Errorf("ivy with the role = %v", err)
	}
}
