package text

import (
	"strings"
	"testing"
)

func TestNearest(t *testing.T) {
	known := []string{"index", "log_level", "max_answer_bytes", "name", "tools"}
	for word, want := range map[string]string{
		"log-levl": "log_level", "max_answer_byte": "max_answer_bytes", "tool": "tools", "nmae": "name",
		"idnex": "index", "lgo": "", "max_ans": "max_answer_bytes", "indx": "index", "x": "", "": "", "something_else": "", "names": "name",
	} {
		if got := Nearest(word, known); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "", 3}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"same", "same", 0}, {"ask", "aks", 1}, {"index", "idnex", 1}, {"ca", "abc", 3}} {
		if got := Edits(c.a, c.b); got != c.want {
			t.Errorf("Edits(%q, %q) = %d, want %d", c.a, c.b, got, c.want)
		}
	}
}

func TestSimilarNamesTheNearestFirst(t *testing.T) {
	var ids, names []string
	for _, id := range []string{"widget-1@1.0", "widget-10@1.10", "widget-12@1.12", "widget-7@2", "github.com/BurntSushi/toml@1.2", "next@15", "next@16"} {
		name, _, _ := strings.Cut(id, "@")
		ids, names = append(ids, id), append(names, name)
	}
	for word, want := range map[string]string{
		"wigdet-12":              "widget-12@1.12 widget-1@1.0 widget-10@1.10",
		"WIDGET-12":              "widget-12@1.12 widget-1@1.0 widget-10@1.10 widget-7@2",
		"widget-12@2.0":          "widget-12@1.12 widget-1@1.0 widget-10@1.10 widget-7@2",
		"toml":                   "github.com/BurntSushi/toml@1.2",
		"next@17":                "next@15 next@16",
		"react":                  "",
		strings.Repeat("x", 300): "",
	} {
		if got := strings.Join(Similar(word, ids, names), " "); got != want {
			t.Errorf("Similar(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestCountInSingularAndPlural(t *testing.T) {
	for want, got := range map[string]string{
		"1 library": Count(1, "library"), "2 libraries": Count(2, "library"), "0 days": Count(0, "day"), "3 commits": Count(3, "commit"),
	} {
		if got != want {
			t.Errorf("Count = %q, want %q", got, want)
		}
	}
}
