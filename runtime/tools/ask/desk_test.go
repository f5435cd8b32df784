package ask

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/mcpserver"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// The two eras of the protocol.
const (
	legacy = "2025-11-25"
	modern = "2026-07-28"
)

// eras runs a test in both.
func eras(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{legacy, modern} {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

// hubAt opens a hub over its own connection to a store, as another process has.
func hubAt(place string, o elicit.Options) (*elicit.Hub, func(), error) {
	db, err := store.Open(context.Background(), place, elicit.Schema())
	if err != nil {
		return nil, nil, err
	}
	hub := elicit.New(db, o)
	return hub, func() { hub.Close(); db.Close() }, nil
}

// person is somebody at another process over the same store.
type person struct {
	t   testing.TB
	hub *elicit.Hub
}

func personAt(t testing.TB, place string) person {
	t.Helper()
	hub, stop, err := hubAt(place, elicit.Options{Principal: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return person{t, hub}
}

// sees waits until one request is open that was not open before.
func (p person) sees(known ...string) elicit.Request {
	p.t.Helper()
	var found elicit.Request
	waittest.Until(p.t, "something is asked", func() (bool, any) {
		list, err := p.hub.List(context.Background(), elicit.Filter{})
		if err != nil {
			p.t.Fatal(err)
		}
		i := slices.IndexFunc(list.Requests, func(r elicit.Request) bool { return !slices.Contains(known, r.ID) })
		if i < 0 {
			return false, nil
		}
		found = list.Requests[i]
		return true, nil
	})
	return found
}

// left waits until the one open request has nobody who waits for it, because
// its asker is gone or it was handed back, or has somebody again.
func (p person) left(want bool) (r elicit.Request) {
	p.t.Helper()
	waittest.Until(p.t, fmt.Sprintf("nobody waits for the question: %v", want), func() (bool, any) {
		r = p.sees()
		return (r.AskerGone || r.HandedBack) == want, r
	})
	return r
}

func (p person) does(a elicit.Action) {
	p.t.Helper()
	a.Channel = "terminal"
	if _, err := p.hub.Dispatch(context.Background(), a); err != nil {
		p.t.Fatalf("Dispatch(%s %s) = %v", a.Type, a.Response, err)
	}
}

// answers sends texts, one for each question, in their order.
func (p person) answers(r elicit.Request, texts ...string) {
	p.t.Helper()
	fields := map[string][]string{}
	for i, text := range texts {
		fields[r.Questions[i].ID] = []string{text}
	}
	answers, err := r.Fields(fields)
	if err != nil {
		p.t.Fatal(err)
	}
	p.does(elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers})
}

// expires makes the deadline of a request come soon, and waits for it.
func (p person) expires(r elicit.Request) {
	p.t.Helper()
	p.does(elicit.Action{Type: elicit.Extended, RequestID: r.ID, Deadline: elicit.At(time.Now().Add(150 * time.Millisecond))})
	p.becomes(r.ID, elicit.ExpiredOpen)
}

func (p person) becomes(id string, want elicit.Status) elicit.Request {
	p.t.Helper()
	var r elicit.Request
	waittest.Until(p.t, fmt.Sprintf("%s is %s", id, want), func() (bool, any) {
		var err error
		if r, err = p.hub.Get(context.Background(), id); err != nil {
			p.t.Fatal(err)
		}
		return r.Status == want, r.Status
	})
	return r
}

// caller is one client of a desk, over a pipe.
type caller struct {
	t       testing.TB
	session *mcp.ClientSession
}

// callerOf starts a server over place and a client of it. The hub of the server
// is attended unless o says otherwise.
func callerOf(t testing.TB, place, version string, o Options, c mcp.ClientOptions) caller {
	t.Helper()
	return callerNamed(t, "testclient", place, version, o, c)
}

func callerNamed(t testing.TB, name, place, version string, o Options, c mcp.ClientOptions) caller {
	t.Helper()
	d, server := serverOf(t, place, o)
	in, toServer := pipe(t)
	fromServer, out := pipe(t)
	var serving sync.WaitGroup
	serving.Go(func() {
		defer d.Close()
		defer out.Close()
		if err := server.ServeStdio(context.Background(), in, out); err != nil {
			t.Errorf("ServeStdio = %v", err)
		}
	})
	session := connectAs(t, name, &mcp.IOTransport{Reader: fromServer, Writer: toServer}, version, c)
	t.Cleanup(func() {
		toServer.Close()
		serving.Wait()
		session.Close()
	})
	return caller{t, session}
}

func serverOf(t testing.TB, place string, o Options) (*Toolset, *mcpserver.Server) {
	t.Helper()
	if o.Open == nil {
		o.Open = func(context.Context) (*elicit.Hub, func(), error) {
			return hubAt(place, elicit.Options{Attended: true})
		}
	}
	d := New(o)
	server, err := mcpserver.New(mcpserver.Options{DrainTime: 50 * time.Millisecond, StateKey: func() ([]byte, error) { return []byte("one key"), nil }},
		contract.Catalog{Tools: d.Tools()})
	if err != nil {
		t.Fatal(err)
	}
	return d, server
}

func connect(t testing.TB, over mcp.Transport, version string, c mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	if c.Capabilities == nil {
		c.Capabilities = &mcp.ClientCapabilities{}
	}
	return connectAs(t, "testclient", over, version, c)
}

func connectAs(t testing.TB, name string, over mcp.Transport, version string, c mcp.ClientOptions) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: name, Version: "1"}, &c)
	session, err := client.Connect(context.Background(), over, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func pipe(t testing.TB) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	return r, w
}

// reply is what a call came to.
type reply struct {
	*mcp.CallToolResult
	err  error
	took time.Duration
}

func (r reply) texts() (texts []string) {
	for _, c := range r.Content {
		texts = append(texts, c.(*mcp.TextContent).Text)
	}
	return texts
}

func (r reply) output(t testing.TB) (out Output) {
	t.Helper()
	if r.err != nil || r.IsError || len(r.Content) == 0 {
		t.Fatalf("the call ended with %v, %+v", r.err, r.CallToolResult)
	}
	if err := json.Unmarshal([]byte(r.texts()[0]), &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// calls makes a call that somebody else may answer meanwhile.
func (c caller) calls(ctx context.Context, tool, args string, token any) <-chan reply {
	done := make(chan reply, 1)
	params := &mcp.CallToolParams{Name: tool, Arguments: json.RawMessage(args)}
	if token != nil {
		params.SetProgressToken(token)
	}
	go func() {
		since := time.Now()
		result, err := c.session.CallTool(ctx, params)
		done <- reply{result, err, time.Since(since)}
	}()
	return done
}

func (c caller) call(tool, args string) reply {
	c.t.Helper()
	return got(c.t, c.calls(c.t.Context(), tool, args, nil))
}

// got waits for a reply.
func got(t testing.TB, replies <-chan reply) reply {
	t.Helper()
	select {
	case r := <-replies:
		return r
	case <-time.After(waittest.Patience):
		t.Fatalf("no answer in %v", waittest.Patience)
		return reply{}
	}
}
