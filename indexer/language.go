package indexer

import (
	"crypto/sha256"
	"sync"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/language"
)

// languageFacets are the facets that a manifest may give a page's language by.
var languageFacets = [...]string{"lang", "language", "locale"}

// languageOf is the language of a page: the one that its front matter or its
// manifest gives, else the one that it is seen to be in. What is given and names
// no language ("language: python") does not count.
func languageOf(p *page, src []byte) language.Code {
	if len(src) > 1 && src[0] >= 0xfe {
		var front []byte // the text is in UTF-16
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

// stemming is the digest of how this binary reads a language other than English:
// a page in it that was stemmed otherwise is a changed one. English is covered by
// what the artifact says of itself.
var stemming = func() func(language.Code) [sha256.Size]byte {
	var digests sync.Map
	return func(c language.Code) [sha256.Size]byte {
		if d, ok := digests.Load(c); ok {
			return d.([sha256.Size]byte)
		}
		h := sha256.New()
		h.Write([]byte(c))
		var a artifact.Analyzer
		a.Speak(c)
		for _, t := range a.Terms(language.Sample) {
			h.Write([]byte(t.Text + " "))
		}
		d := [sha256.Size]byte(h.Sum(nil))
		digests.Store(c, d)
		return d
	}
}()
