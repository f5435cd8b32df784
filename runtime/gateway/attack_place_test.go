package gateway

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"golang.org/x/sync/semaphore"
)

// Large answers share a budget. It is used by calls whose clients do not read their
// answers or whose answers do not end. Another large answer ends with an error that
// explains this, a small one does not wait, and returned shares can be used again.
func TestAttackDoorsUpstreamAnswersShareABudget(t *testing.T) {
	const size = 3 << 20
	how := map[string]func(w http.ResponseWriter, id json.RawMessage){
		"JSON": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
			fill(w, size)
			fmt.Fprint(w, `"}]}}`)
		},
		"JSON of a length": func(w http.ResponseWriter, id json.RawMessage) {
			answer := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"%s"}]}}`, id, strings.Repeat("x", size))
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Content-Length", fmt.Sprint(len(answer)))
			fmt.Fprint(w, answer)
		},
		"an event": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
			fill(w, size)
			fmt.Fprint(w, "\"}]}}\n\n")
		},
	}
	for what, send := range how {
		t.Run(what, func(t *testing.T) {
			s := offers(t, "")
			s.call = func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
				if r.Header.Get("Small") != "" {
					answer(w, id, `{"content":[{"type":"text","text":"done"}]}`)
					return
				}
				send(w, id)
			}
			d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL}, Upstream{Name: "little", URL: s.URL, Headers: map[string]string{"Small": "yes"}})
			d.tool("little_good")
			shareOf(t, d, "up_good", "{}", size, func() { d.works("little_good", "{}", "done") })
		})
	}
	t.Run("a command", func(t *testing.T) {
		u := command(t)
		u.Env["GATEWAY_TEST_SERVER"] = "raw"
		d := at(t, t.TempDir(), nil, u)
		shareOf(t, d, "notes_good", `{"how":"large"}`, size, func() { d.works("notes_good", "{}", "done") })
	})
}

// shareOf has two clients that do not read the tool's answer, which use the whole
// budget for one tool.
func shareOf(t *testing.T, d *desk, tool, args string, size int, small func()) {
	t.Helper()
	d.tool(tool)
	const most = placesBytes / 4 // so that three answers are enough
	d.places.bytes, d.places.most, d.places.wait = semaphore.NewWeighted(most), most, 100*time.Millisecond
	var read []func()
	unread := contract.Caller{Name: "agent", Written: func(f func()) { read = append(read, f) }}
	for range 12 {
		o := d.wait(d.call(tool, unread, args))
		if o.err == nil {
			if len(o.text()) < size {
				t.Fatalf("the answer is %.200s", o.text())
			}
			continue
		}
		if f := fault.Of(o.err); f == nil || f.Code != "upstream_error" || !strings.Contains(f.Message, "other large answers") {
			t.Fatalf("one too many ends with %v", o.err)
		}
		small()
		for _, f := range read {
			f()
		}
		if held := d.now(tool, args); held.err != nil || len(held.text()) < size {
			t.Errorf("after the others were read: %v, %.200s", held.err, held.text())
		}
		everything(t, d.places)
		return
	}
	t.Error("twelve answers of 3 MiB that nobody reads are held")
}

// everything fails unless all places are free.
func everything(t *testing.T, p *places) {
	t.Helper()
	if !p.bytes.TryAcquire(p.most) {
		t.Error("a place was not given back")
		return
	}
	p.bytes.Release(p.most)
}

// A waiter is removed when its call ends, and a place is freed when its time is up.
func TestAttackDoorsUpstreamPlacesEnd(t *testing.T) {
	s := offers(t, "")
	s.call = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
		answer(w, id, `{"content":[{"type":"text","text":"`+strings.Repeat("x", 3<<20)+`"}]}`)
	}
	d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, Timeout: 300 * time.Millisecond})
	d.tool("up_good")
	all, err := d.places.take(t.Context(), int(d.places.most))
	if err != nil {
		t.Fatal(err)
	}
	if f := fault.Of(d.now("up_good", "{}").err); f == nil || f.Code != "upstream_timeout" {
		t.Errorf("a call that waits for longer than it may ends with %v", f)
	}
	all.leave()
	all.leave() // this is the same
	everything(t, d.places)

	d.places.time = time.Millisecond
	lost, err := d.places.take(t.Context(), 5)
	if err != nil {
		t.Fatal(err)
	}
	d.places.wait = time.Minute
	if again, err := d.places.take(t.Context(), int(d.places.most)); err != nil {
		t.Errorf("a place whose time is up is held: %v", err)
	} else {
		again.leave()
	}
	g := &gathered{in: &d.upstreams[0].in, ctx: t.Context(), most: 10 << 20, place: lost}
	if err := g.add([]byte("more"), 5); !errors.Is(err, errTooSlow) {
		t.Errorf("what comes after the time of its place is %v", err)
	}
}
