package elicit_test

import (
	"bytes"
	"io"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// PostgreSQL commits an answer, but the connection breaks before it confirms this.
// The person is told that the answer was accepted, or at most who gave it.
func TestAnAnswerWhoseCommitIsLostIsNotRefusedBecauseOfItself(t *testing.T) {
	place, breaks := cutting(t, storetest.Postgres(t), CompletedBy)
	h := peer(t, place, attended)
	other := peer(t, place, attended)
	id := mustOpen(t, h, greeting()).ID
	breaks.Store(1)
	c, err := h.Dispatch(t.Context(), accept(id, "Ada"))
	if breaks.Load() != 0 {
		t.Fatal("no commit was cut")
	}
	if err != nil { // while it could not reconnect immediately
		c, err = h.Dispatch(t.Context(), accept(id, "Ada"))
	}
	if err != nil || c.Request == nil || !c.Request.Accepted() {
		t.Errorf("the answer whose commit was lost: %+v, %v; want it taken", c, err)
	}
	refusedWith(t, other, accept(id, "Ada"), AlreadyCompleted) // another person's answer came first
}

// PostgreSQL stores a question, but the connection breaks before it confirms this, as in a
// failover. The asker gets that question, and there is no second one.
func TestAQuestionWhoseCommitIsLostIsAskedOnce(t *testing.T) {
	place, breaks := cutting(t, storetest.Postgres(t), Requested)
	h := peer(t, place, attended)
	breaks.Store(1)
	asked, err := h.Open(t.Context(), greeting())
	if breaks.Load() != 0 {
		t.Fatal("no commit was cut")
	}
	if err != nil {
		t.Fatal(err)
	}
	all, err := h.List(t.Context(), Filter{})
	if err != nil || len(all.Requests) != 1 || all.Requests[0].ID != asked.ID {
		t.Errorf("asked %s, and the store has %+v, %v", asked.ID, all, err)
	}
}

// cutting starts a proxy between a hub and its PostgreSQL. It breaks the connection
// after the server has committed the next breaks actions of a type.
func cutting(t *testing.T, place string, action ActionType) (through string, breaks *atomic.Int64) {
	t.Helper()
	u, err := url.Parse(place)
	mustDo(t, err)
	query := u.Query()
	server := query.Get("host")
	dir, err := os.MkdirTemp("", "cut") // a socket's path must be short
	mustDo(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	const name = ".s.PGSQL.5432"
	listener, err := net.Listen("unix", filepath.Join(dir, name))
	mustDo(t, err)
	t.Cleanup(func() { listener.Close() })
	breaks = new(atomic.Int64)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go relay(client, filepath.Join(server, name), action, breaks)
		}
	}()
	query.Set("host", dir)
	u.RawQuery = query.Encode()
	return u.String(), breaks
}

func relay(client net.Conn, path string, action ActionType, breaks *atomic.Int64) {
	defer client.Close()
	server, err := net.Dial("unix", path)
	if err != nil {
		return
	}
	defer server.Close()
	var cut atomic.Bool
	go func() {
		defer server.Close()
		b := make([]byte, 64<<10)
		for {
			n, err := client.Read(b)
			if err != nil {
				return
			}
			// The event of an action is sent together with the commit.
			if bytes.Contains(b[:n], []byte(`{"type":"`+string(action)+`"`)) && breaks.Load() > 0 {
				breaks.Add(-1)
				cut.Store(true)
			}
			if _, err := server.Write(b[:n]); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := server.Read(b)
		if err != nil || cut.Load() { // the server's confirmation of the commit is not passed on
			return
		}
		if _, err := io.Copy(client, bytes.NewReader(b[:n])); err != nil {
			return
		}
	}
}
