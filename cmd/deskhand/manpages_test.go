package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/manpage"
)

func TestEveryCommandHasAManPage(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man")
	if err := writeManPages(commandTree(), dir); err != nil {
		t.Fatal(err)
	}
	page := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	everyCommand(func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" || hiddenAbove(cmd) {
			return
		}
		text := page(manName(cmd) + ".1")
		for _, name := range flagNames(cmd.LocalFlags()) {
			if !strings.Contains(text, manpage.Escape(name)) {
				t.Errorf("%s.1 does not have %s", manName(cmd), name)
			}
		}
	})
	if text := page("deskhand-ask-answer.1"); !strings.Contains(text, ".SH SEE ALSO\n.BR deskhand\\-ask (1)") {
		t.Errorf("deskhand-ask-answer.1 = %s", text)
	}
	if _, err := os.Stat(filepath.Join(dir, "deskhand-man-pages.1")); err == nil {
		t.Error("a hidden command has a page")
	}
}

func hiddenAbove(cmd *cobra.Command) bool {
	for ; cmd != nil; cmd = cmd.Parent() {
		if cmd.Hidden {
			return true
		}
	}
	return false
}
