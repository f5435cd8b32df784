package mcpserver

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// wire is one message as a client reads it.
type wire struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Result  json.RawMessage `json:"result"`
	Error   *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// says is a message in short: its id, and its error code or "ok".
func (w wire) says() string {
	switch {
	case w.Method != "":
		return w.Method
	case w.Error != nil:
		return fmt.Sprintf("%s %d", w.ID, w.Error.Code)
	default:
		return string(w.ID) + " ok"
	}
}

// byHand is a client that writes lines and reads lines, over real pipes.
type byHand struct {
	t     testing.TB
	in    *os.File
	outR  *os.File
	out   *bufio.Reader
	ended chan error
	marks int
}

func newByHand(t testing.TB, s *Server) *byHand {
	t.Helper()
	inR, inW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	outR, outW, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &byHand{t: t, in: inW, outR: outR, out: bufio.NewReaderSize(outR, 1<<20), ended: make(chan error, 1)}
	go func() {
		c.ended <- s.ServeStdio(context.Background(), inR, outW)
		outW.Close()
	}()
	t.Cleanup(func() { inW.Close(); inR.Close(); outR.Close() })
	return c
}

func (c *byHand) send(text string) {
	c.t.Helper()
	if _, err := io.WriteString(c.in, text); err != nil {
		c.t.Fatalf("send %.80q: %v", text, err)
	}
}

func (c *byHand) read() (wire, error) {
	line, err := c.out.ReadBytes('\n')
	if err != nil {
		return wire{}, err
	}
	var w wire
	if err := json.Unmarshal(line, &w); err != nil || w.JSONRPC != "2.0" || w.ID == nil && w.Method == "" {
		c.t.Errorf("the server wrote %.200q, which is no message: %v", line, err)
	}
	return w, nil
}

// settle lists the tools under an id of its own, which shows that the server
// lives on. It returns the other answers, of which it awaits so many: calls run
// side by side, and answers come in any order.
func (c *byHand) settle(awaited int) (others []wire) {
	c.t.Helper()
	c.marks++
	mark := fmt.Sprintf(`"mark-%d"`, c.marks)
	c.send(`{"jsonrpc":"2.0","id":` + mark + `,"method":"tools/list"}` + "\n")
	for listed := false; !listed || len(others) < awaited; {
		w, err := c.read()
		if err != nil {
			c.t.Fatalf("the server ended: %v", err)
		}
		if string(w.ID) != mark {
			others = append(others, w)
			continue
		}
		if w.Error != nil || !bytes.Contains(w.Result, []byte("search_docs")) {
			c.t.Fatalf("tools/list afterwards: %+v %.200s", w.Error, w.Result)
		}
		listed = true
	}
	return others
}

func (c *byHand) initialize() {
	c.t.Helper()
	c.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"byhand","version":"1"}}}` + "\n")
	if w, err := c.read(); err != nil || w.says() != `"init" ok` {
		c.t.Fatalf("initialize: %+v, %v", w, err)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n")
}

func TestHostileFramesAreAnsweredAndSurvived(t *testing.T) {
	if len(hostile) < 80 {
		t.Fatalf("%d frames, want 80 or more", len(hostile))
	}
	c := newByHand(t, newServer(t, Options{MaxLineBytes: 2 << 20}, newDesk().catalog()))
	c.initialize()
	c.settle(0)
	for _, h := range hostile {
		t.Run(h.name, func(t *testing.T) {
			c.t = t
			c.send(h.line + "\n")
			var got []string
			awaited := 1
			if h.want == none {
				awaited = 0
			}
			for _, w := range c.settle(awaited) {
				got = append(got, w.says())
				if w.Error != nil && len(w.Error.Message) > 1000 {
					t.Errorf("an error message of %d bytes", len(w.Error.Message))
				}
				if w.Error != nil && (strings.Contains(w.Error.Message, "mcp.") || w.Error.Message == "") {
					t.Errorf("error message %q", w.Error.Message)
				}
			}
			if said := strings.Join(got, ", "); said != h.want {
				t.Errorf("%.100q is answered with %.200q, want %.200q", h.line, said, h.want)
			}
		})
	}
	c.t = t
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Errorf("ServeStdio = %v, want nil", err)
	}
}

// All at once, in one write: order and framing do not depend on timing.
func TestHostileFramesInOneWrite(t *testing.T) {
	c := newByHand(t, newServer(t, Options{MaxLineBytes: 2 << 20}, newDesk().catalog()))
	c.initialize()
	var all strings.Builder
	want := 0
	for _, h := range hostile {
		if h.want == none || strings.HasPrefix(h.want, "1 ") { // that id may be in use
			continue
		}
		all.WriteString(h.line + "\n")
		want++
	}
	go io.WriteString(c.in, all.String())
	for range want {
		if _, err := c.read(); err != nil {
			t.Fatal(err)
		}
	}
	if extra := c.settle(0); len(extra) != 0 {
		t.Errorf("%d answers too many: %+v", len(extra), extra)
	}
}

func TestBeforeInitialize(t *testing.T) {
	s := newServer(t, Options{}, newDesk().catalog())
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`:                                           `1 -32600`,
		`{"jsonrpc":"2.0","id":2,"method":"ping"}`:                                                 `2 ok`,
		`{"jsonrpc":"2.0","id":3,"method":"initialize"}`:                                           `3 -32602`,
		`{"jsonrpc":"2.0","id":4,"method":"initialize","params":[]}`:                               `4 -32602`,
		`{"jsonrpc":"2.0","id":5,"method":"initialize","params":{"protocolVersion":1}}`:            `5 -32602`,
		`{"jsonrpc":"2.0","id":6,"method":"initialize","params":{"capabilities":{"sampling":1}}}`:  `6 -32602`,
		`{"jsonrpc":"2.0","id":7,"method":"initialize","params":{"protocolVersion":"1999-01-01"}}`: `7 ok`,
		`{"jsonrpc":"2.0","id":8,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`: `8 ok`,
	} {
		c := newByHand(t, s)
		c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n") // too early
		c.send(line + "\n")
		if w, err := c.read(); err != nil || w.says() != want {
			t.Errorf("%s is answered with %s %+v, %v; want %s", line, w.says(), w.Error, err, want)
		}
		c.in.Close()
		if err := <-c.ended; err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	}
}

