package train

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Translations trains the rows of words in other languages, so that a text and its
// translation get similar vectors. Each of opts.Dirs has a folder of Markdown for each
// language, named by its code, and one of them is "en". A page has the same path in
// each language.
//
// The rows of opts.From, which is required, do not change. The result is a model of the
// new rows alone, to be used as opts.From.With(result). opts.Words is the maximum number
// of words per language; zero means 8,000. Zero for opts.Rate means 0.005, and for
// opts.SourcePairs 60,000.
//
// Pages are aligned by their path, sections by their order, and the lines of a section
// by theirs. In a pair, at least one of the two texts is not in English (pairs.go,
// contrast.go). The first vector of a word is the mean vector of the English texts
// whose translations contain it.
func Translations(ctx context.Context, opts Options) (Report, error) {
	if opts.Words == 0 {
		opts.Words = 8000
	}
	if opts.Rate == 0 {
		opts.Rate = 0.005 // more than to adapt a model, because no row that changes knows anything yet
	}
	if opts.SourcePairs == 0 {
		opts.SourcePairs = 60_000
	}
	t := &translator{trainer: trainer{Options: opts.filled(), ctx: ctx}}
	if err := t.check(); err != nil {
		return t.report, err
	}
	t.fixed = t.From.Vocabulary().Len()
	return t.run([]step{
		{"read", t.readTranslations},
		{"vocabulary", t.chooseForeignWords},
		{"encode", t.encodeTranslations},
		{"start", t.startForeign},
		{"learn", t.learn},
		{"write", t.writeAdded},
	})
}

// translator is the state of one run of Translations.
type translator struct {
	trainer
	added *embed.Vocabulary
}

// english is the number of English, whose folder is called original. Language t.others[i]
// has the number i+1.
const (
	english  = 0
	original = "en"
)

// readTranslations reads all sources and creates the pairs.
func (t *translator) readTranslations() error {
	for _, dir := range t.Dirs {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return fault.New("bad_source", "the folder "+dir+" cannot be read: "+err.Error(), "pass folders with a folder of Markdown for each language")
		}
		for _, e := range entries {
			if e.IsDir() && e.Name() != original && !slices.Contains(t.others, e.Name()) {
				t.others = append(t.others, e.Name())
			}
		}
	}
	slices.Sort(t.others)
	sources := make([][]rough, len(t.Dirs))
	progress := t.counter("read", len(t.Dirs))
	each(t.ctx, len(t.Dirs), func(i int) {
		defer progress()
		sources[i] = t.limited(t.translationsOf(t.Dirs[i]))
	})
	t.report.Sources = len(t.Dirs)
	return t.number(sources)
}

// translationsOf returns the pairs of one source.
func (t *translator) translationsOf(dir string) []rough {
	var out []rough
	number := map[string]int{} // of an English page
	for i, language := range t.others {
		paths, _ := markdown(filepath.Join(dir, language)) // a source may lack a language
		for _, p := range paths {
			english, err := os.ReadFile(filepath.Join(dir, original, filepath.FromSlash(p)))
			if err != nil {
				continue // has no original
			}
			translation, err := os.ReadFile(filepath.Join(dir, language, filepath.FromSlash(p)))
			if err != nil || max(len(english), len(translation)) > maxPageBytes {
				continue
			}
			if _, ok := number[p]; !ok {
				number[p] = len(number)
			}
			out = append(out, t.translated(i+1, number[p], parse(p, english), parse(p, translation))...)
		}
	}
	return out
}

// lineShare is the share of a section's lines that become pairs.
const lineShare = 0.5

// translated returns the pairs of a page and its translation. There are none if they do
// not have the same number of sections.
func (t *translator) translated(in, number int, original, translation *page) []rough {
	if len(original.sections) != len(translation.sections) {
		return nil
	}
	r := randomOf(t.Seed, hash64(original.path), uint64(in))
	var out []rough
	add := func(k kind, query, document, englishQuery, englishDocument string, queryIn, documentIn int) {
		out = append(out, rough{kind: k, page: number, query: query, document: document,
			same: [2]string{englishQuery, englishDocument}, in: [2]uint8{uint8(queryIn), uint8(documentIn)}})
	}
	for i, e := range original.sections {
		f := translation.sections[i]
		if e.body == f.body || len(f.body) < 40 {
			continue // not translated, or too short
		}
		from, to := strings.Split(e.body, "\n"), strings.Split(f.body, "\n")
		ebody, fbody := firstWords(e.body), firstWords(f.body)
		if head := cmp.Or(e.heading, original.title); e.heading != f.heading && !saysNothing(head) || e.heading == "" && original.title != translation.title {
			fhead := cmp.Or(f.heading, translation.title)
			add(headingBody, fhead, original.title+". "+e.crumb+". "+ebody, head, ebody, in, english)
			add(headingBody, head, translation.title+". "+f.crumb+". "+fbody, head, ebody, english, in)
			add(headingBody, fhead, translation.title+". "+f.crumb+". "+fbody, head, ebody, in, in)
			if r.chance(titleHeadingShare) {
				add(titleHeading, translation.title+" "+fhead, ebody, head, ebody, in, english)
			}
		}
		if len(from) != len(to) {
			continue
		}
		for j := range from {
			if from[j] == to[j] || len(to[j]) < 12 || !r.chance(lineShare) {
				continue
			}
			add(translatedLine, to[j], from[j], from[j], from[j], in, english)
			if j == 0 && len(from) > 2 {
				add(firstRest, to[0], original.title+". "+e.heading+". "+firstWords(strings.Join(from[1:], "\n")), from[0], ebody, in, english)
				add(firstRest, from[0], translation.title+". "+f.heading+". "+firstWords(strings.Join(to[1:], "\n")), from[0], ebody, english, in)
			}
		}
	}
	return out
}

