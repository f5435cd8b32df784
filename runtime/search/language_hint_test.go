package search

import "testing"

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
