package settings

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestStoreIsShownWithoutPassword(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("DESKHAND_STORE", "postgres://ada:secret@db.example.org/deskhand")
	s := &Settings{}
	if err := s.Load(pflag.NewFlagSet("test", pflag.ContinueOnError), func(string) {}); err != nil {
		t.Fatal(err)
	}
	one, _ := settingOf("store")
	if got, err := s.shown(one); err != nil || got != "postgres://ada:xxxxx@db.example.org/deskhand" {
		t.Errorf("shown(store) = %q, %v; want it without the password", got, err)
	}
}
