package app

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// handles counts how often this process has the database open.
func handles(t *testing.T, c Config) (n int) {
	t.Helper()
	place, err := c.Place.Get()
	if err != nil {
		t.Fatal(err)
	}
	links, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range links {
		if at, err := os.Readlink(filepath.Join("/proc/self/fd", l.Name())); err == nil && at == filepath.Join(place, "deskhand.db") {
			n++
		}
	}
	return n
}

// TestAServerHoldsTheDatabaseTwice has every door open that a server over HTTP
// has: with each group of tools, A2A, chats, the board and the inbox.
func TestAServerHoldsTheDatabaseTwice(t *testing.T) {
	c := house(t)
	d, err := c.Docs.Get()
	if err != nil {
		t.Fatal(err)
	}
	build(t, t.TempDir(), d.Dir, 0)
	a := Open(c)
	serving(t, a, "docs", "ask", "work")
	// Until then the server may still be opening it.
	hub, err := a.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Message: "Ship it?"}); err != nil {
		t.Fatal(err)
	}
	// On a busy machine others are opened meanwhile, and closed again.
	waittest.Until(t, "the server holds the database twice at most", func() (bool, any) {
		n := handles(t, c)
		return n <= 2, n
	})
}

// TestAServerOfDocsOpensNoStore is what a client over stdio waits for.
func TestAServerOfDocsOpensNoStore(t *testing.T) {
	c := house(t)
	c.Agents.Value = nil
	d, err := c.Docs.Get()
	if err != nil {
		t.Fatal(err)
	}
	build(t, t.TempDir(), d.Dir, 0)
	serving(t, Open(c), "docs")
	if n := handles(t, c); n != 0 {
		t.Errorf("deskhand.db is open %d times, want none", n)
	}
	place, _ := c.Place.Get()
	if _, err := os.Stat(filepath.Join(place, "deskhand.db")); err == nil {
		t.Error("a server of docs made a database")
	}
}
