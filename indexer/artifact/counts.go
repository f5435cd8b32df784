package artifact

import (
	"path"
	"strings"

	segment "github.com/blugelabs/bluge_segment_api"

	"github.com/deskhand/deskhand/chunker"
)

// fieldName is the name of the only field. It combines the title, headings, path and
// body of a chunk. With separate fields, a short field could dominate because of a
// single common word.
const fieldName = "all"

// The weights of a term in the parts of a page. In the body, a term counts once.
// The body also contains the chunk's own heading.
const (
	titleWeight       = 2
	headingWeight     = 4
	breadcrumbWeight  = 2
	pathWeight        = 1
	descriptionWeight = 1
)

// counts holds the weighted term frequencies of one chunk. It is a bluge document with
// one field.
type counts struct {
	terms  []termCount
	length int
}

type termCount struct {
	text string
	n    int
}

func (c *counts) Analyze()                                    {}
func (c *counts) EachField(visit segment.VisitField)          { visit(c) }
func (c *counts) Name() string                                { return fieldName }
func (c *counts) Length() int                                 { return c.length }
func (c *counts) Value() []byte                               { return nil }
func (c *counts) Index() bool                                 { return true }
func (c *counts) Store() bool                                 { return false }
func (c *counts) IndexDocValues() bool                        { return false }
func (t *termCount) Term() []byte                             { return []byte(t.text) }
func (t *termCount) Frequency() int                           { return t.n }
func (t *termCount) EachLocation(visit segment.VisitLocation) {}
func (c *counts) EachTerm(visit segment.VisitTerm) {
	for i := range c.terms {
		visit(&c.terms[i])
	}
}

// counter counts the terms of chunks. It must not be used concurrently.
type counter struct {
	analyzer Analyzer
	place    map[string]int
	out      counts
}

func (c *counter) reset() {
	clear(c.place)
	if c.place == nil {
		c.place = map[string]int{}
	}
	c.out = counts{}
}

func (c *counter) add(text string, weight int) {
	for _, t := range c.analyzer.Terms(text) {
		if !t.Joined {
			c.out.length += weight
		}
		c.addTerm(t.Text, weight)
	}
}

func (c *counter) addTerm(text string, weight int) {
	if at, ok := c.place[text]; ok {
		c.out.terms[at].n += weight
		return
	}
	c.place[text] = len(c.out.terms)
	c.out.terms = append(c.out.terms, termCount{text, weight})
}

// chunk counts the terms that make searches find a chunk of a page.
func (c *counter) chunk(page counts, chunk chunker.Chunk) {
	c.reset()
	c.out.length = page.length
	for _, t := range page.terms {
		c.addTerm(t.text, t.n)
	}
	c.add(chunk.Text, 1)
	c.add(chunk.Heading, headingWeight)
	c.add(chunk.Breadcrumb, breadcrumbWeight)
}

// phrases adds the chunk's phrases. Each phrase counts the same as a sentence of the
// chunk's text.
func (c *counter) phrases(list []string) {
	for _, phrase := range list {
		c.add(phrase, 1)
	}
}

// pageCounts counts the terms that all chunks of a page share: the words of its title,
// description and path.
func pageCounts(c *counter, doc Document) counts {
	c.reset()
	c.analyzer.Speak(doc.Language)
	c.add(doc.Title, titleWeight)
	c.add(doc.Description, descriptionWeight)
	c.add(strings.TrimSuffix(doc.Path, path.Ext(doc.Path)), pathWeight)
	return c.out
}
