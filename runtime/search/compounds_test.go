package search

import (
	"fmt"
	"strings"
	"testing"
)

// What English writes in one or in two words is found in either form.
func TestWordsInOneOrTwoFindEachOther(t *testing.T) {
	e := engine(t, nil, file{path: "a.md", text: "# Access\n\n## First\n\nThe login page.\n\n## Second\n\nA rollback of the deploy.\n\n" +
		"## Third\n\nThe message queue holds.\n\n## Fourth\n\nEvery message counts.\n\n## Fifth\n\nA queue of ships.\n\n## Sixth\n\nSet StateManagement here.\n"})
	for query, section := range map[string]string{
		"log in":       "first",
		"roll back":    "second",
		"messagequeue": "third",
	} {
		if got := ask(t, e, Query{Text: query, By: Words}); len(got) == 0 || !strings.Contains(got[0], "/"+section) {
			t.Errorf("%q finds %q, want the section %s first", query, got, section)
		}
	}
}

func TestWordsAreNotJoinedToIdentifiers(t *testing.T) {
	for _, pair := range [][2]string{{"state", "management"}, {"custom", "control"}, {"a", "in"}, {"v2", "up"}} {
		if got := joinedWith(pair[0], pair[1], " "); got != "" {
			t.Errorf("joinedWith%q = %q, want nothing", pair, got)
		}
	}
	if got := joinedWith("log", "in", ", "); got != "" {
		t.Errorf("joined over a comma: %q", got)
	}
}

// A name that a query begins with is what the query is about, however long the
// phrasings behind it.
func TestANameFirstIsWhatThePhrasingsAreOf(t *testing.T) {
	var fill strings.Builder
	for i := range 12 {
		fmt.Fprintf(&fill, "## Part %d\n\nIt is about the weather of day %d.\n\n", i, i)
	}
	e := engine(t, nil, file{path: "a.md", text: "# Chart\n\n## What is new\n\nOf this release: `--render-subchart-notes`, `--wait-for-jobs`, `--cleanup`, and others that were asked for a long time ago by many.\n\n" +
		"## Notes of a subchart\n\nThe parent passes each option on to a subchart. A parent, an option, an option of the parent.\n\n" + fill.String()})
	// words is the share of the best chunk's evidence that the flag's section has.
	words := func(query string) float64 {
		page, err := e.Search(t.Context(), Query{Text: query, Explain: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hits {
			if strings.Contains(h.ID, "/what-is-new") {
				return h.Evidence.Words
			}
		}
		t.Fatalf("%q does not find the section of the flag", query)
		return 0
	}
	phrased, listed := words("--render-subchart-notes; the parent, an option of the parent"), words("--render-subchart-notes, the parent, an option of the parent")
	if phrased <= listed {
		t.Errorf("the flag's section has %.3f of the words' evidence behind a semicolon and %.3f behind a comma, want more", phrased, listed)
	}
	for _, prose := range []string{"render the notes; --render-subchart-notes", "--wait", "error: no such file; retry", "; x"} {
		if end := nameFirst(prose); end != 0 {
			t.Errorf("nameFirst(%q) = %d, want 0", prose, end)
		}
	}
}
