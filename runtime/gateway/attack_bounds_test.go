package gateway

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"runtime/metrics"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// hugeBytes is the size of most answers in these tests, more than a call may take. Before
// there was a limit, an answer took three times its size: 300 MB took 862 MB of memory, and
// 900 MB took 6 GB.
const hugeBytes = 50_000_000

// fill writes n bytes of text.
func fill(w io.Writer, n int) {
	block := []byte(strings.Repeat("x", 1<<20))
	for ; n > 0; n -= len(block) {
		if _, err := w.Write(block); err != nil {
			return
		}
	}
}

// rawCommand is a command that answers as its arguments say.
func rawCommand() {
	out := bufio.NewWriterSize(os.Stdout, 1<<20)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Arguments struct{ How string } }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		switch {
		case m.Method == "initialize":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}}`+"\n", m.ID)
		case m.Method == "tools/list":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[`+oneGoodTool+`]}}`+"\n", m.ID)
		case m.Method != "tools/call":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`+"\n", m.ID)
		case m.Params.Arguments.How == "large":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			fill(out, 3<<20)
			fmt.Fprint(out, `"}]}}`+"\n")
		case m.Params.Arguments.How == "id first":
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, m.ID)
			fill(out, hugeBytes)
			fmt.Fprint(out, `"}]}}`+"\n")
		case m.Params.Arguments.How == "id last":
			fmt.Fprint(out, `{"result":{"content":[{"type":"text","text":"`)
			fill(out, hugeBytes)
			fmt.Fprintf(out, `"}]},"jsonrpc":"2.0","id":%s}`+"\n", m.ID)
		case m.Params.Arguments.How == "no id":
			fill(out, hugeBytes)
			fmt.Fprint(out, "\n")
		default:
			fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", m.ID)
		}
		out.Flush()
	}
}

// peak returns the maximum increase in memory while do runs. It counts what a collection of
// garbage found in use: how much garbage there is besides depends on how busy the machine is.
func peak(do func()) uint64 {
	live := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	look := func() uint64 { metrics.Read(live); return live[0].Value.Uint64() }
	runtime.GC()
	before := look()
	most := before
	done := make(chan struct{})
	go func() { defer close(done); do() }()
	for {
		select {
		case <-done:
			return most - before
		case <-time.After(5 * time.Millisecond):
			most = max(most, look())
		}
	}
}

// An answer that is too long needs no more memory than the part that is passed on.
// The error says what to do, and other calls continue.
func TestAttackDoorsUpstreamAnswers(t *testing.T) {
	const most = 1 << 20
	sse := func(w http.ResponseWriter) { w.Header().Set("Content-Type", "text/event-stream") }
	call := map[string]func(w http.ResponseWriter, id json.RawMessage){
		"JSON": func(w http.ResponseWriter, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
			fill(w, hugeBytes)
			fmt.Fprint(w, `"}]}}`)
		},
		"an event": func(w http.ResponseWriter, id json.RawMessage) {
			sse(w)
			fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`, id)
			fill(w, hugeBytes)
			fmt.Fprint(w, "\"}]}}\n\n")
		},
		"an event of many lines": func(w http.ResponseWriter, _ json.RawMessage) {
			sse(w)
			for range hugeBytes / 150 { // 30 MB in lines
				fmt.Fprintf(w, "data: %s\n", strings.Repeat(" ", 90))
			}
			fmt.Fprint(w, "\n")
		},
		"a field of an event": func(w http.ResponseWriter, _ json.RawMessage) {
			sse(w)
			fmt.Fprint(w, "id: ")
			fill(w, hugeBytes)
			fmt.Fprint(w, "\n\n")
		},
		"an error page": func(w http.ResponseWriter, _ json.RawMessage) {
			w.WriteHeader(http.StatusInternalServerError)
			fill(w, hugeBytes)
		},
		"notifications": func(w http.ResponseWriter, id json.RawMessage) {
			sse(w)
			one := `data: {"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"` + strings.Repeat("x", 10_000) + `"}}` + "\n\n"
			for range hugeBytes * 6 / 10 / len(one) { // 30 MB, of which 4 pass: reading takes the time
				if _, err := io.WriteString(w, one); err != nil {
					return
				}
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"after all\"}]}}\n\n", id)
		},
		"questions": func(w http.ResponseWriter, id json.RawMessage) {
			sse(w)
			for i := range 20_000 {
				fmt.Fprintf(w, `data: {"jsonrpc":"2.0","id":"q%d","method":"ping"}`+"\n\n", i)
			}
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"after all\"}]}}\n\n", id)
		},
		"a stream without an end": func(w http.ResponseWriter, id json.RawMessage) {
			sse(w)
			fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"after all\"}]}}\n\n", id)
			fill(w, hugeBytes)
		},
	}
	for what, send := range call {
		t.Run(what, func(t *testing.T) {
			var bad atomic.Bool
			s := offers(t, "")
			s.call = func(w http.ResponseWriter, _ *http.Request, id json.RawMessage) {
				if !bad.Load() {
					answer(w, id, `{"content":[{"type":"text","text":"done"}]}`)
					return
				}
				send(w, id)
			}
			d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, MaxBytes: most, Timeout: 2 * time.Minute})
			d.tool("up_good")
			bad.Store(true)
			var o outcome
			used := peak(func() { o = d.now("up_good", "{}") })
			if want := 40 * most; used > uint64(want) {
				t.Errorf("it took %d bytes, want %d at most", used, want)
			}
			if got := o.text(); !strings.Contains(got, "max_bytes of upstream up") && got != "after all" && what != "an error page" && what != "a field of an event" || o.err == nil && got != "after all" {
				t.Errorf("the call = %.300s, want that the answer is too long", got)
			}
			bad.Store(false)
			d.works("up_good", "{}", "done")
		})
	}
	for _, how := range []string{"id first", "id last", "no id"} {
		t.Run("a command, "+how, func(t *testing.T) {
			u := command(t)
			u.Env["GATEWAY_TEST_SERVER"], u.MaxBytes = "raw", most
			d := at(t, t.TempDir(), nil, u)
			d.tool("notes_good")
			var o outcome
			used := peak(func() { o = d.now("notes_good", `{"how":"`+how+`"}`) })
			if want := 40 * most; used > uint64(want) {
				t.Errorf("it took %d bytes, want %d at most", used, want)
			}
			if f := fault.Of(o.err); f == nil || how != "no id" && !strings.Contains(f.Message, "max_bytes of upstream notes") {
				t.Errorf("the call = %.300s, want that the answer is too long", o.text())
			}
			d.works("notes_good", "{}", "done")
		})
	}
}