func TestOverlongLinesCostBoundedMemory(t *testing.T) {
	c := newByHand(t, newServer(t, Options{MaxLineBytes: 64 << 10}, newDesk().catalog()))
	c.initialize()
	c.settle(0)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	chunk := strings.Repeat("z", 1<<20)
	for range 64 {
		c.send(chunk)
	}
	c.send("\n")
	if got := c.settle(1); len(got) != 1 || got[0].says() != "null -32600" {
		t.Errorf("64 MiB in one line are answered with %+v", got)
	}
	runtime.ReadMemStats(&after)
	if grown := after.TotalAlloc - before.TotalAlloc; grown > 8<<20 {
		t.Errorf("64 MiB in one line allocated %d bytes", grown)
	}
}

func TestLastLineWithoutAnEndIsAnswered(t *testing.T) {
	for line, want := range map[string]string{
		`{"jsonrpc":"2.0","id":1,"method":"ping"}`: "1 ok",
		`{"jsonrpc":"2.0","id":1,"meth`:            "null -32700",
	} {
		c := newByHand(t, newServer(t, Options{}, newDesk().catalog()))
		c.initialize()
		c.send(line)
		c.in.Close()
		if w, err := c.read(); err != nil || w.says() != want {
			t.Errorf("%s at the end is answered with %s, %v; want %s", line, w.says(), err, want)
		}
		if err := <-c.ended; err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	}
}

// bothWaits wait for the desk, one on each way to a tool.
var bothWaits = []string{"wait", "wait_long_way"}

func TestClosedInputLetsCallsFinish(t *testing.T) {
	for _, tool := range bothWaits {
		d := newDesk()
		c := newByHand(t, newServer(t, Options{}, d.catalog()))
		c.initialize()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}` + "\n")
		<-d.entered
		c.in.Close()
		d.release <- struct{}{}
		if w, err := c.read(); err != nil || w.says() != "1 ok" {
			t.Errorf("%s in flight: %s, %v; want its answer", tool, w.says(), err)
		}
		if err := <-c.ended; err != nil {
			t.Errorf("ServeStdio = %v, want nil", err)
		}
	}
}

// The SDK drops the answers of its own calls then.
func TestCloseLetsFastCallsFinish(t *testing.T) {
	d := newDesk()
	s := newServer(t, Options{}, d.catalog())
	c := newByHand(t, s)
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"wait"}}` + "\n")
	<-d.entered
	closed := make(chan error, 1)
	go func() { closed <- s.Close(context.Background()) }()
	waittest.Nothing(t, "the end of Close with a call in flight", closed)
	d.release <- struct{}{}
	if w, err := c.read(); err != nil || w.says() != "1 ok" {
		t.Errorf("the call in flight: %s, %v; want its answer", w.says(), err)
	}
	if err := <-closed; err != nil {
		t.Errorf("Close = %v", err)
	}
	if err := <-c.ended; err != nil {
		t.Errorf("ServeStdio = %v, want nil", err)
	}
}

