package indexer

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
)

// Limits on the terms that represent a corpus. For the names in docs, the tokenizers
// of large models use at least 3 bytes per token. With maxTermsBytes, the terms and
// the commas between them therefore take at most 300 tokens.
const (
	maxTerms      = 60
	enoughTerms   = 30 // if there are at least this many terms, each further term must be on three pages
	maxTermsBytes = 800
	maxTermBytes  = 48
	// termCandidates is the number of best terms that are compared with each
	// other.
	termCandidates = 2000
)

// If a heading appears verbatim on more pages than this, it belongs to a template
// ("Parameters", "See also") and says nothing about the corpus.
const (
	templatePages = 4
	templateShare = 0.03
)

// corpusTerms returns the terms that best show which names a corpus uses, best first. A
// term is a phrase of one to three words from titles and headings. It must be frequent
// in the corpus but rare in other documentation. names holds the chunk names of pages,
// in order.
func corpusTerms(pages []artifact.Page, names []artifact.ChunkName) []string {
	t := termCounter{counts: map[string]*term{}, template: templateHeadings(pages, names), common: commonWords()}
	for i, p := range pages {
		t.page = i
		t.add(p.Title)
		for _, c := range names[:p.Chunks] {
			if !t.template[c.Heading] {
				t.add(c.Heading)
			}
		}
		names = names[p.Chunks:]
	}
	return pickTerms(t.scored(len(pages)))
}

// templateHeadings returns the headings that appear on so many pages that they
// must belong to a template.
func templateHeadings(pages []artifact.Page, names []artifact.ChunkName) map[string]bool {
	on := map[string]int{}
	for _, p := range pages {
		mine := map[string]bool{p.Title: true} // a page's own title is not a template heading
		for _, c := range names[:p.Chunks] {
			if !mine[c.Heading] {
				mine[c.Heading] = true
				on[c.Heading]++
			}
		}
		names = names[p.Chunks:]
	}
	most := max(templatePages, int(templateShare*float64(len(pages))))
	maps.DeleteFunc(on, func(_ string, n int) bool { return n <= most })
	template := make(map[string]bool, len(on))
	for h := range on {
		template[h] = true
	}
	return template
}

// term is a phrase from titles and headings.
type term struct {
	stems []string
	rare  float64        // how rare its words are, from 0 to 1
	forms map[string]int // spellings and their counts
	pages int
	last  int // the last page on which the term was counted
	score float64
}

// form returns the term's most frequent spelling.
func (t *term) form() string {
	return slices.MaxFunc(slices.Sorted(maps.Keys(t.forms)), func(x, y string) int {
		return cmp.Or(cmp.Compare(t.forms[x], t.forms[y]), cmp.Compare(y, x))
	})
}

// commonWords returns the vocabulary of the built-in model. It contains the words
// of general documentation, most common first.
func commonWords() *embed.Vocabulary {
	e, err := embed.Open(embed.Default)
	if err != nil {
		panic(err) // the model is part of the program, and a test verifies it
	}
	return e.(*embed.Static).Vocabulary()
}

type termCounter struct {
	counts   map[string]*term
	template map[string]bool
	common   *embed.Vocabulary
	analyzer artifact.Analyzer
	page     int
}

// add counts the phrases of one heading.
func (t *termCounter) add(heading string) {
	if at := strings.Index(heading, "{"); at >= 0 {
		heading = heading[:at] // remove a site generator's anchor
	}
	var run []string
	for word := range strings.FieldsSeq(heading) {
		bare := strings.TrimFunc(word, func(c rune) bool { return !unicode.IsLetter(c) && !unicode.IsDigit(c) && c != '-' && c != '_' })
		bare = strings.Trim(bare, "-")
		if !sayable(bare) {
			t.pieces(run)
			run = nil
			continue
		}
		run = append(run, bare)
		if !strings.HasSuffix(word, bare) { // punctuation after a word ends the phrase
			t.pieces(run)
			run = nil
		}
	}
	t.pieces(run)
}

