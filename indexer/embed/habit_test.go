package embed

import "testing"

func TestHabitOfAModel(t *testing.T) {
	doc := Document{Title: "Page", Breadcrumb: "Page > Part", Heading: "Part", Body: "Words."}
	for model, want := range map[string][2]string{
		"text-embedding-3-small":             {"Page > Part\nWords.", "q"},
		"nomic-embed-text:v1.5":              {"search_document: Page > Part\nWords.", "search_query: q"},
		"intfloat/multilingual-e5-large":     {"passage: Page > Part\nWords.", "query: q"},
		"intfloat/e5-mistral-7b-instruct":    {"Page > Part\nWords.", "q"},
		"BAAI/bge-m3":                        {"Page > Part\nWords.", "q"},
		"BAAI/bge-large-en-v1.5":             {"Page > Part\nWords.", passages + "q"},
		"Snowflake/snowflake-arctic-embed-m": {"Page > Part\nWords.", passages + "q"},
		"snowflake-arctic-embed2":            {"Page > Part\nWords.", "query: q"},
	} {
		h := habitOf(model)
		if document, question := h.text(doc), h.question("q"); document != want[0] || question != want[1] {
			t.Errorf("%s reads %q and %q, want %q", model, document, question, want)
		}
	}
}

func TestTextOfADocumentSaysNothingTwice(t *testing.T) {
	h := habitOf("any")
	for want, d := range map[string]Document{
		"":                    {},
		"Body.":               {Body: "\nBody.\n"},
		"Page\nPart\nBody.":   {Title: "Page", Heading: "Part", Body: "Body."},
		"Title\nPage > P\nB.": {Title: "Title", Breadcrumb: "Page > P", Heading: "P", Body: "B."},
	} {
		if got := h.text(d); got != want {
			t.Errorf("text(%+v) = %q, want %q", d, got, want)
		}
	}
}
