package search

import (
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/ranker"
)

// Words in the paths of pages that rarely answer how to use a product: newsWords if
// a page is about a point in time, such as a post, a release, an upgrade or a plan,
// and makersWords if it is for those who work on the product.
var (
	newsWords = set(`blog news changelog changes release releases releasenotes announcement announcements
		proposal proposals rfc rfcs adr adrs history roadmap upgrade upgrading migrate migrating migration migrations`)
	makersWords = set(`contribute contributing contribution contributions contributor contributors community
		developer development internal internals design governance`)
)

// Aside reports whether the path of a page says that it rarely answers how to use a
// product: it is about a point in time, or for those who work on the product.
func Aside(path string) bool {
	in := make([]float32, ranker.Count)
	kindInputs(in, path)
	return in[ranker.InNews]+in[ranker.InMakers] > 0
}

// kindInputs sets the inputs of the kind of a page.
func kindInputs(in []float32, path string) {
	for word := range strings.FieldsFuncSeq(strings.ToLower(path), func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) }) {
		if newsWords[word] {
			in[ranker.InNews] = 1
		}
		if makersWords[word] {
			in[ranker.InMakers] = 1
		}
	}
}
