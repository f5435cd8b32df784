package main

import (
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
)

func TestHubKeepsRequestsInTheStateFolder(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	t.Setenv("DESKHAND_STATE", state)
	var ids []string
	for range 2 {
		a := &app{Console: console.Console{Stdout: io.Discard, Stderr: io.Discard}}
		if err := a.settings.Load(configCommand(a).Flags(), func(string) {}); err != nil {
			t.Fatal(err)
		}
		hub, stop, err := a.hub(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Message: "Ship it?", Key: "once"})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, r.ID)
		stop()
	}
	if ids[0] != ids[1] {
		t.Errorf("the second process asked %s, want the request of the first, %s", ids[1], ids[0])
	}
	if !there(filepath.Join(state, "deskhand.db")) {
		t.Errorf("no deskhand.db in the state folder")
	}
}

func TestStoreIsAFolderOrPostgres(t *testing.T) {
	t.Setenv("DESKHAND_STORE", "mysql://ada:secret@db.example.org/deskhand")
	got := deskhand(t, t.TempDir(), "ask", "list")
	if got.code != exitMisused || !strings.Contains(got.stderr, "store is an address, and not one of PostgreSQL") || strings.Contains(got.stderr, "secret") {
		t.Errorf("ask list: exit %d, %s; want that the store is wrong, without the password", got.code, got.stderr)
	}
}
