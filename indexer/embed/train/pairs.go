package train

import (
	"hash/fnv"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// pair holds two pieces of text from one source that mean the same. Their words are
// stored as numbers from a dictionary.
type pair struct {
	kind         kind
	source, page int32
	query        []int32
	document     []int32
	// sameQuery and sameDocument are hashes. If one of them is equal in two pairs, the
	// pairs are not negative examples for each other.
	sameQuery, sameDocument uint32
	// in holds the languages of the query and the document. It is zero if the texts
	// have only one language.
	in [2]uint8
}

type kind uint8

const (
	headingBody    kind = iota // a heading and its section
	titleHeading               // a page title with a heading, and the words of the section without its heading
	titleBody                  // a page's title and its first section, or a section with a generic heading
	question                   // a heading that is a question, and the words of the answer without the heading
	firstRest                  // a section's first sentence, and the rest of the section
	innerRest                  // a sentence from inside a section, and the rest of the section
	linkTarget                 // a link's words, and the section it points to
	sentTarget                 // the sentence around a link, and the section it points to
	description                // a page's description, and its first section
	titleAbout                 // a page's title, and its description
	termMeaning                // a name in a list or table, and its explanation
	translatedLine             // a line of a section, and the same line in English
	kinds
)

var kindNames = [kinds]string{"heading-body", "title-heading-body", "title-body", "question-answer", "first-rest",
	"inner-rest", "link-target", "sentence-target", "description-body", "title-description",
	"term-meaning", "translated-line"}

// wide reports whether pairs of this kind represent a whole page. For such pairs, no
// section of the same page is a negative example.
func (k kind) wide() bool { return k == titleBody || k == description || k == titleAbout }

// isHeading reports whether queries of this kind look like headings.
func (k kind) isHeading() bool {
	return k == headingBody || k == titleHeading || k == titleBody || k == linkTarget
}

// empty lists headings that say nothing about the text below them.
var empty = setOf("example", "examples", "syntax", "remarks", "see also", "parameters", "notes", "note", "return value",
	"return values", "requirements", "usage", "overview", "introduction", "description", "options", "related links",
	"inputs", "outputs", "prerequisites", "next steps", "before you begin", "properties", "methods", "events",
	"arguments", "arguments reference", "argument reference", "attributes reference", "import", "timeouts", "summary",
	"background", "installation", "configuration", "faq", "references", "resources", "details", "members",
	"example usage", "what's next", "default value", "api", "type", "types", "limitations", "related",
	"more information", "further reading", "learn more", "setup", "in this article", "default", "conclusion",
	"how it works", "getting started", "return", "returns", "request", "response", "output", "input", "synopsis")

func setOf(words ...string) map[string]bool {
	set := map[string]bool{}
	for _, w := range words {
		set[w] = true
	}
	return set
}

// rough is a pair with words instead of their numbers.
type rough struct {
	kind            kind
	page            int
	query, document string
	// same holds the English texts of which query and document are translations, and in
	// their languages. Both are empty if the texts have only one language.
	same [2]string
	in   [2]uint8
}

// The share of sections that produce a pair of each kind. The values give enough pairs
// to learn from, but prevent one kind from dominating.
const (
	titleHeadingShare = 0.35
	firstShare        = 0.6
	innerShare        = 0.35
	termShare         = 1 // share of names in lists and tables; 0.5 is equally good
	minBodyWords      = 12
)

// pagePairs creates the pairs of page n of a source.
func pagePairs(seed uint64, n int, pages []*page, links linkIndex) []rough {
	p := pages[n]
	r := randomOf(seed, hash64(p.path))
	var out []rough
	add := func(k kind, query, document string) {
		out = append(out, rough{kind: k, page: n, query: query, document: document})
	}
	first := true
	for _, s := range p.sections {
		if wordCount(s.body) < minBodyWords {
			continue
		}
		body := firstWords(s.body)
		switch {
		case s.heading != "" && !saysNothing(s.heading):
			add(headingBody, s.heading, p.title+". "+s.crumb+". "+body)
			if asks(s.heading) {
				add(question, s.heading, body)
			}
			if r.chance(titleHeadingShare) {
				query := p.title + " " + s.heading
				if r.chance(0.5) {
					query = p.title + " " + s.crumb + " " + s.heading
				}
				add(titleHeading, query, body)
			}
		case s.heading != "" || first:
			add(titleBody, p.title+" "+s.heading, body)
		}
		if first {
			first = false
			if wordCount(p.title) > 1 {
				add(titleBody, p.title, body)
			}
			if wordCount(p.description) > 4 {
				add(titleAbout, p.title, p.description)
				add(description, p.description, p.title+". "+s.heading+". "+body)
			}
		}
		head, rest := p.title+". "+s.heading+". ", s.body
		if sentence, tail, ok := firstSentence(rest); ok && r.chance(firstShare) {
			add(firstRest, sentence, head+firstWords(tail))
		}
		if r.chance(innerShare) {
			if sentence, others, ok := innerSentence(&r, rest); ok {
				add(innerRest, sentence, head+firstWords(others))
			}
		}
		for _, t := range termsOf(s.source) {
			if r.chance(termShare) {
				add(termMeaning, t.name, s.heading+". "+t.meaning)
			}
		}
		for _, l := range linksOf(s.source) {
			target, ts := links.resolve(p, l.to)
			if ts == nil || target == p && ts.body == s.body {
				continue
			}
			document := target.title + ". " + ts.crumb + ". " + ts.heading + ". " + firstWords(ts.body)
			if l.text != "" && !strings.EqualFold(l.text, ts.heading) && !strings.EqualFold(l.text, target.title) {
				add(linkTarget, l.text, document)
			}
			if l.sentence != "" {
				add(sentTarget, l.sentence, document)
			}
		}
	}
	return out
}

func saysNothing(heading string) bool {
	return empty[strings.ToLower(strings.Trim(heading, " :."))]
}

var asking = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^(how|what|why|when|where|which|who|can|does|do|is|are|should|will)\b.*\?$|^how (do|can|to) `)
})

func asks(heading string) bool { return asking().MatchString(heading) }

var sentenceEnd = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[.!?]["')]?\s+`) })

