package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// habit is how a model wants to be asked, as its makers say in its description.
type habit struct {
	// part of the model's name in lower case
	part string
	// document and query stand before the texts of each kind.
	document, query string
	// bytes is where a text is cut; 0: textBytes.
	bytes int
}

const (
	// textBytes is where a text for most models is cut. They read 8,192 tokens or
	// so, and no tokenizer makes more tokens than there are bytes.
	textBytes = 8000
	// shortBytes suits models of 512 tokens: some 3 bytes a token of English docs.
	// Whoever counts more says so and gets half (see ask).
	shortBytes = 1500
	// passages is what several makers put before questions.
	passages = "Represent this sentence for searching relevant passages: "
)

// habits are looked through in this order; the first whose part is in the
// model's name holds.
var habits = []habit{
	{part: "nomic-embed-text", document: "search_document: ", query: "search_query: ", bytes: 6000},
	{part: "embeddinggemma", document: "title: none | text: ", query: "task: search result | query: ", bytes: 6000},
	{part: "mxbai-embed-large", query: passages, bytes: shortBytes},
	{part: "snowflake-arctic-embed2", query: "query: "},
	{part: "snowflake-arctic-embed-l-v2", query: "query: "},
	{part: "snowflake-arctic-embed-m-v2", query: "query: "},
	{part: "snowflake-arctic-embed", query: passages, bytes: shortBytes},
	{part: "bge-m3"},
	{part: "bge-large-en", query: passages, bytes: shortBytes},
	{part: "bge-base-en", query: passages, bytes: shortBytes},
	{part: "bge-small-en", query: passages, bytes: shortBytes},
	{part: "e5-mistral"},
	{part: "multilingual-e5", document: "passage: ", query: "query: ", bytes: shortBytes},
	{part: "e5-large", document: "passage: ", query: "query: ", bytes: shortBytes},
	{part: "e5-base", document: "passage: ", query: "query: ", bytes: shortBytes},
	{part: "e5-small", document: "passage: ", query: "query: ", bytes: shortBytes},
	{part: "all-minilm", bytes: shortBytes},
	{part: ""},
}

func habitOf(model string) habit {
	model = strings.ToLower(model)
	for _, h := range habits {
		if strings.Contains(model, h.part) {
			if h.bytes == 0 {
				h.bytes = textBytes
			}
			return h
		}
	}
	panic("the last habit is anybody's")
}

// fingerprint stands for all that decides the text of a document.
func (h habit) fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %q", h.document, h.query, h.bytes,
		h.text(Document{Title: "T", Breadcrumb: "T > H", Heading: "H", Body: "b"})))
	return hex.EncodeToString(sum[:8])
}

// text is a document as the model reads it: where it stands, then its words.
// Empty: there is neither.
func (h habit) text(d Document) string {
	var b strings.Builder
	b.WriteString(h.document)
	line := func(s string) {
		if s = strings.TrimSpace(s); s != "" {
			if b.Len() > len(h.document) {
				b.WriteByte('\n')
			}
			b.WriteString(s)
		}
	}
	if !strings.HasPrefix(d.Breadcrumb, d.Title) {
		line(d.Title)
	}
	line(d.Breadcrumb)
	if !strings.HasSuffix(d.Breadcrumb, d.Heading) {
		line(d.Heading)
	}
	line(cut(d.Body, h.bytes))
	if b.Len() == len(h.document) {
		return ""
	}
	return cut(b.String(), h.bytes)
}

// question is a question as the model reads it.
func (h habit) question(text string) string { return cut(h.query+text, h.bytes) }
