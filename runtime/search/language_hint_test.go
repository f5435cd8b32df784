package search

import (
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/embed"
)

func TestAQuestionInALanguageThatTheDocsLack(t *testing.T) {
	english := engine(t, nil, file{path: "a.md", text: "# Upload files\n\nHow to upload files with `UploadFile`.\n"})
	three := translated(t)
	french, spanish := "Comment envoyer un fichier avec UploadFile pour que le serveur puisse le lire ?", "¿Cómo puedo subir un archivo con UploadFile?"
	const inEnglish, inThree = "but these docs are in English. Search again in English.", "but these docs are in English, German and Chinese. Search again in one of these languages."
	for _, c := range []struct {
		engine *Engine
		query  string
		found  Found
		want   string
	}{
		{engine: english, query: french, found: FoundUnsure, want: "The question seems to be in French, " + inEnglish},
		{engine: english, query: "如何上传文件 UploadFile", found: FoundUnsure, want: "The question seems to be in Chinese, " + inEnglish},
		{engine: english, query: "¿Cómo puedo pagar en la tienda?", found: FoundNothing,
			want: "0 results found. No matches were found for this query in the indexed corpus. The question seems to be in Spanish, " + inEnglish},
		{engine: english, query: "how do I upload files with UploadFile"},
		{engine: three, query: spanish, found: FoundUnsure, want: "The question seems to be in Spanish, " + inThree},
		{engine: three, query: "Wie lade ich eine Datei mit UploadFile hoch?"},
		{engine: three, query: "UploadFile"},
	} {
		page, err := c.engine.Search(t.Context(), Query{Text: c.query})
		if err != nil {
			t.Fatal(err)
		}
		var got Hint
		if page.Hint != nil {
			got = *page.Hint
		}
		if got.Found != c.found || got.Message != c.want {
			t.Errorf("Search(%q) has the hint %q (%s), want %q (%s)", c.query, got.Message, got.Found, c.want, c.found)
		}
	}
	shelf := Federate([]Library{{ID: "one", Name: "one", Engine: english}, {ID: "three", Name: "three", Engine: three}})
	if _, page := found(t, shelf, "", Query{Text: "Wie lade ich eine Datei mit UploadFile hoch?"}); page.Hint != nil {
		t.Errorf("one of the libraries is in German, and the hint is %+v", page.Hint)
	}
	if _, page := found(t, shelf, "", Query{Text: spanish}); page.Hint == nil || page.Hint.Message != "The question seems to be in Spanish, "+inThree {
		t.Errorf("none of the libraries is in Spanish, and the hint is %+v", page.Hint)
	}
}

func TestTheMultilingualModelAnswersInAnotherLanguage(t *testing.T) {
	pages := []file{
		{path: "a.md", text: "# Delete a user\n\nThis page explains how to remove a person from the system, with all of the data that the person owns.\n"},
		{path: "b.md", text: "# Encryption\n\nA certificate protects the connection, so that nobody else in the network can read what is sent.\n"},
		{path: "c.md", text: "# Die casting\n\nThe die and the mould decide what the cast looks like after it has cooled down, and how often it breaks.\n"},
	}
	for _, c := range []struct {
		spec, query, first string
		hint               bool
	}{
		{embed.Multilingual, "Wie kann ich die Verbindung mit einem Zertifikat schützen?", "b.md", false},
		{embed.Multilingual, "¿Cómo puedo eliminar a un usuario?", "a.md", false},
		{embed.Multilingual, "ユーザーを削除する方法は何ですか", "a.md", false},
		{embed.Multilingual, "如何使用证书保护连接", "b.md", false},
		{embed.Multilingual, "Comment est-ce que je peux supprimer un compte pour un autre ?", "", true},
		{embed.Default, "Wie kann ich die Verbindung mit einem Zertifikat schützen?", "", true},
	} {
		e, err := embed.Open(c.spec)
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		embedIndex(t, dir, e, strings.TrimPrefix(e.Name(), "static:"), nil, pages...)
		engine, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		page, err := engine.Search(t.Context(), Query{Text: c.query})
		if err != nil {
			t.Fatal(err)
		}
		if hint := page.Hint != nil && strings.Contains(page.Hint.Message, "Search again in English"); hint != c.hint {
			t.Errorf("with %s, %q has the hint %+v", c.spec, c.query, page.Hint)
		}
		if c.first != "" && (len(page.Hits) == 0 || !strings.HasPrefix(page.Hits[0].ID, c.first)) {
			t.Errorf("with %s, %q finds %+v, want %s first", c.spec, c.query, page.Hits, c.first)
		}
	}
}
