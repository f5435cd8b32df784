package train

import (
	"bufio"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/eval"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/ranker"
	"github.com/deskhand/deskhand/runtime/search"
)

// Set is a set of graded questions: the folder to index and the files of cases.
type Set struct {
	Name, Dir string
	Cases     []string
	// Held are files of cases that are only measured, never trained on.
	Held []string
}

// heldMark begins a file of cases that is only measured.
const heldMark = "held:"

// ReadSets reads lines of a name, a folder and files of cases, relative to the
// file, see [heldMark]; lines that begin with # are none. The error is fault
// "bad_sets".
func ReadSets(file string) (sets []Set, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, badSets(file, err.Error())
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if len(words) < 3 {
			return nil, badSets(file, fmt.Sprintf("%q is not a name, a folder and a file of cases", lines.Text()))
		}
		set := Set{Name: words[0], Dir: beside(file, words[1])}
		for _, path := range words[2:] {
			if path, held := strings.CutPrefix(path, heldMark); held {
				set.Held = append(set.Held, beside(file, path))
			} else {
				set.Cases = append(set.Cases, beside(file, path))
			}
		}
		if len(set.Cases) == 0 {
			return nil, badSets(file, set.Name+" has no file of cases to train on")
		}
		sets = append(sets, set)
	}
	if err := lines.Err(); err != nil {
		return nil, badSets(file, err.Error())
	}
	if len(sets) == 0 {
		return nil, badSets(file, "it names no set")
	}
	return sets, nil
}

// beside returns path, which is relative to the folder of file.
func beside(file, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(file), path)
}

func badSets(file, why string) error {
	return fault.New("bad_sets", file+": "+why, "write a line for each set: its name, the folder to index, and files of cases")
}

// Question is one question and its candidates.
type Question struct {
	Set      string
	Digest   string // of the set's cases
	Model    string // that made the vectors
	Category string
	// Reader wrote how an agent would ask it; empty: it is the question alone.
	Reader string
	// Shortened, from 1, numbers a copy of the question with some of its words left
	// out. Zero is the whole question.
	Shortened int
	// Held reports that the question is only measured, never trained on.
	Held bool
	// Ordered reports whether a search lets the ranker order its hits.
	Ordered    bool
	Candidates []ranker.Candidate
	Graded     eval.Graded
	variants   []int
	before     []int // places without the ranker
}

// alone reports that it is a question as it stands in the cases.
func (q *Question) alone() bool { return q.Reader == "" && q.Shortened == 0 }

// answered says whether a candidate earns anything.
func (q *Question) answered() bool {
	return slices.ContainsFunc(q.shown(), func(at int) bool { return q.Graded.Grades[at] > 0 })
}

// shown are the candidates that are no variants of others, in the order of their
// sums.
func (q *Question) shown() (at []int) {
	for i, of := range q.variants {
		if of == i {
			at = append(at, i)
		}
	}
	return at
}

// Gather indexes the folders of sets below dir, with the built-in model, and asks
// all questions: alone, and as each reader would.
func Gather(ctx context.Context, sets []Set, dir string, progress func(set string)) (all []Question, err error) {
	builtin, err := embed.Open(embed.Default)
	if err != nil {
		return nil, err
	}
	for i, s := range sets {
		if progress != nil {
			progress(s.Name)
		}
		out := filepath.Join(dir, fmt.Sprint(i))
		if _, err := indexer.Build(ctx, indexer.Options{Dir: s.Dir, Out: out, Embedder: builtin}); err != nil {
			return nil, fmt.Errorf("index set %s: %w", s.Name, err)
		}
		questions, err := s.ask(ctx, out)
		if err != nil {
			return nil, fmt.Errorf("ask set %s: %w", s.Name, err)
		}
		for i := range questions {
			questions[i].Model = builtin.Name()
		}
		all = append(all, questions...)
	}
	if !slices.ContainsFunc(all, func(q Question) bool { return q.answered() }) {
		return nil, fault.New("no_answers", "none of the questions has an answer in its folder", "check that the folders are those that the cases were written for")
	}
	return all, nil
}

