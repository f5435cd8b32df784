package phrases

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Section is what phrases are written for: a chunk, and those that are the same to
// the letter, for example in another version of the docs.
type Section struct {
	// IDs are the chunks, sorted; at least one.
	IDs []string
	// Title is the page's, Breadcrumb the headings down to the section's own.
	Title, Breadcrumb, Heading string
	// Text is the chunk's plain text.
	Text string
	// Digest changes when title, headings or text do.
	Digest string
	// Rank is where the section comes if its own first sentence is searched, from 0
	// to NotFound: the higher, the harder the section is to reach.
	Rank int
	// Asked is how often questions that found little came nearest to it.
	Asked int
}

// Folder is the section's folder in the docs; "." for the uppermost.
func (s *Section) Folder() string {
	page, _, _ := chunker.ParseID(s.IDs[0]) // it is an index's
	return path.Dir(page)
}

// NotFound is the [Section.Rank] of a section that its own first sentence does not find.
const NotFound = search.MaxLimit

// Plan says what there is to write.
type Plan struct {
	// Sections counts all of the index that have a text, Written those with
	// phrases of this command, and Own those with phrases of a person, which are
	// left alone.
	Sections int `json:"sections"`
	Written  int `json:"written"`
	Own      int `json:"own"`
	// Changed counts the sections whose phrases are older than the text.
	Changed int `json:"changed"`
	// Stale are the ids in the file that no chunk has, sorted.
	Stale []string `json:"stale"`
	// Todo are the sections without phrases and the changed ones: first those that
	// questions which found little came nearest to, then the hardest to reach.
	Todo []Section `json:"-"`
}

// PlanOptions say what to plan.
type PlanOptions struct {
	// Index is the index's folder, Engine a search in it.
	Index  string
	Engine *search.Engine
	// Log, unless nil, is told what takes long.
	Log func(string)
	// Asked counts the questions that came nearest to a chunk, by its id. Nil: none
	// are known.
	Asked map[string]int
}

// MakePlan compares file with an index.
func MakePlan(ctx context.Context, file *File, o PlanOptions) (Plan, error) {
	sections, known, err := sectionsOf(o.Index)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{Sections: len(sections), Stale: []string{}}
	for _, id := range file.ids() {
		if !known[id] {
			p.Stale = append(p.Stale, id)
		}
	}
	for _, s := range sections {
		switch file.state(s) {
		case own:
			p.Own++
			continue
		case written:
			p.Written++
			continue
		case changed:
			p.Changed++
		}
		for _, id := range s.IDs {
			s.Asked += o.Asked[id]
		}
		p.Todo = append(p.Todo, s)
	}
	if o.Log != nil && len(p.Todo) > manySections {
		o.Log(fmt.Sprintf("searching for each of %d sections, to find those that are hard to reach", len(p.Todo)))
	}
	if err := rank(ctx, o.Engine, p.Todo); err != nil {
		return Plan{}, err
	}
	slices.SortFunc(p.Todo, func(x, y Section) int {
		return cmp.Or(cmp.Compare(y.Asked, x.Asked), cmp.Compare(y.Rank, x.Rank), cmp.Compare(len(x.Text), len(y.Text)), cmp.Compare(x.IDs[0], y.IDs[0]))
	})
	return p, nil
}

// manySections are searched in some ten seconds.
const manySections = 2000

// state is what a file has of a section.
type state int

const (
	missing state = iota
	changed
	written
	own
)

// state is that of the chunk of s which lacks most.
func (f *File) state(s Section) state {
	least := own
	for _, id := range s.IDs {
		l, ok := f.get(id)
		switch {
		case !ok || len(l.Phrases) == 0:
			least = min(least, missing)
		case l.Digest == "":
		case l.Digest != s.Digest:
			least = min(least, changed)
		default:
			least = min(least, written)
		}
	}
	return least
}

// leastText is how many letters a section must have beside its heading: under
// that there is nothing to phrase.
const leastText = 30

// sectionsOf are the sections of an index in its order, and all its chunks.
func sectionsOf(dir string) (sections []Section, known map[string]bool, err error) {
	r, err := artifact.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	known = make(map[string]bool, r.Len())
	at := map[string]int{} // by digest
	var page artifact.Page
	for i := range r.Len() {
		c, err := r.Chunk(i)
		if err == nil && (i == 0 || i >= page.First+page.Chunks) {
			page, err = r.Page(c.Page)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read index: %w", err)
		}
		text, err := r.Text(nil, i)
		if err != nil {
			return nil, nil, fmt.Errorf("read index: %w", err)
		}
		known[c.ID] = true
		s := Section{IDs: []string{c.ID}, Title: strings.Clone(page.Title), Breadcrumb: strings.Clone(c.Breadcrumb), Heading: strings.Clone(c.Heading), Text: string(text)}
		if letters(s.body()) < leastText {
			continue
		}
		s.Digest = digest(s)
		if same, ok := at[s.Digest]; ok {
			sections[same].IDs = append(sections[same].IDs, c.ID)
			continue
		}
		at[s.Digest] = len(sections)
		sections = append(sections, s)
	}
	for i := range sections {
		slices.Sort(sections[i].IDs)
	}
	return sections, known, nil
}

