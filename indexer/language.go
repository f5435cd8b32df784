package indexer

import (
	"crypto/sha256"
	"sync"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/language"
)

// languageFacets lists the facets that a manifest can use to declare a page's
// language.
var languageFacets = [...]string{"lang", "language", "locale"}

// languageOf returns a page's language. This is the language declared in the
// front matter or the manifest, or else the detected language. languageOf ignores
// a declared value that is not a natural language ("language: python").
func languageOf(p *page, src []byte) language.Code {
	if len(src) > 1 && src[0] >= 0xfe {
		var front []byte // if the page is UTF-16
		front, src = chunker.FrontMatter(src)
		src = append(append([]byte("---\n"), front...), append([]byte("---\n"), src...)...)
	}
	if len(src) > 3 && (src[0] == '-' || src[0] == '+' || src[0] == 0xef) {
		for _, given := range chunker.Languages(src) {
			if c, ok := language.Parse(given); ok {
				return c
			}
		}
	}
	for _, key := range languageFacets {
		if c, ok := language.Parse(p.settings.metadata[key]); ok {
			return c
		}
	}
	return language.Detect(p.path, src)
}

// speech returns a digest of the way this binary finds a page's language and stems words
// in the languages other than English. If a new version does either differently, every
// file in an older artifact is treated as changed. For English, the stemming is recorded
// in the artifact's metadata.
var speech = sync.OnceValue(func() [sha256.Size]byte {
	h := sha256.New()
	h.Write([]byte(language.Rules()))
	for _, c := range language.All() {
		h.Write([]byte(c + "\n"))
		var a artifact.Analyzer
		a.Speak(c)
		for _, t := range a.Terms(language.Sample) {
			h.Write([]byte(t.Text + " "))
		}
	}
	return [sha256.Size]byte(h.Sum(nil))
})
