package manual

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestTopicsAreFound(t *testing.T) {
	for topic, want := range map[string]string{
		"run-an-attempt":                "guides/run-an-attempt.md",
		"guides/run-an-attempt.md":      "guides/run-an-attempt.md",
		"Run an attempt":                "guides/run-an-attempt.md",
		"exit codes":                    "reference/commands/deskhand.md#exit-codes",
		"settings#state-folder":         "reference/settings.md#state-folder",
		"ask_user":                      "reference/tools/ask_user.md",
		"reference/commands/ask":        "reference/commands/ask.md",
		"ask-errors#store_unavailable?": "",
		"run-an-atempt":                 "",
	} {
		found, err := Find(topic)
		got := found.Page.Path
		if found.Section.Anchor != "" {
			got += "#" + found.Section.Anchor
		}
		if got != want || (err == nil) != (want != "") {
			t.Errorf("Find(%q) = %q, %v, want %q", topic, got, err, want)
		}
	}
	if _, err := Find("run-an-atempt"); fault.Of(err) == nil || fault.Of(err).Hint != "did you mean \"deskhand help run-an-attempt\"?" {
		t.Errorf("a misspelt topic: %v", err)
	}
	if found, err := Find("exit-codes"); err != nil || !strings.HasPrefix(found.Markdown(), "## Exit codes") || strings.Contains(found.Markdown()[3:], "\n## ") {
		t.Errorf("one section: %q, %v", found.Markdown(), err)
	}
}

// Each page has a name of its own, and each section can be asked for.
func TestEveryPageAndSectionIsATopic(t *testing.T) {
	for _, p := range Pages() {
		if found, err := Find(p.Name); err != nil || found.Page.Path != p.Path {
			t.Errorf("%s: Find(%q) is %s, %v", p.Path, p.Name, found.Page.Path, err)
		}
		if p.Title == "" || strings.HasPrefix(p.Markdown, "---") {
			t.Errorf("%s: title %q, text begins with %.20q", p.Path, p.Title, p.Markdown)
		}
		for _, s := range p.Sections {
			if found, err := Find(p.Name + "#" + s.Anchor); err != nil || found.Section.Heading != s.Heading {
				t.Errorf("%s#%s: found %q, %v", p.Path, s.Anchor, found.Section.Heading, err)
			}
		}
	}
}

// A link that leads to no page would be shown as it is.
func TestEveryLinkLeadsToATopic(t *testing.T) {
	for _, p := range Pages() {
		text := Linked(p.Markdown, p.Path, func(to Page, anchor string) string {
			if _, err := within(to, anchor); err != nil && anchor != "" {
				t.Logf("%s links to %s#%s, a deeper heading", p.Path, to.Path, anchor)
			}
			return "manual:" + to.Name
		})
		for _, found := range link.FindAllStringSubmatch(text, -1) {
			if target := found[1]; strings.HasSuffix(strings.Split(target, "#")[0], ".md") && !strings.Contains(target, ":") && !strings.Contains(p.Markdown, "`"+found[0]) {
				t.Errorf("%s: the link %s leads to no page", p.Path, target)
			}
		}
	}
}

func TestTheManualIsUnpackedWhole(t *testing.T) {
	files, index := Place(t.TempDir())
	for range 2 { // the second time it is there
		if err := Unpack(files); err != nil {
			t.Fatal(err)
		}
	}
	for _, p := range Pages() {
		if _, err := os.Stat(filepath.Join(files, filepath.FromSlash(p.Path))); err != nil {
			t.Error(err)
		}
	}
	if left, err := filepath.Glob(filepath.Join(filepath.Dir(files), ".files-*")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if filepath.Dir(index) != filepath.Dir(files) {
		t.Errorf("files %s, index %s", files, index)
	}
}

func TestErrorsHaveATopic(t *testing.T) {
	for _, c := range []struct{ code, message, want string }{
		{"no_artifact", "there is no index in .deskhand/index", "serve-errors#there-is-no-index-in-dir"},
		{"not_found", "there is no task 01a2", "work-errors#notfound"},
		{"port", "port 20398 is already in use on 127.0.0.1", "serve-errors#port-20310-is-already-in-use-on-127001"},
		{"", "something that nobody has written about", ""},
		{"misuse", "unknown flag --exlude", "serve-errors#unknown-flag-x"},
	} {
		if got := About(c.code, c.message); got != c.want {
			t.Errorf("About(%q, %q) = %q, want %q", c.code, c.message, got, c.want)
		} else if got != "" {
			if _, err := Find(got); err != nil {
				t.Errorf("%s: %v", got, err)
			}
		}
	}
}
