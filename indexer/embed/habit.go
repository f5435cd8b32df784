package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
)

// habit describes the input that a model expects according to its documentation.
type habit struct {
	// part is a substring of the model's name, in lower case.
	part string
	// document and query are the prefixes for documents and questions.
	document, query string
	// bytes is the maximum length of the input in bytes. Longer input is
	// truncated. Zero means textBytes.
	bytes int
}

const (
	// textBytes is the maximum length of the input in bytes for most models. These
	// models accept about 8,192 tokens, and no tokenizer produces more tokens than
	// bytes.
	textBytes = 8000
	// shortBytes is the maximum length for models that accept 512 tokens. English
	// docs have about 3 bytes per token. If the text has more tokens than the model
	// accepts, the provider rejects the request, and ask halves the text.
	shortBytes = 1500
	// passages is a prefix for questions that several models use.
	passages = "Represent this sentence for searching relevant passages: "
)

// habits lists the known habits. The first entry whose part occurs in the model's
// name applies.
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

// fingerprint identifies everything in h that affects a document's input.
func (h habit) fingerprint() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%q %q %d %q", h.document, h.query, h.bytes,
		h.text(Document{Title: "T", Breadcrumb: "T > H", Heading: "H", Body: "b"})))
	return hex.EncodeToString(sum[:8])
}

// text returns the model's input for a document, which is its headings and then
// its body. It returns "" if the document has neither.
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

// question returns the model's input for a question.
func (h habit) question(text string) string { return cut(h.query+text, h.bytes) }