func TestClosedInputWaitsNoLongerThanItsTime(t *testing.T) {
	d := newDesk()
	deaf := contract.Tool{Name: "deaf", Input: noInput, Call: func(context.Context, contract.Caller, json.RawMessage) (contract.Result, error) {
		d.entered <- "deaf"
		<-d.release // whatever its context says
		return contract.Result{}, nil
	}}
	fast := deaf
	fast.Name, fast.ReadOnly = "deaf_fast", true
	catalog := d.catalog()
	catalog.Tools = append(catalog.Tools, deaf, fast)
	for _, tool := range []string{"wait", "wait_long_way", "deaf", "deaf_fast"} {
		c := newByHand(t, newServer(t, Options{DrainTime: 50 * time.Millisecond}, catalog))
		c.initialize()
		c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `"}}` + "\n")
		<-d.entered
		start := time.Now()
		c.in.Close()
		if strings.HasPrefix(tool, "wait") {
			if got := <-d.entered; got != "cancelled" {
				t.Errorf("%s says %s, want cancelled", tool, got)
			}
		}
		if err := <-c.ended; err != nil {
			t.Errorf("ServeStdio = %v, want nil", err)
		}
		if took := time.Since(start); took > waittest.Soon {
			t.Errorf("with %s in flight the server took %v to end", tool, took)
		}
		if w, err := c.read(); err == nil {
			t.Errorf("%s is answered with %s after its time", tool, w.says())
		}
	}
	close(d.release)
}

func TestEndOfContextEndsTheServer(t *testing.T) {
	s := newServer(t, Options{}, newDesk().catalog())
	ctx, cancel := context.WithCancel(t.Context())
	inR, inW := io.Pipe()
	defer inW.Close()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(ctx, inR, io.Discard) }()
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ServeStdio = %v, want nil", err)
	}
}

func TestBrokenPipesAreErrors(t *testing.T) {
	s := newServer(t, Options{}, newDesk().catalog())
	inR, inW := io.Pipe()
	inW.CloseWithError(fmt.Errorf("disk on fire"))
	if err := s.ServeStdio(t.Context(), inR, io.Discard); err == nil || err.Error() != "read messages: disk on fire" {
		t.Errorf("ServeStdio on broken input = %v", err)
	}
	c := newByHand(t, s)
	c.initialize()
	outR, outW, _ := os.Pipe()
	outR.Close()
	inR, inW = io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.ServeStdio(context.Background(), inR, outW) }()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"ping"}`+"\n")
	if err := <-ended; err == nil || !strings.HasPrefix(err.Error(), "write messages: ") {
		t.Errorf("ServeStdio on broken output = %v", err)
	}
}

func TestOutputThatBreaksLaterIsAnError(t *testing.T) {
	for _, tool := range bothWaits {
		d := newDesk()
		c := newByHand(t, newServer(t, Options{DrainTime: time.Minute}, d.catalog()))
		c.initialize()
		for id := range 2 {
			c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}`+"\n", id, tool))
			<-d.entered
		}
		c.outR.Close()
		d.release <- struct{}{}
		if got := <-d.entered; got != "cancelled" {
			t.Errorf("the other call of %s says %s, want cancelled", tool, got)
		}
		if err := <-c.ended; err == nil || !strings.HasPrefix(err.Error(), "write messages: ") {
			t.Errorf("ServeStdio = %v after %s, want an error in writing", err, tool)
		}
	}
}

func TestCancelledCallsAreNotAnswered(t *testing.T) {
	for _, tool := range bothWaits {
		for _, id := range []string{`1`, `"one"`, `9007199254740993`, `"\u0061"`} {
			t.Run(tool+" "+id, func(t *testing.T) { cancelledCallIsNotAnswered(t, tool, id) })
		}
	}
}

func cancelledCallIsNotAnswered(t *testing.T, tool, id string) {
	d := newDesk()
	c := newByHand(t, newServer(t, Options{}, d.catalog()))
	c.initialize()
	c.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"` + tool + `"}}` + "\n")
	<-d.entered
	for _, near := range []string{`9007199254740992`, `1.5`, `"two"`, `"init"`} { // not this one
		c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + near + `}}` + "\n")
	}
	c.settle(0)
	if len(d.entered) != 0 {
		t.Error("another id cancelled the call")
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"bored"}}` + "\n")
	if got := <-d.entered; got != "cancelled" {
		t.Errorf("the tool says %s, want cancelled", got)
	}
	if got := c.settle(0); len(got) != 0 {
		t.Errorf("a cancelled call was answered with %+v", got)
	}
	c.in.Close()
	if err := <-c.ended; err != nil {
		t.Error(err)
	}
}

