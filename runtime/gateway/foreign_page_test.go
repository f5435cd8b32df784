package gateway

import (
	"context"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// An upstream may report that a page is done just before the person's request is open, also
// if the person was asked before, under the same ID, and declined.
func TestAPageThatIsDoneBeforeThePersonIsAskedEndsTheirRequest(t *testing.T) {
	d := opened(t, t.TempDir(), nil, Upstream{Name: "linear", URL: "http://127.0.0.1:1"})
	u := d.upstreams[0]
	report := func() {
		u.elicitationDone(t.Context(), &mcp.ElicitationCompleteNotificationRequest{Params: &mcp.ElicitationCompleteParams{ElicitationID: "theirs"}})
	}
	ask := func() (elicit.Request, error) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		r, err := u.asRequest(&mcp.ElicitParams{Mode: "url", Message: "Pay first", URL: "https://pay.example/1", ElicitationID: "theirs"}, nil)
		if err != nil {
			return r, err
		}
		return d.hub.Ask(ctx, r, &noting{u: u})
	}
	ended := func(what string) {
		t.Helper()
		if r, err := ask(); err != nil || !r.Accepted() || r.Completion.Channel != "upstream" {
			t.Errorf("%s: the request ended with %+v, %v; want that the upstream ended it", what, r.Completion, err)
		}
	}
	u.foreign.expect("theirs")
	report()
	ended("asked once")

	u.foreign.expect("theirs")
	go func() { d.answer(d.asked().ID, elicit.Decline) }()
	if r, err := ask(); err != nil || r.Accepted() {
		t.Fatalf("the request ended with %+v, %v; want that the person declined", r.Completion, err)
	}
	done := u.foreign.expect("theirs")
	report()
	select {
	case <-done:
	default:
		t.Error("a call would wait for a page that is done")
	}
	ended("asked again")
}
