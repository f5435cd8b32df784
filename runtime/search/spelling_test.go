package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A word that is misspelt once finds its section, wherever the mistake is.
func TestAMisspeltWordFindsItsSection(t *testing.T) {
	e := engine(t, nil, file{path: "a.md", text: "# Access\n\n## Login\n\nThe server checks authentication and authorization.\n\n## Vectors\n\nEmbeddings of each chunk.\n\n## Words\n\nFrobnicate the gizmos quickly.\n"})
	for word, section := range map[string]string{
		"authenticatio": "login", "authenticatiom": "login", "authenticationn": "login", "authentictaion": "login", "authenticaiton": "login",
		"autentication": "login", "authorizatoin": "login", "authorizatin": "login",
		"embeddngs": "vectors", "embeddinsg": "vectors", "embeddinggs": "vectors", "embedings": "vectors",
		"frobnicat": "words", "frobnicatee": "words", "gizmso": "words", "quickyl": "words",
	} {
		got := ask(t, e, Query{Text: word})
		if len(got) == 0 || !strings.Contains(got[0], "/"+section) {
			t.Errorf("%q finds %q, want the section %s", word, got, section)
		}
	}
}

func TestAWordThatIsLikeNoneFindsNothing(t *testing.T) {
	e := engine(t, nil, file{path: "a.md", text: "# Access\n\n## Login\n\nThe server checks authentication.\n"})
	for _, word := range []string{"zzyzxation", "kubernetes", "2026q4", "überall", strings.Repeat("x", 5000)} {
		if got := ask(t, e, Query{Text: word}); len(got) != 0 {
			t.Errorf("%q finds %q, want nothing", word, got)
		}
	}
}

func TestEndingsKeepTheBeginning(t *testing.T) {
	all := slices.Collect(endings("quick"))
	for _, want := range []string{"quic", "quicks", "quikc", "quicj", "quixck"} {
		if !slices.Contains(all, want) {
			t.Errorf("endings(quick) lacks %q", want)
		}
	}
	for _, one := range all {
		if !strings.HasPrefix(one, "qui") {
			t.Errorf("endings(quick) has %q", one)
		}
	}
	if got := slices.Collect(endings("né")); got != nil {
		t.Errorf("endings of a word that is not ASCII = %q", got)
	}
}

func BenchmarkUnknownWord(b *testing.B) {
	var text strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&text, "## Section %d\n\nword%d and others about configuration.\n\n", i, i)
	}
	e := engine(b, nil, file{path: "a.md", text: text.String()})
	for _, word := range []string{"configuratoin", "zzyzxation"} {
		b.Run(word, func(b *testing.B) {
			for b.Loop() {
				if _, err := e.Search(b.Context(), Query{Text: word}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
