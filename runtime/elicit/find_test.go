package elicit_test

import (
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/access"
	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestAQuestionIsFoundByAPartOfItsIDAndAsTheNewest(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h := peer(t, place, attended)
		find := func(part string, sole bool) string {
			r, err := h.Find(t.Context(), part, "", sole)
			if f := fault.Of(err); f != nil {
				return f.Code
			}
			if err != nil {
				t.Fatalf("Find(%q) = %v", part, err)
			}
			return r.ID
		}
		want := func(part string, sole bool, want string) {
			t.Helper()
			if got := find(part, sole); got != want {
				t.Errorf("Find(%q, sole %v) = %s, want %s", part, sole, got, want)
			}
		}
		want(Newest, true, UnknownRequest)
		one := mustOpen(t, h, greeting())
		tail := one.ID[len(one.ID)-6:]
		want(one.ID, true, one.ID)
		want(tail, true, one.ID)
		want(strings.ToLower(tail), true, one.ID)
		want("elc_"+tail, true, one.ID)
		want(one.ID[:14], true, one.ID)
		want(one.ID[len(one.ID)-3:], true, UnknownRequest) // too short
		want("____", true, UnknownRequest)                 // matches nothing, and not everything
		want("%%%%", true, UnknownRequest)
		want(Newest, true, one.ID)

		must(t, h, Action{Type: CompletedBy, RequestID: one.ID, Response: Decline, Channel: "web"})
		want(Newest, true, one.ID) // the newest of the history
		other := greeting()
		other.Context.AttemptID = "a"
		two := mustOpen(t, h, other)
		want(Newest, true, two.ID)
		three := mustOpen(t, h, greeting())
		want(Newest, false, three.ID)
		want(Newest, true, AmbiguousID) // it could be another one than the reader saw
		if a, b := two.ID[4:11], three.ID[4:11]; a == b {
			want(a, false, AmbiguousID)
		}
		if r, err := h.Find(t.Context(), Newest, "a", true); err != nil || r.ID != two.ID {
			t.Errorf("the newest of an attempt: %s, %v, want %s", r.ID, err, two.ID)
		}
		if r, err := h.Find(t.Context(), three.ID[len(three.ID)-6:], "a", true); err == nil {
			t.Errorf("another attempt's question is found by its end: %s", r.ID)
		}
	})
}

func TestFindStaysInsideTheCallersBoundary(t *testing.T) {
	h := peer(t, t.TempDir(), Options{})
	in := greeting()
	in.Context.ProjectID = "p"
	hidden := mustOpen(t, h, in)
	stranger := as(t, "bob", access.Boundary{Projects: []string{"p"}})
	for _, part := range []string{Newest, hidden.ID, hidden.ID[len(hidden.ID)-6:]} {
		if r, err := h.Find(stranger, part, "", false); fault.Of(err) == nil || fault.Of(err).Code != UnknownRequest {
			t.Errorf("Find(%q) outside the project = %s, %v", part, r.ID, err)
		}
	}
}
