package artifact

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/language"
)

func TestAnAnalyzerStemsInTheLanguageItSpeaks(t *testing.T) {
	var a Analyzer
	terms := func() string {
		var words []string
		for _, term := range a.Terms("Konfigurationen für retries in HTTPServer") {
			words = append(words, term.Text)
		}
		return strings.Join(words, " ")
	}
	const english = "konfigurationen fur retri in http server httpserver"
	for _, c := range []struct {
		speaks language.Code
		want   string
	}{
		{language.English, english},
		{language.German, "konfiguration fur retri in http serv httpserv"},
		{language.Japanese, english},
		{language.German, "konfiguration fur retri in http serv httpserv"},
		{language.English, english},
	} {
		a.Speak(c.speaks)
		if got := terms(); got != c.want {
			t.Errorf("speaking %s: %q, want %q", c.speaks, got, c.want)
		}
	}
}

func TestPagesKeepTheirLanguage(t *testing.T) {
	en := page("a.md", "# Retries\n\nThe retries.\n", map[string]string{"part": "guide"})
	de := page("de/a.md", "# Wiederholungen\n\nDie Wiederholungen.\n", map[string]string{"part": "guide"})
	de.Language = language.German
	dir := t.TempDir()
	m, _ := build(t, dir, []Document{en, de})
	if want := map[string]int{"en": 1, "de": 1}; !maps.Equal(m.Languages, want) || m.Index.FormatVersion != LanguagesVersion {
		t.Errorf("languages %v in format %d, want %v in %d", m.Languages, m.Index.FormatVersion, want, LanguagesVersion)
	}
	r := reopen(t, dir)
	for i, want := range []language.Code{language.English, language.German} {
		p, err := r.Page(i)
		if err != nil || p.Language != want || !maps.Equal(p.Metadata, en.Metadata) {
			t.Errorf("Page(%d) is in %s with %v, %v; want %s with %v", i, p.Language, p.Metadata, err, want, en.Metadata)
		}
	}
	distinct, _, err := r.PageMetadata()
	for _, m := range distinct {
		if !maps.Equal(m, en.Metadata) {
			t.Errorf("PageMetadata has %v, %v; want only %v", m, err, en.Metadata)
		}
	}
	of, err := r.Languages()
	if err != nil || len(of) != 2 || of[0] != language.English || of[1] != language.German {
		t.Errorf("Languages() = %q, %v", of, err)
	}
	for term, want := range map[string]int{"wiederhol": 1, "wiederholungen": 0, "retri": 1} {
		if p, err := r.Postings(term); err != nil || p.Chunks != want {
			t.Errorf("%q is in %d chunks, %v; want %d", term, p.Chunks, err, want)
		}
	}
	if m, reused := build(t, dir, []Document{en, de}); reused != 1 || m.Index.FormatVersion != LanguagesVersion || m.Languages["de"] != 1 {
		t.Errorf("built again: %d groups reused, format %d, %v", reused, m.Index.FormatVersion, m.Languages)
	}
}

func TestAnIndexInEnglishIsAsItWas(t *testing.T) {
	dir := t.TempDir()
	m, _ := build(t, dir, []Document{page("a.md", "# Retries\n", nil)})
	text, err := os.ReadFile(filepath.Join(dir, MetadataFile))
	if err != nil || m.Languages != nil || m.Index.FormatVersion != FormatVersion || strings.Contains(string(text), "languages") {
		t.Errorf("languages %v, format %d, %v:\n%s", m.Languages, m.Index.FormatVersion, err, text)
	}
	if of, err := reopen(t, dir).Languages(); of != nil || err != nil {
		t.Errorf("Languages() = %q, %v; want nil", of, err)
	}
}
