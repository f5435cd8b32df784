package console

import "testing"

func TestAPageThatIsNearlyNamedIsFound(t *testing.T) {
	paths := []string{"a.md", "guides/install.md", "guides/index.md", "api/index.md"}
	for id, want := range map[string]string{
		"a": "a.md", "docs/a.md": "a.md", "docs/a": "a.md", "install.md": "guides/install.md", "install": "guides/install.md",
		"guides/instal.md": "guides/install.md", "index.md": "", "zebra": "", "a.md": "",
	} {
		if got := meant(paths, id); got != want {
			t.Errorf("meant(%q) = %q, want %q", id, got, want)
		}
	}
}