func (s Set) ask(ctx context.Context, dir string) (all []Question, err error) {
	engine, err := search.Open(dir)
	if err != nil {
		return nil, err
	}
	defer engine.Close()
	h := sha256.New()
	for _, path := range s.Cases {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		h.Write(data)
	}
	digest := hex.EncodeToString(h.Sum(nil))
	o := eval.Options{}
	for _, facet := range engine.Metadata().Taxonomy {
		o.Collapse = o.Collapse || facet.VectorCollapse
	}
	for _, files := range [][]string{s.Cases, s.Held} {
		if len(files) == 0 {
			continue
		}
		cases, _, err := eval.Load(files...)
		if err != nil {
			return nil, err
		}
		for _, c := range cases {
			for _, form := range forms(c) {
				c.Query = form.query
				q, err := question(ctx, engine, c, o)
				if err != nil {
					return nil, fmt.Errorf("%s: %w", c.Name, err)
				}
				q.Set, q.Digest, q.Reader, q.Shortened = s.Name, digest, form.reader, form.shortened
				q.Held = &files[0] != &s.Cases[0]
				all = append(all, q)
			}
		}
	}
	return all, nil
}

// form is one way to ask a case.
type form struct {
	query, reader string
	shortened     int
}

// shortenings is how many copies of a question have some of their words left out.
const shortenings = 3

// forms are the ways to ask a case: its query, those of readers, and copies of the
// query without some of its words. Copies teach the ranker what to go by if an
// answer has few of the question's words.
func forms(c eval.Case) []form {
	all := []form{{query: c.Query}}
	for _, reader := range slices.Sorted(maps.Keys(c.Asked)) {
		if query := c.Asked[reader]; query != c.Query {
			all = append(all, form{query: query, reader: reader})
		}
	}
	for n := 1; n <= shortenings; n++ {
		if query := shortened(c.Query, c.Name, uint64(n)); query != "" {
			all = append(all, form{query: query, shortened: n})
		}
	}
	return all
}

const (
	leftOut   = 0.3 // share of words
	fewest    = 4   // words of a question that is shortened
	leastLeft = 2   // words of a copy
)

// shortened returns a query without some of its words, the same for equal arguments.
// It is empty for short queries, those with quoted text, and if no word, or too many,
// would be left out.
func shortened(query, name string, n uint64) string {
	words := strings.Fields(query)
	if len(words) < fewest || strings.Contains(query, `"`) {
		return ""
	}
	h := fnv.New64a()
	h.Write([]byte(name))
	rng := rand.New(rand.NewPCG(h.Sum64(), n))
	kept := slices.DeleteFunc(slices.Clone(words), func(string) bool { return rng.Float64() <= leftOut })
	if len(kept) < leastLeft || len(kept) == len(words) {
		return ""
	}
	return strings.Join(kept, " ")
}

func question(ctx context.Context, engine *search.Engine, c eval.Case, o eval.Options) (Question, error) {
	q := Question{Category: c.Category}
	pool, ordered, err := engine.Pool(ctx, search.Query{Text: c.Query, Filters: c.Filters})
	if err != nil {
		return q, err
	}
	q.Ordered = ordered
	var hits []eval.Hit
	for _, p := range pool {
		q.Candidates, q.variants = append(q.Candidates, p.Candidate), append(q.variants, p.Variant)
		q.before = append(q.before, p.Before)
		hits = append(hits, eval.Hit{ID: p.ID, Path: p.Path, Heading: p.Heading, Breadcrumb: p.Breadcrumb, Metadata: p.Metadata})
	}
	var failed error
	text := func(id string) string {
		t, err := (eval.Local{Engine: engine}).Text(ctx, id)
		failed = cmp.Or(failed, err)
		return t
	}
	q.Graded = eval.Grade(c, hits, text, o)
	return q, failed
}

// model made the vectors of the questions; all have one.
func model(questions []Question) string {
	if len(questions) == 0 {
		return ""
	}
	return questions[0].Model
}

// sets are those that questions are of, in order.
func sets(questions []Question) (all []ranker.Set) {
	for _, q := range questions {
		if len(all) == 0 || all[len(all)-1].Name != q.Set {
			all = append(all, ranker.Set{Name: q.Set, Digest: q.Digest})
		}
		if q.alone() && !q.Held {
			all[len(all)-1].Questions++
		}
	}
	return all
}