// The sizes of a list's pages and of the whole list are limited too.
func TestAttackDoorsUpstreamLists(t *testing.T) {
	const most = 1 << 20
	big := func(name string) string {
		return fmt.Sprintf(`{"name":%q,"description":%q,"inputSchema":{"type":"object"}}`, name, strings.Repeat("x", 100_000))
	}
	t.Run("a page", func(t *testing.T) {
		var all []string
		for i := range 20 {
			all = append(all, big(fmt.Sprint("t", i)))
		}
		s := offers(t, strings.Join(all, ",")+",")
		d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, MaxBytes: most}, Upstream{Name: "wide", URL: s.URL})
		d.tool("wide_good")
		if u := d.upstreams[0]; len(u.offer()) != 0 || !strings.Contains(d.log.String(), "a message from an upstream was too long") {
			t.Errorf("%d tools of a page that is too long", len(u.offer()))
		}
	})
	t.Run("all pages", func(t *testing.T) {
		var pages atomic.Int32
		s := newStranger(t, &stranger{})
		s.list = func() string {
			n := pages.Add(1)
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, big(fmt.Sprint("t", n)), n)
		}
		d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, MaxBytes: most})
		d.tool("up_t1")
		if n := len(d.Tools()); n > 11 || n < 5 {
			t.Errorf("%d tools of 100,000 bytes are passed on, of %d allowed", n, most)
		}
	})
}

// A call that gets no answer ends. It continues if there is progress or a person is
// being asked.
func TestAttackDoorsUpstreamSilence(t *testing.T) {
	const limit = 500 * time.Millisecond
	t.Run("no answer", func(t *testing.T) {
		s := offers(t, "")
		s.call = func(_ http.ResponseWriter, r *http.Request, _ json.RawMessage) { <-r.Context().Done() }
		d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, Timeout: limit})
		d.tool("up_good")
		if f := fault.Of(d.now("up_good", "{}").err); f == nil || f.Code != "upstream_timeout" {
			t.Errorf("the call ends with %v", f)
		}
	})
	t.Run("half an answer", func(t *testing.T) {
		s := offers(t, "")
		s.call = func(w http.ResponseWriter, r *http.Request, id json.RawMessage) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":`, id)
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
		}
		d := at(t, t.TempDir(), nil, Upstream{Name: "up", URL: s.URL, Timeout: limit})
		d.tool("up_good")
		if f := fault.Of(d.now("up_good", "{}").err); f == nil || f.Code != "upstream_timeout" {
			t.Errorf("the call ends with %v", f)
		}
	})
	t.Run("a person is asked", func(t *testing.T) {
		u := command(t)
		u.Timeout = limit
		d := at(t, t.TempDir(), nil, u)
		d.tool("notes_ask")
		ended := d.call("notes_ask", contract.Caller{}, "{}")
		r := d.asked()
		since := time.Now()
		waittest.Until(t, "a person takes longer than the upstream may", func() (bool, any) {
			if len(ended) > 0 {
				o := <-ended
				t.Fatalf("the call ends while a person is asked: %s", o.text())
			}
			return time.Since(since) > 2*limit, nil
		})
		d.answerSure(r.ID)
		if got := d.wait(ended).text(); got != `accept{"sure":true}` {
			t.Errorf("the call = %s, want the answer of the person", got)
		}
	})
	if u := (&upstream{}); u.patience() != DefaultTimeout {
		t.Errorf("a call without a timeout may be silent for %v", u.patience())
	}
}