func TestCallsInFlightAreBounded(t *testing.T) {
	d := newDesk()
	c := newByHand(t, newServer(t, Options{MaxCalls: 3}, d.catalog()))
	c.initialize()
	for id, tool := range []string{"wait", "wait_long_way", "wait"} {
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"%s"}}`+"\n", id, tool))
		<-d.entered
	}
	for id, params := range map[string]string{"8": `"method":"tools/call","params":{"name":"empty"}`, "9": `"method":"ping"`} {
		c.send(`{"jsonrpc":"2.0","id":` + id + `,` + params + "}\n")
		if w, _ := c.read(); w.says() != id+" -32000" {
			t.Errorf("the fourth call is answered with %s, want %s -32000", w.says(), id)
		}
	}
	d.release <- struct{}{}
	if w, _ := c.read(); !strings.HasSuffix(w.says(), " ok") {
		t.Errorf("released: %s", w.says())
	}
	c.settle(0)
	close(d.release)
}

func TestAnswersNobodyReadsAreBounded(t *testing.T) {
	for _, readOnly := range []bool{true, false} {
		var runs atomic.Int32
		tool := contract.Define(contract.Spec{Name: "count", Description: "d", Input: noInput, ReadOnly: readOnly},
			func(context.Context, contract.Caller, struct{}) (contract.Result, error) {
				runs.Add(1)
				return contract.Result{Text: []string{strings.Repeat("x", 66_000)}}, nil // more than a pipe holds
			})
		c := newByHand(t, newServer(t, Options{MaxCalls: 4, DrainTime: time.Millisecond}, contract.Catalog{Tools: []contract.Tool{tool}}))
		c.initialize()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for id := range 50 {
				fmt.Fprintf(c.in, `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"count"}}`+"\n", id)
			}
		}()
		<-sent
		if got := waittest.Settled(t, "no call of the tool begins any more", runs.Load); got > 8 {
			t.Errorf("read-only %v: with 4 calls allowed in flight %d ran", readOnly, got)
		}
		for range 50 {
			if _, err := c.read(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func TestAnIDInUseIsRefused(t *testing.T) {
	for _, tool := range bothWaits {
		d := newDesk()
		c := newByHand(t, newServer(t, Options{}, d.catalog()))
		c.initialize()
		c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"` + tool + `"}}` + "\n")
		<-d.entered
		for _, again := range []string{`"method":"ping"`, `"method":"tools/call","params":{"name":"empty"}`} {
			c.send(`{"jsonrpc":"2.0","id":5,` + again + "}\n")
			if w, _ := c.read(); w.says() != "null -32600" {
				t.Errorf("%s: the same id again is answered with %s, want null -32600", tool, w.says())
			}
		}
		close(d.release)
		if w, _ := c.read(); w.says() != "5 ok" {
			t.Errorf("%s: the first call: %s, want 5 ok", tool, w.says())
		}
		c.send(`{"jsonrpc":"2.0","id":5,"method":"ping"}` + "\n")
		if w, _ := c.read(); w.says() != "5 ok" {
			t.Errorf("%s: the id used again after its answer: %s, want 5 ok", tool, w.says())
		}
	}
}

// Whatever arrives, the server writes whole messages only, and lives on.
func FuzzStdioFrames(f *testing.F) {
	for _, h := range hostile {
		if len(h.line) < 10_000 {
			f.Add([]byte(h.line))
		}
	}
	f.Add([]byte("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}\n\n[]\n{"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if bytes.Contains(data, []byte("wait")) || bytes.Contains(data, []byte("mark-")) {
			return
		}
		c := newByHand(t, newServer(t, Options{}, newDesk().catalog()))
		c.initialize()
		go func() { // the pipe may be smaller than the answers
			c.in.Write(append(data, '\n'))
			io.WriteString(c.in, `{"jsonrpc":"2.0","id":"mark-1","method":"tools/list"}`+"\n")
		}()
		for {
			w, err := c.read()
			if err != nil {
				t.Fatalf("after %q the server ended: %v", data, err)
			}
			if string(w.ID) == `"mark-1"` {
				break
			}
		}
		c.in.Close()
		if err := <-c.ended; err != nil {
			t.Fatalf("ServeStdio after %q = %v", data, err)
		}
	})
}

func FuzzIDs(f *testing.F) {
	for _, id := range []string{`1`, `-0`, `9007199254740993`, `""`, `"\u0000raw:1"`, `"a"`, `1.0`, `"\ud800"`} {
		f.Add(id)
	}
	f.Fuzz(func(t *testing.T, id string) {
		frame, _ := parseFrame([]byte(`{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}`))
		if frame.id == nil {
			return
		}
		back, err := wireID(toID(frame.id))
		var x, y string
		if err == nil && json.Unmarshal(frame.id, &x) == nil && json.Unmarshal(back, &y) == nil && x == y {
			return
		}
		if err != nil || string(back) != string(frame.id) {
			t.Errorf("id %s comes back as %s, %v", frame.id, back, err)
		}
	})
}
