package search

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/language"
)

// translated opens an index of the same pages in English, German and Chinese.
func translated(t *testing.T) *Engine {
	t.Helper()
	return openSpoken(t, []spokenPages{
		{language.German, "de", []string{
			"# Abhängigkeiten\n\nEine `Depends`-Abhängigkeit wird für jede Anfrage nur einmal ausgeführt. Wie das geht, zeigt die Konfiguration.\n",
			"# Dateien hochladen\n\nWie man Dateien mit `UploadFile` hochlädt. Die Einstellungen der Konfigurationen gelten für alle.\n",
			"# Fehler\n\nWas bei einem Fehler passiert, und wie der Server antwortet.\n"}},
		{language.English, "en", []string{
			"# Dependencies\n\nA `Depends` dependency is called once for each request. How this works is in the configuration.\n",
			"# Upload files\n\nHow to upload files with `UploadFile`. The settings of the configurations hold for all.\n",
			"# Errors\n\nWhat happens on an error, and how the server answers.\n",
			"# Die casting\n\nThe die is cast: this page is in English alone.\n"}},
		{language.Chinese, "zh", []string{
			"# 依赖项\n\n`Depends` 声明的依赖项每个请求只执行一次。\n",
			"# 上传文件\n\n使用 `UploadFile` 上传文件。\n",
			"# 错误\n\n发生错误时服务器的响应。\n"}},
	})
}

// spokenPages are pages in one language.
type spokenPages struct {
	language language.Code
	folder   string
	pages    []string
}

func openSpoken(t *testing.T, all []spokenPages) *Engine {
	t.Helper()
	var docs []artifact.Document
	for _, in := range all {
		for i, text := range in.pages {
			doc := cutPage(file{path: fmt.Sprintf("%s/%d.md", in.folder, i+1), text: text})
			doc.Language = in.language
			docs = append(docs, doc)
		}
	}
	dir := t.TempDir()
	w, err := artifact.Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	g, err := artifact.Encode(docs)
	if err == nil {
		err = w.Add(g)
	}
	if err == nil {
		_, err = w.Commit(artifact.Metadata{CorpusDescription: "translated docs"})
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

func TestAQuestionFindsItsOwnLanguageFirst(t *testing.T) {
	e := translated(t)
	for query, want := range map[string]string{
		"Wie lade ich Dateien mit UploadFile hoch?": "de/2.md#_preamble",
		"how do I upload files with UploadFile":     "en/2.md#_preamble",
		"如何用 UploadFile 上传文件":                       "zh/2.md#_preamble",
		"Abhängigkeit":                              "de/1.md#_preamble",
		"dependency":                                "en/1.md#_preamble",
		"UploadFile":                                "en/2.md#_preamble", // no language: that of most chunks
		"die casting":                               "en/4.md#_preamble",
		"was passiert bei einem Fehler im Server":   "de/3.md#_preamble",
		"依赖项":                                       "zh/1.md#_preamble",
	} {
		ids := ask(t, e, Query{Text: query})
		if len(ids) == 0 || ids[0] != want {
			t.Errorf("Search(%q) = %q, want %q first", query, ids, want)
		}
	}
}

func TestWordsAreFoundByTheStemOfTheirLanguage(t *testing.T) {
	ids := ask(t, translated(t), Query{Text: "Konfiguration Einstellung"})
	if want := []string{"de/2.md#_preamble", "de/1.md#_preamble"}; !slices.Equal(ids, want) {
		t.Errorf("hits %q, want %q", ids, want)
	}
}

func TestNamesAreFoundInEveryLanguage(t *testing.T) {
	ids := ask(t, translated(t), Query{Text: "Depends"})
	for _, want := range []string{"en/1.md#_preamble", "de/1.md#_preamble", "zh/1.md#_preamble"} {
		if !slices.Contains(ids, want) {
			t.Errorf("hits %q, want %q among them", ids, want)
		}
	}
}

func TestAPhraseIsFoundInEveryLanguage(t *testing.T) {
	e := translated(t)
	for query, want := range map[string][]string{
		`"Settings of the Configurations"`:  {"en/2.md#_preamble"},
		`"Einstellungen der Konfiguration"`: {"de/2.md#_preamble"},
		`"UploadFile 上传"`:                   {"zh/2.md#_preamble"},
	} {
		if ids := ask(t, e, Query{Text: query}); !slices.Equal(ids, want) {
			t.Errorf("Search(%s) = %q, want %q", query, ids, want)
		}
	}
	page, err := e.Search(t.Context(), Query{Text: `"die Konfiguration Einstellungen"`})
	if err != nil || page.Hint == nil || !strings.Contains(page.Hint.Message, "quoted text") {
		t.Errorf("a phrase that is in no page: hint %+v, %v; want that the text is nowhere", page.Hint, err)
	}
}

func TestPagesOfHitsInSeveralLanguagesDoNotOverlap(t *testing.T) {
	e := translated(t)
	all := ask(t, e, Query{Text: "Depends UploadFile", Limit: 50})
	var paged []string
	var cursor *string
	for range all {
		page, err := e.Search(t.Context(), Query{Text: "Depends UploadFile", Limit: 1, Cursor: cursor})
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range page.Hits {
			paged = append(paged, h.ID)
		}
		if page.Next == "" {
			break
		}
		cursor = &page.Next
	}
	if !slices.Equal(all, paged) || len(all) < 6 {
		t.Errorf("page by page %q, at once %q", paged, all)
	}
}

func TestANameInAQuestionWithoutSpacesIsNotAllOfIt(t *testing.T) {
	for question, most := range map[string]float64{
		"FastAPIでUploadFileを使うにはどうすればよいですか": 0.15,
		"如何在FastAPI中使用UploadFile上传文件":       0.2,
		"ファイルをアップロードする":                     0,
	} {
		if got := names(question); got > most {
			t.Errorf("names(%q) = %.2f, want at most %.2f", question, got, most)
		}
	}
	if got := names("max_chunk_size"); got != 1 {
		t.Errorf("names of a name alone = %.2f, want 1", got)
	}
}

// TestAWordOfAnotherLanguageIsFound: with so few pages, the question does not show that
// it is in English, and "connections" has another stem in German.
func TestAWordOfAnotherLanguageIsFound(t *testing.T) {
	e := openSpoken(t, []spokenPages{
		{language.German, "de", []string{"# Sicherung\n\nLegen Sie die Dateien in ein Archiv.\n", "# Neustart\n\nDer Dienst startet von selbst neu.\n"}},
		{language.English, "en", []string{"# Limits\n\nThe server refuses more than a hundred connections.\n"}}})
	page, err := e.Search(t.Context(), Query{Text: "how many connections are allowed"})
	if err != nil {
		t.Fatal(err)
	}
	if len(page.Hits) != 1 || page.Hits[0].ID != "en/1.md#_preamble" {
		t.Errorf("hits %+v, want the English page", page.Hits)
	}
}
