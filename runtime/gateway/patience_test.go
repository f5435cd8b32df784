package gateway

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
)

// silent returns an upstream that accepts requests and answers none.
func silent(t *testing.T) Upstream {
	stop := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-stop:
		case <-r.Context().Done():
		}
	}))
	t.Cleanup(func() { close(stop); server.Close() })
	return Upstream{Name: "silent", URL: server.URL}
}

// An upstream that does not answer delays a start, or the first client that lends
// something, only once and only for its patience. It hides no other upstream.
func TestUpstreamThatDoesNotAnswerIsWaitedForOnce(t *testing.T) {
	_, url := shelved(t, "one", true)
	since := time.Now()
	d := at(t, t.TempDir(), nil, silent(t), Upstream{Name: "linear", URL: url}) // starts with 5 s of patience
	const slack = 3 * time.Second                                               // for a busy machine
	if took := time.Since(since); took < 5*time.Second || took > 5*time.Second+slack {
		t.Errorf("the start took %v, want its 5 s", took)
	}
	d.tool("linear_echo")
	const patience = 300 * time.Millisecond
	for _, c := range []struct {
		l        contract.Lends
		at, most time.Duration
	}{
		{contract.Lends{}, 0, slack},
		{contract.Lends{Roots: true}, patience, patience + slack},
		{contract.Lends{Roots: true}, 0, slack},
	} {
		since = time.Now()
		d.Met(t.Context(), c.l, patience)
		if took := time.Since(since); took < c.at || took > c.most {
			t.Errorf("Met(%+v) took %v, want %v to %v", c.l, took, c.at, c.most)
		}
	}
	d.tool("linear_echo")
}