// body is the text without the heading that it begins with.
func (s *Section) body() string {
	return strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(s.Text), s.Heading))
}

func letters(s string) (n int) {
	for _, r := range s {
		if unicode.IsLetter(r) {
			n++
		}
	}
	return n
}

// digest of what phrases are written from, 16 hexadecimal digits: enough to notice
// a change, and short enough for a line that people read.
func digest(s Section) string {
	sum := sha256.Sum256([]byte(s.Title + "\x00" + s.Breadcrumb + "\x00" + s.Text))
	return hex.EncodeToString(sum[:8])
}

// rank finds out how hard each section is to reach: where it comes if its own first
// sentence, without title and headings, is searched by meaning. A section that even
// its own words do not lead to is one that other words will not find. Of 188
// sections that answer labelled questions, those missed by the questions rank higher
// than those found with probability 0.71; by their length it is 0.57, by how rare
// their words are 0.63, by the rank of their heading 0.57.
func rank(ctx context.Context, engine *search.Engine, sections []Section) error {
	by := search.Meaning
	if engine.Metadata().Embedding == nil || !Near(engine) || engine.Mute() != nil {
		by = search.Words
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	next := make(chan *Section)
	var wait sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(sections)) {
		wait.Go(func() {
			for s := range next {
				if err := rankOne(ctx, engine, by, s); err != nil {
					cancel(err)
				}
			}
		})
	}
	for i := range sections {
		if ctx.Err() != nil {
			break
		}
		next <- &sections[i]
	}
	close(next)
	wait.Wait()
	return context.Cause(ctx)
}

// Near says that a search of engine sends nothing to another program, as one by
// the vectors of a provider does. Planning never sends anything.
func Near(engine *search.Engine) bool {
	e := engine.Metadata().Embedding
	return e == nil || !embed.Far(e.String())
}

func rankOne(ctx context.Context, engine *search.Engine, by search.By, s *Section) error {
	s.Rank = NotFound
	text := firstSentence(s.body())
	if letters(text) == 0 {
		return nil
	}
	page, err := engine.Search(ctx, search.Query{Text: text, Limit: search.MaxLimit, By: by})
	if err != nil {
		return fmt.Errorf("search for %s: %w", s.IDs[0], err)
	}
	for i, h := range page.Hits {
		if slices.Contains(s.IDs, h.ID) {
			s.Rank = i
			break
		}
	}
	return nil
}

// firstSentence of a text, without what a search would take for a phrase.
func firstSentence(text string) string {
	text = textutil.OneLine(strings.NewReplacer(`"`, " ", "\u201c", " ", "\u201d", " ").Replace(text))
	first, _, _ := strings.Cut(text, ". ")
	if cut := []rune(first); len(cut) > 200 {
		first = string(cut[:200])
	}
	return first
}

// Some is the plan with the first n sections alone; 0: all.
func (p Plan) Some(n int) Plan {
	if n > 0 {
		p.Todo = p.Todo[:min(n, len(p.Todo))]
	}
	return p
}

// Price is what a million tokens cost, in US dollars.
type Price struct{ In, Out float64 }

// ParsePrice reads a price as "0.4/1.6"; empty: none. Fault: "misuse".
func ParsePrice(text string) (p Price, err error) {
	if text == "" {
		return p, nil
	}
	in, out, ok := strings.Cut(text, "/")
	var errIn, errOut error
	p.In, errIn = strconv.ParseFloat(in, 64)
	p.Out, errOut = strconv.ParseFloat(out, 64)
	if !ok || errIn != nil || errOut != nil || !(p.In >= 0 && p.Out >= 0) || math.IsInf(p.In+p.Out, 0) {
		return Price{}, fault.Misuse(fmt.Sprintf("--price is %q", text), "write what a million tokens cost to read and to write, for example 0.4/1.6")
	}
	return p, nil
}

// Cost of so many tokens.
func (p Price) Cost(u Usage) float64 {
	return (float64(u.TokensIn)*p.In + float64(u.TokensOut)*p.Out) / 1e6
}

// Usage is what asking took.
type Usage struct {
	Requests  int   `json:"requests"`
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	// Estimated says that the other side did not count the tokens of some.
	Estimated bool `json:"estimated"`
	// Cost is what agents said that it cost, in US dollars.
	Cost float64 `json:"cost,omitempty"`
}

func (u *Usage) add(more Usage) {
	u.Requests += more.Requests
	u.TokensIn += more.TokensIn
	u.TokensOut += more.TokensOut
	u.Cost += more.Cost
	u.Estimated = u.Estimated || more.Estimated
}

// tokensOf estimates the tokens of a text: four bytes of English are one.
func tokensOf(text string) int64 { return int64(math.Ceil(float64(len(text)) / 4)) }