// limited removes bad pairs, and random ones if there are too many.
func (t *translator) limited(all []rough) []rough {
	all = cleaned(all)
	share := float64(t.SourcePairs) / float64(max(1, len(all)))
	kept := all[:0]
	for i, p := range all {
		r := randomOf(t.Seed, uint64(i), 7)
		if r.chance(share) {
			kept = append(kept, p)
		}
	}
	return kept
}

// Conditions for a word to get a row. It is at least moreInLanguage times as frequent in
// a language as in the English texts, so names and code are not words of a language. If
// the model knows it already, as it knows "die", the factor is replaces.
const (
	moreInLanguage  = 4
	replaces        = 20
	maxForeignBytes = 40
)

// chooseForeignWords builds the vocabulary of the words to add, the best ones of each
// language, and joins it with the known one.
func (t *translator) chooseForeignWords() error {
	counts, total := t.counts()
	known := t.From.Vocabulary()
	var tokens []string
	have := map[string]bool{}
	for i := range t.others {
		type scored struct {
			word  string
			score float64
		}
		var all []scored
		for id, e := range t.dictionary.entries {
			n := counts[i+1][id]
			if e.joined || n < minCount || len(e.word) > maxForeignBytes || strings.ContainsAny(e.word, "0123456789") {
				continue
			}
			least := moreInLanguage
			if known.Row(e.word) >= 0 {
				least = replaces
			}
			if float64(n)/total[i+1] >= float64(least)*float64(counts[english][id])/total[english] {
				all = append(all, scored{e.word, float64(n) * (0.3 + 0.35*float64(min(e.sources, 8)))})
			}
		}
		slices.SortFunc(all, func(a, b scored) int {
			return cmp.Or(cmp.Compare(b.score, a.score), strings.Compare(a.word, b.word))
		})
		for _, s := range all[:min(len(all), t.Words)] {
			if !have[s.word] {
				have[s.word] = true
				tokens = append(tokens, s.word)
			}
		}
	}
	var err error
	if t.added, err = embed.NewVocabulary(tokens); err != nil {
		return err
	}
	t.report.Rows = len(tokens)
	if t.vocabulary, err = known.With(t.added); err != nil {
		return fault.New("bad_settings", fmt.Sprintf("cannot add %d words: %v", len(tokens), err), "use fewer words per language")
	}
	return nil
}

// counts returns how often each word occurs in each language, and the number of words
// in each language.
func (t *translator) counts() (counts [][]int, total []float64) {
	counts, total = make([][]int, len(t.others)+1), make([]float64, len(t.others)+1)
	for i := range counts {
		counts[i], total[i] = make([]int, len(t.dictionary.entries)), 1
	}
	for _, p := range t.pairs {
		for side, words := range [...][]int32{p.query, p.document} {
			for _, w := range words {
				counts[p.in[side]][w]++
			}
			total[p.in[side]] += float64(len(words))
		}
	}
	return counts, total
}

// encodeTranslations converts the words of English texts to the rows of the known
// model, and those of other texts to the rows of both.
func (t *translator) encodeTranslations() error {
	known, both := t.dictionary.rows(t.ctx, t.From.Vocabulary()), t.dictionary.rows(t.ctx, t.vocabulary)
	return t.encodeWith(func(language uint8) [][]uint16 {
		if language == english {
			return known
		}
		return both
	})
}

// startForeign sets the first vectors of the new rows.
func (t *translator) startForeign() error {
	rows := t.vocabulary.Len()
	t.weights = make([]float32, rows*t.Dimensions)
	var usual, formula float64
	for i := range t.fixed {
		t.From.Row(i, t.row(i))
		t.row(i)[t.Dimensions-1] = 0
		usual += length(t.row(i)) / float64(t.fixed)
	}
	english32, mean := make([]float32, t.Dimensions), make([]float32, t.Dimensions)
	seen := make([]int, rows) // number of the last pair that has the row, plus 1
	uses := make([]float32, rows)
	for n, p := range t.pairs {
		texts := [2][]uint16{t.texts[n].query, t.texts[n].document}
		if (p.in[0] == english) == (p.in[1] == english) {
			continue
		}
		from, to := texts[0], texts[1]
		if p.in[1] == english {
			from, to = to, from
		}
		clear(english32)
		for _, row := range from {
			addScaled(english32, t.row(int(row)), 1)
		}
		if length(english32) == 0 {
			continue
		}
		scaleTo(english32, 1)
		addScaled(mean, english32, 1)
		for _, row := range to {
			if int(row) >= t.fixed && seen[row] != n+1 {
				seen[row] = n + 1
				uses[row]++
				addScaled(t.row(int(row)), english32, 1)
			}
		}
	}
	scaleTo(mean, 1)
	added := float64(max(1, rows-t.fixed))
	weight := func(row int) float64 {
		return sif/(sif+float64(t.frequency[row])/float64(t.report.Tokens)) + least
	}
	for i := t.fixed; i < rows; i++ {
		formula += weight(i) / added
	}
	for i := t.fixed; i < rows; i++ {
		row := t.row(i)
		along := float32(0)
		for k, x := range row {
			along += float32(x * mean[k])
		}
		addScaled(row, mean, -along)
		scaleTo(row, usual*weight(i)/formula)
	}
	return nil
}

// writeAdded writes the new rows.
func (t *translator) writeAdded() error {
	return t.writeModel(t.added, t.weights[t.fixed*t.Dimensions:])
}
