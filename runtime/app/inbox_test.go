package app

import (
	"context"
	"io"
	"log/slog"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// logged sends each message of a log to a channel.
type logged struct {
	slog.Handler
	messages chan string
}

func (l logged) Enabled(context.Context, slog.Level) bool { return true }

func (l logged) Handle(_ context.Context, r slog.Record) error {
	select {
	case l.messages <- r.Message:
	default:
	}
	return nil
}

// A server over stdio opens its inbox with the first question, of whichever process.
func TestAServerOverStdioOpensNoPortUntilAQuestionIsOpen(t *testing.T) {
	c, messages := house(t), make(chan string, 100)
	c.Log = slog.New(logged{slog.DiscardHandler, messages})
	ctx, stop := context.WithCancel(context.Background())
	stdin, client := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- Open(c).Serve(ctx, Service{Groups: []string{"ask"}, Stdin: stdin, Stdout: io.Discard, Tell: func(string) {}})
	}()
	t.Cleanup(func() {
		stop()
		client.Close()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	for message := range messages {
		if message == noQuestionYet {
			break
		}
	}
	other := Open(c)
	t.Cleanup(other.Close)
	hub, err := other.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if up, err := hub.Reach(t.Context()); err != nil || len(up) != 0 {
		t.Fatalf("stations before any question: %+v, %v; want none", up, err)
	}
	if _, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "q", Message: "Which name?"}}}); err != nil {
		t.Fatal(err)
	}
	waittest.Until(t, "the server has an inbox", func() (bool, any) {
		up, err := hub.Reach(t.Context())
		address := InboxAddress(up)
		return err == nil && address != "" && Listening(t.Context(), HostOf(address)), up
	})
}

// An address on loopback belongs to one machine. On another one, something else may listen
// there, so each machine has its own inbox, and a link leads to it or to a public address.
func TestMachinesThatShareAStoreHaveTheirOwnInboxes(t *testing.T) {
	place := storetest.Postgres(t)
	machine := func(public string) *App {
		c := house(t)
		c.Place.Value, c.PublicURL = place, public
		a := Open(c)
		t.Cleanup(a.Close)
		return a
	}
	far, near := machine("https://desk.example.org"), machine("")
	serving(t, far, "ask")
	hub, err := near.Hub(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var up []elicit.Station
	waittest.Until(t, "the server is known", func() (bool, any) {
		up, err = hub.Reach(t.Context())
		return err == nil && len(up) > 0, err
	})
	if at := InboxAddress(up); at != "" {
		t.Errorf("the inbox of another machine is at %s", at)
	}
	if link := near.InboxLink(t.Context(), hub, "/inbox/x", true); link != "https://desk.example.org/inbox/x" {
		t.Errorf("the link to a question is %q, want the public address", link)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	shown, serves := "", false
	show := func(link string) error { shown = link; return nil }
	if err := near.OfferInbox(ctx, show, func() { serves = true; stop() }); err != nil || !serves || shown == "" {
		t.Errorf("OfferInbox shows %q, serves %t, fails with %v; want an inbox of this machine", shown, serves, err)
	}
}
