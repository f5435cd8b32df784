package indexer

import (
	"maps"
	"os"
	"path/filepath"
	"testing"
	"unicode/utf16"
)

// germanText and englishText are long enough to be seen in their language.
const (
	germanText = "# Abhängigkeiten\n\nWenn Sie eine Abhängigkeit deklarieren, wird sie für jede Anfrage nur einmal ausgeführt, " +
		"auch wenn sie von mehreren Funktionen benutzt wird.\n"
	englishText = "# Dependencies\n\nIf you declare a dependency, it is called once for each request, even if several functions use it.\n"
)

// utf16le is text in UTF-16 with a byte-order mark.
func utf16le(text string) string {
	b := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune(text)) {
		b = append(b, byte(u), byte(u>>8))
	}
	return string(b)
}

// languagesOf builds files and returns the language of each page.
func languagesOf(t *testing.T, files map[string]string) map[string]string {
	t.Helper()
	dir, out := t.TempDir(), t.TempDir()
	for name, text := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	built(t, Options{Dir: dir, Out: out})
	r := opened(t, out)
	got := map[string]string{}
	for i := range r.Pages() {
		p, err := r.Page(i)
		if err != nil {
			t.Fatal(err)
		}
		got[p.Path] = p.Language.String()
	}
	return got
}

func TestPagesAreInTheLanguageThatTheyGiveOrShow(t *testing.T) {
	got := languagesOf(t, map[string]string{
		"seen.md":          germanText,
		"english.md":       englishText,
		"de/english.md":    englishText,
		"yaml.md":          "---\ntitle: Kurz\nlang: de-AT\n---\nKurz.\n",
		"toml.md":          "+++\ntitle = 'Kurz'\nlanguage = \"de\"\n+++\nKurz.\n",
		"facet.md":         "---\ntitle: Kurz\nmetadata:\n  language: de\n---\nKurz.\n",
		"python.md":        "---\ntitle: Client\nmetadata:\n  language: python\n---\n" + englishText,
		"given-wins.md":    "---\ntitle: x\nlang: en\n---\n" + germanText,
		"x/manifest.md":    "Kurz.\n",
		"x/.docs-mcp.json": `{"version": "1", "metadata": {"language": "de"}}`,
	})
	want := map[string]string{
		"seen.md": "de", "english.md": "en", "de/english.md": "en", "yaml.md": "de", "toml.md": "de", "facet.md": "de",
		"python.md": "en", "given-wins.md": "en", "x/manifest.md": "de",
	}
	if !maps.Equal(got, want) {
		t.Errorf("languages %v, want %v", got, want)
	}
}

func TestALanguageGivenLaterRebuildsItsPages(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	write := func(text string) {
		if err := os.WriteFile(filepath.Join(dir, ".docs-mcp.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.md"), []byte("# Wiederholungen\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	found := func(term string) int {
		p, err := opened(t, out).Postings(term)
		if err != nil {
			t.Fatal(err)
		}
		return p.Chunks
	}
	built(t, Options{Dir: dir, Out: out})
	if n := found("wiederholungen"); n != 1 {
		t.Errorf("in %d chunks as English, want 1", n)
	}
	write(`{"version": "1", "metadata": {"lang": "de"}}`)
	built(t, Options{Dir: dir, Out: out})
	if n := found("wiederhol"); n != 1 {
		t.Errorf("in %d chunks as German, want 1", n)
	}
}

func TestATextInUTF16IsSeenInItsLanguage(t *testing.T) {
	for text, want := range map[string]string{
		germanText: "de", englishText: "en", "---\nlang: de\n---\nKurz.\n": "de",
	} {
		if got := languageOf(&page{path: "a.md"}, []byte(utf16le(text))); got.String() != want {
			t.Errorf("languageOf(%.20q in UTF-16) = %s, want %s", text, got, want)
		}
	}
}
