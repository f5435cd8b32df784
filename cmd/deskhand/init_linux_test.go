package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// At a terminal a person says what the docs are, sees what is to be written, and
// decides.
func TestPersonAtATerminalSetsAProjectUp(t *testing.T) {
	for name, c := range map[string]struct {
		what, decides, described string
		code                     int
	}{
		"takes the title":    {"\n", "y\n", "Shop documentation", 0},
		"says it in words":   {"manual of the shop\n", "yes\n", "manual of the shop", 0},
		"declines":           {"\n", "n\n", "", 2},
		"ends at the prompt": {"\n", "\x03", "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("HOME", t.TempDir())
			t.Setenv("XDG_CONFIG_HOME", "")
			t.Setenv("DESKHAND_STATE", t.TempDir())
			dir := t.TempDir()
			write(t, dir, map[string]string{"docs/index.md": "# Shop\n\nHow to pay.\n"})
			p := sitsIn(t, dir, "init", "--client", "claude")
			p.sees("[Shop documentation]")
			p.types(c.what)
			p.sees("Write 4 files? [y/N]")
			p.types(c.decides)
			got := p.ends()
			text, err := os.ReadFile(filepath.Join(dir, "metadata.json"))
			if got.code != c.code || (err == nil) != (c.described != "") || !strings.Contains(string(text), c.described) {
				t.Errorf("exit %d, metadata.json %q, want %d and %q; screen %q", got.code, text, c.code, c.described, got.stderr)
			}
			if !strings.Contains(got.stdout, `+      "args": ["serve", "--watch", "docs"]`) {
				t.Errorf("the person was not shown the entry: %q", got.stdout)
			}
		})
	}
}