// sayable reports whether a word may be in a term. Such a word contains a letter and
// is not a function word.
func sayable(word string) bool {
	if utf8.RuneCountInString(word) < 2 || len(word) > maxTermBytes || strings.ContainsAny(word, `"<>|\`) || functionWords[strings.ToLower(word)] {
		return false
	}
	return strings.ContainsFunc(word, unicode.IsLetter)
}

// pieces counts all phrases of one to three consecutive words in run.
func (t *termCounter) pieces(run []string) {
	for from := range run {
		for n := 1; n <= 3 && from+n <= len(run); n++ {
			t.count(run[from : from+n])
		}
	}
}

func (t *termCounter) count(words []string) {
	text := strings.Join(words, " ")
	if len(text) > maxTermBytes {
		return
	}
	stems := make([]string, len(words))
	for i, w := range words {
		stems[i] = t.analyzer.Stem(strings.ToLower(w))
	}
	key := strings.Join(stems, " ")
	found := t.counts[key]
	if found == nil {
		found = &term{stems: stems, rare: t.rareness(words), forms: map[string]int{}, last: -1}
		t.counts[key] = found
	}
	found.forms[text]++
	if found.last != t.page {
		found.pages++
		found.last = t.page
	}
}

// rareness returns a number for how rare words are in general documentation. It is
// 0 for the most common word in the built-in model, and 1 for a word that is not
// in the model.
func (t *termCounter) rareness(words []string) float64 {
	sum := 0.0
	for _, w := range words {
		row := t.common.Row(strings.ToLower(w)) // rows are sorted by word frequency
		if row < 0 {
			row = t.common.Len()
		}
		sum += math.Log(float64(row+1)) / math.Log(float64(t.common.Len()+1))
	}
	return sum / float64(len(words))
}

// scored returns the best terms of a corpus with the given number of pages, best first.
func (t *termCounter) scored(pages int) []*term {
	least := 1
	if pages >= 20 {
		least = 2
	}
	longer := [...]float64{1, 1.5, 1.6}
	var all []*term
	for _, c := range t.counts {
		if c.pages < least {
			continue
		}
		c.score = math.Log2(1+float64(c.pages)) * c.rare * c.rare * longer[len(c.stems)-1]
		all = append(all, c)
	}
	slices.SortFunc(all, byScore)
	return all[:min(len(all), termCandidates)]
}

func byScore(x, y *term) int {
	return cmp.Or(cmp.Compare(y.score, x.score), slices.Compare(x.stems, y.stems))
}

// pickTerms returns the best terms that fit into the limits. After a term is picked,
// the score of other terms with the same words is lower.
func pickTerms(all []*term) []string {
	var picked []string
	room := maxTermsBytes
	for len(all) > 0 && len(picked) < maxTerms {
		at := 0
		for i := range all {
			if byScore(all[i], all[at]) < 0 {
				at = i
			}
		}
		best := all[at]
		all = slices.Delete(all, at, at+1)
		form := best.form()
		if len(form)+2 > room || len(picked) >= enoughTerms && best.pages < 3 {
			break
		}
		picked = append(picked, form)
		room -= len(form) + 2
		for _, other := range all {
			for _, stem := range other.stems {
				if slices.Contains(best.stems, stem) {
					other.score *= 0.5
				}
			}
		}
	}
	return picked
}

// functionWords lists the words that end a term. They join other words, describe an
// action or name a kind of section. They do not show which names the corpus uses.
var functionWords = wordSet(`
a about above after again all also an and another any are as at be because before below between both but by can come comes could
did do does each either every few for from get gets getting had has have how if in inside into is it its just later let like long
look many may might more most much must my need needs never next no not nothing now of off on once one only onto or other our out
over own per quick say says second short should simple single so some still such take than that the their them then there these
they thing things think this those three through to together too two under until up upon us use used useful user uses using
various very via vs want was way ways we well what what's when where whether which while who whom whose why will with within
without work working works would you your new see found set wrong right
add added adding adds allow allowed allows apply applying become begin begins bring build building built call called calling calls
change changed changes changing choose choosing clean conclude configure configured configuring connect connecting convert
converting copy copying count counts create created creates creating customize customizing cut declare declaring define defined
defines defining delete deleted deleting demonstrate demonstrates demonstrating deploying describe described describing develop
developing disable disabled disabling display displaying enable enabled enabling ensure ensuring exclude expose exposed extend
extending find finding fix fixed fixes fixing follow give given handle handling implement implementing improve improved improving
include included includes including install installed installing integrate integrating introduce introducing keep keeping know
leave limit list listed listing lists load loading make makes making manage managing migrating modify modifying monitor move moved
moving navigating open opening override overriding pass passing perform performing post prefer prepare preparing prevent print
provide provided provides put read reading receive redirecting reduce reference refer remove removed removes removing rename render
replace replaced replacing report require required requires requiring reset return returned returns run running runs save search
secure select send sending serve serving share sharing show showing shown skip specify specifying start started starting stop
stopping store storing submit support supported supporting supports tell test testing try turn turning understand understanding
understands uninstall uninstalling unset update updated updates updating upgrade upgraded upgrading validate verify verifying view
viewing wait write writing
additional advanced alternative alternatives appendix author authors available background basic basics behavior behaviour benefit
benefits best case cases caveat caveats chapter common community comparison complete concept concepts conclusion consideration
considerations content contents contributor contributors contributing current custom default demo deprecated detail detailed details
developer developers difference differences different doc docs documentation edit empty end example examples experimental explanation
extra faq faqs feature features final first full further future general goal goals guide guides help hint home idea ideas
implementation important index info information initial input inputs intro introduction issue issues item items known last learn
limitation limitations link links local main maintainer maintainers management manual method methods minute minutes misc motivation
name names non-goals note notes official old optional option options order other others output outputs overview page pages part parts
people pre-requisites preface prerequisite prerequisites preview problem problems process properties property proposal purpose
question questions quickstart readme reason reasons recap recommendation recommended recommendations related remark remarks requirement
requirements resource resources rest result results roadmap same sample samples scenario scenarios section sections setup similar size
solution solutions special specific specification sponsor sponsors status step steps summary syntax tbd terminology text thanks
thoughts tip tips today todo tool tools tutorial tutorials type types unsupported usage value values version versions warning
warnings what's wrap-up yes`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}
