package train

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// german has made-up words, so that the model cannot know them.
var german = map[string]string{"remove": "entzwurgeln", "start": "anfluppen", "picture": "bildrausch", "folder": "ablagentur",
	"undo": "ruckwirbeln", "show": "vorglotzen", "error": "patzerei", "house": "hausung"}

// bilingual writes pages in English and their translations.
func bilingual(t testing.TB) []string {
	t.Helper()
	dir := t.TempDir()
	r := randomOf(3)
	var words []string
	for w := range german {
		words = append(words, w)
	}
	slices.Sort(words)
	for page := range 30 {
		var en, de strings.Builder
		fmt.Fprintf(&en, "# Page %d\n\n", page)
		fmt.Fprintf(&de, "# Seitling %d\n\n", page)
		for range 6 {
			x, y := words[r.below(len(words))], words[r.below(len(words))]
			fmt.Fprintf(&en, "## %s and %s\n\nThis section of the manual says how to %s things, and when to %s them again.\n\n", x, y, x, y)
			fmt.Fprintf(&de, "## %s undso %s\n\nDiesling Abschnittling erklart wieso man %s machen kannst, undso wann %s.\n\n", german[x], german[y], german[x], german[y])
		}
		for language, text := range map[string]string{"en": en.String(), "de": de.String()} {
			path := filepath.Join(dir, language, "guide", fmt.Sprintf("p%02d.md", page))
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	return []string{dir}
}

func builtin(t testing.TB) *embed.Static {
	t.Helper()
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	return e.(*embed.Static)
}

func TestAWordIsNearItsTranslation(t *testing.T) {
	known := builtin(t)
	opts := Options{Dirs: bilingual(t), From: known, Epochs: 20}
	report, err := Translations(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	added, err := embed.Parse(report.Model)
	if err != nil {
		t.Fatal(err)
	}
	m, err := known.With(added)
	if err != nil {
		t.Fatal(err)
	}
	for word, foreign := range german {
		v := m.Embed(foreign)
		best, nearest := "", -1.0
		for other := range german {
			if c := cosine(v, m.Embed(other)); c > nearest {
				best, nearest = other, c
			}
		}
		if best != word {
			t.Errorf("nearest to %s is %s, want %s", foreign, best, word)
		}
	}
	for _, text := range []string{"remove the picture", "Page", "how to show things"} {
		if c := cosine(m.Embed(text), known.Embed(text)); c < 0.999999 {
			t.Errorf("the vector of %q has changed: cosine %g", text, c)
		}
	}
	again, err := Translations(t.Context(), opts)
	if err != nil || !bytes.Equal(again.Model, report.Model) {
		t.Errorf("the same texts give another model (%v)", err)
	}
}

func TestTranslationsWithoutOriginals(t *testing.T) {
	dir := bilingual(t)[0]
	if err := os.RemoveAll(filepath.Join(dir, "en")); err != nil {
		t.Fatal(err)
	}
	_, err := Translations(t.Context(), Options{Dirs: []string{dir}, From: builtin(t)})
	var f *fault.Fault
	if !errors.As(err, &f) || f.Code != "no_training_text" {
		t.Errorf("Translations = %v, want no_training_text", err)
	}
}
