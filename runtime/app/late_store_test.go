package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// A server that started before its store could be opened notifies people once it can.
func TestPeopleAreNotifiedWhenTheStoreComesLate(t *testing.T) {
	c := house(t)
	c.Agents = Part[*Agents]{} // those need the store at once
	blocked := filepath.Join(t.TempDir(), "blocked")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	c.Place = Part[string]{Value: filepath.Join(blocked, "store")}
	notified := make(chan notify.Message, 10)
	c.Notices = Part[Notices]{Value: Notices{Hooks: []notify.Hook{notify.HookTo("test", func(_ context.Context, m notify.Message) error {
		notified <- m
		return nil
	})}}}
	log := &waittest.Log{}
	c.Log = slog.New(slog.NewTextHandler(log, nil))
	a := Open(c)
	serving(t, a, "docs", "ask")
	waittest.Until(t, "the server cannot open the store", func() (bool, any) {
		return strings.Contains(log.String(), "people"), log.String()
	})
	if err := os.Remove(blocked); err != nil {
		t.Fatal(err)
	}
	hub, err := a.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// The server takes part in the store before it sends notices.
	waittest.Until(t, "the server takes part in the store", func() (bool, any) {
		up, err := hub.Reach(t.Context())
		return len(up) > 0, err
	})
	if _, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Message: "Ship it?"}); err != nil {
		t.Fatal(err)
	}
	select {
	case <-notified:
	case <-time.After(waittest.Patience):
		t.Error("nobody was notified of the question")
	}
}
