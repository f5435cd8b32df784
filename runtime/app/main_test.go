package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/docs"
	"github.com/deskhand/deskhand/runtime/waittest"
	"github.com/deskhand/deskhand/runtime/web"
)

func TestMain(m *testing.M) { os.Exit(storetest.Main(m)) }

// secrets of a test's installation.
const (
	agentsToken = "token-of-the-agents-0123456789abcdef"
	personsKey  = "key-of-the-person-0123456789abcdefgh"
)

// house is what an installation in a folder of its own has, with nothing to start.
func house(t testing.TB) Config {
	t.Helper()
	state := filepath.Join(t.TempDir(), "state")
	if real, err := filepath.EvalSymlinks(filepath.Dir(state)); err == nil {
		state = filepath.Join(real, "state")
	}
	return Config{
		Command: "deskhand serve", Name: "deskhand", Version: "test", Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
		Place: Part[string]{Value: state}, StateDir: Part[string]{Value: state},
		Members:  Part[[]elicit.Member]{Value: []elicit.Member{{Principal: elicit.Local}}},
		Tasks:    Part[tasks.Options]{Value: tasks.Options{Dir: filepath.Join(state, "tasks"), Runner: []string{"false"}}},
		People:   Part[People]{Value: People{Wait: time.Minute, Inbox: InboxAuto, Attended: true}},
		Docs:     Part[Docs]{Value: Docs{Dir: filepath.Join(state, "index"), Tools: docs.Options{MaxAnswerBytes: docs.MinAnswerBytes}}},
		Views:    Part[bool]{Value: true},
		Agents:   Part[*Agents]{Value: &Agents{Skill: "ask-a-person"}},
		Token:    Part[string]{Value: agentsToken},
		Visitors: Part[web.People]{Value: web.People{Key: personsKey, Time: time.Hour}},
	}
}

// serving starts a server over HTTP and returns when it listens.
func serving(t testing.TB, a *App, groups ...string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	said, ended := make(chan string, 10), make(chan error, 1)
	go func() {
		ended <- a.Serve(ctx, Service{Groups: groups, Addr: "127.0.0.1:0", Tell: func(text string) { said <- text }})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	select {
	case <-said:
	case err := <-ended:
		ended <- err
		t.Fatalf("Serve: %v", err)
	case <-time.After(waittest.Patience):
		t.Fatal("the server does not listen")
	}
}
