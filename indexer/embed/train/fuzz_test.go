package train

import "testing"

func FuzzPairs(f *testing.F) {
	f.Add([]byte(guide), "../a#b")
	f.Add([]byte("# a\n\n[x y z](#a) "+guide), "#a")
	f.Fuzz(func(t *testing.T, src []byte, to string) {
		p := parse("a/b.md", src)
		pages := []*page{p}
		links := indexLinks(pages)
		links.resolve(p, to)
		all := cleaned(pagePairs(1, 0, pages, links))
		var d dictionary
		for _, one := range all {
			d.number(nil, one.query)
			d.number(nil, one.document)
		}
	})
}