// firstSentence splits text after its first sentence. ok is false unless this
// sentence has 40 to 300 bytes and the rest has at least 120 bytes.
func firstSentence(text string) (sentence, rest string, ok bool) {
	head := text[:min(len(text), 330)]
	for from := 0; ; {
		end := sentenceEnd().FindStringIndex(head[from:])
		if end == nil {
			return "", "", false
		}
		at := from + end[1]
		sentence = head[:at]
		if strings.Contains(strings.TrimSpace(sentence), "\n") || len(sentence) > 302 {
			return "", "", false
		}
		if len(sentence) >= 41 {
			return strings.TrimSpace(sentence), text[at:], len(text)-at >= 120
		}
		from = at
	}
}

// innerSentence takes one sentence of 6 to 35 words out of text. ok is false if
// text has fewer than four such sentences.
func innerSentence(r *random, text string) (sentence, others string, ok bool) {
	var from, to []int
	at := 0
	for _, end := range append(sentenceEnd().FindAllStringIndex(text, 40), []int{len(text), len(text)}) {
		one := text[at:end[1]]
		first, _ := utf8.DecodeRuneInString(one)
		if n := wordCount(one); n >= 6 && n <= 35 && unicode.IsUpper(first) {
			from, to = append(from, at), append(to, end[1])
		}
		at = end[1]
	}
	if len(from) < 4 {
		return "", "", false
	}
	i := 1 + r.below(len(from)-1)
	return oneLine(text[from[i]:to[i]]), text[:from[i]] + text[to[i]:], true
}

func wordCount(s string) int { return len(strings.Fields(s)) }

// firstWords returns the start of a body, on one line. Only this part is used for
// learning.
func firstWords(body string) string {
	const most = maxBodyWords * 12 // bytes
	if len(body) > most {
		body = body[:most]
	}
	words := strings.Fields(body)
	return strings.Join(words[:min(len(words), maxBodyWords)], " ")
}

// maxSameQuery is the maximum number of pairs with the same query in a source.
const maxSameQuery = 12

// cleaned removes pairs that are too short, duplicates, and pairs with a query that
// occurs too often. It also shortens queries.
func cleaned(all []rough) []rough {
	seen := map[[2]uint64]bool{}
	count := map[string]int{}
	out := all[:0]
	for _, p := range all {
		p.query = oneLine(p.query)
		if len(p.query) > 400 {
			p.query = p.query[:400]
		}
		if len(p.query) < 4 || len(p.document) < 25 {
			continue
		}
		query := strings.ToLower(p.query)
		key := [2]uint64{hash64(query), hash64(beginning(p.document, 160))}
		if seen[key] || count[query] >= maxSameQuery {
			continue
		}
		seen[key] = true
		count[query]++
		out = append(out, p)
	}
	return out
}

func beginning(s string, n int) string { return strings.ToLower(s[:min(len(s), n)]) }

func hash64(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return mix(h.Sum64())
}
