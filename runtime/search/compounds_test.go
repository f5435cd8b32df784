package search

import (
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
