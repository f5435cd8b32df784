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
	"strings"
	"sync"
	"unicode"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	textutil "github.com/deskhand/deskhand/runtime/text"
	"github.com/deskhand/deskhand/runtime/usage"
)

// Section stands for text that phrases are written for: one chunk and all chunks
// with identical text, for example in another version of the docs.
type Section struct {
	// IDs holds the chunk IDs, sorted. It has at least one.
	IDs []string
	// Title is the page's title, and Breadcrumb lists the headings from the
	// page's top down to the section.
	Title, Breadcrumb, Heading string
	// Text is the chunk's plain text.
	Text string
	// Digest changes when the title, the breadcrumb or the text changes.
	Digest string
	// Rank is the section's position in a search for its own first sentence,
	// from 0 to NotFound.
	Rank int
	// Asked is the number of questions with few results for which this is the
	// nearest section.
	Asked int
}

// Folder returns the section's folder in the docs, or "." for the root.
func (s *Section) Folder() string {
	page, _, _ := chunker.ParseID(s.IDs[0]) // cannot fail: the ID is from an index
	return path.Dir(page)
}

// NotFound is the [Section.Rank] of a section that a search for its first
// sentence does not find.
const NotFound = search.MaxLimit

// Plan lists the sections to write phrases for.
type Plan struct {
	// Sections is the number of sections with text. Written is the number of
	// sections with phrases from this command, and Own is the number of sections
	// with phrases from a person, which are not changed.
	Sections int `json:"sections"`
	Written  int `json:"written"`
	Own      int `json:"own"`
	// Changed is the number of sections whose text has changed since their
	// phrases were written.
	Changed int `json:"changed"`
	// Stale holds the sorted IDs in the file that belong to no chunk.
	Stale []string `json:"stale"`
	// Todo holds the sections without phrases and the sections that have changed.
	// The sections nearest to questions with few results come first, then the
	// sections that questions are most likely about.
	Todo []Section `json:"-"`
}

// PlanOptions configure MakePlan.
type PlanOptions struct {
	// Index is the index's folder, and Engine searches in it.
	Index  string
	Engine *search.Engine
	// Log, unless nil, is called with a message before a step that takes long.
	Log func(string)
	// Asked holds the number of questions nearest to a chunk, by chunk ID; see
	// the function Asked. It may be nil.
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
		o.Log(fmt.Sprintf("searching for each of the %d sections, to determine the order", len(p.Todo)))
	}
	if err := rank(ctx, o.Engine, p.Todo); err != nil {
		return Plan{}, err
	}
	slices.SortFunc(p.Todo, func(x, y Section) int {
		return cmp.Or(cmp.Compare(y.Asked, x.Asked), cmp.Compare(x.aside(), y.aside()), cmp.Compare(x.Rank, y.Rank), cmp.Compare(len(y.Text), len(x.Text)), cmp.Compare(x.IDs[0], y.IDs[0]))
	})
	return p, nil
}

// manySections is the number of sections above which ranking is announced.
// Searching for this many sections takes about ten seconds.
const manySections = 2000

// state is the state of a section's phrases in a file, ordered from worst to
// best.
type state int

const (
	missing state = iota
	changed
	written
	own
)

// state returns the worst state among the chunks of s.
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

// leastText is the minimum number of letters in a section, excluding its heading.
// A shorter section contains nothing that people search for.
const leastText = 30

// sectionsOf returns the sections of an index in the index's order, and the IDs
// of all its chunks.
func sectionsOf(dir string) (sections []Section, known map[string]bool, err error) {
	r, err := artifact.Open(dir)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	known = make(map[string]bool, r.Len())
	at := map[string]int{} // index in sections, by digest
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

// body returns the text without the heading at its start.
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

// digest returns a digest of everything that phrases are based on. It has 16
// hexadecimal digits: enough to notice a change, and short enough for a line that
// people read.
func digest(s Section) string {
	sum := sha256.Sum256([]byte(s.Title + "\x00" + s.Breadcrumb + "\x00" + s.Text))
	return hex.EncodeToString(sum[:8])
}

// rank sets the rank of each section: its position in a search by meaning for its
// own first sentence, without title and headings. Sections that their own words do
// not find are mostly lists of links, tables and parts of a reference, which few
// questions are about. Of 217 paraphrases of fourteen labelled sets that search
// answered poorly, the first fifth of this order, by rank and then longest first,
// holds the answers of 59. The opposite order holds those of 24, and a random one
// those of 42 (docs/ranking.md).
//
// If a search by meaning is impossible or would send text to another program,
// rank uses a keyword search.
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

// Near reports whether a search with engine stays on this machine. With a
// provider's embeddings, a search would send text to another program. Planning
// never sends anything.
func Near(engine *search.Engine) bool {
	e := engine.Metadata().Embedding
	return e == nil || !embed.Far(e.String())
}

// aside returns 1 if a section's page rarely answers questions, and otherwise 0.
func (s *Section) aside() int {
	if path, _, _ := strings.Cut(s.IDs[0], "#"); search.Aside(path) {
		return 1
	}
	return 0
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

// firstSentence returns the first sentence of text, without quotation marks,
// because a search would interpret quoted words as a phrase.
func firstSentence(text string) string {
	text = textutil.OneLine(strings.NewReplacer(`"`, " ", "\u201c", " ", "\u201d", " ").Replace(text))
	first, _, _ := strings.Cut(text, ". ")
	if cut := []rune(first); len(cut) > 200 {
		first = string(cut[:200])
	}
	return first
}

// Some returns the plan with only the first n sections, or with all of them if
// n is 0.
func (p Plan) Some(n int) Plan {
	if n > 0 {
		p.Todo = p.Todo[:min(n, len(p.Todo))]
	}
	return p
}

// Price is the price of a million tokens, in US dollars.
type Price = usage.Price

// PriceOf returns the price that --price gives, or if text is empty, the price of the
// model that by names. known reports whether there is one.
func PriceOf(text, by string, table usage.Table) (p Price, known bool, err error) {
	if text != "" {
		p, err = usage.ParsePrice(text)
		if f := fault.Of(err); f != nil {
			err = fault.Misuse("--price: "+f.Message, f.Hint)
		}
		return p, err == nil, err
	}
	if strings.HasPrefix(by, ByAgent) {
		return p, false, nil // agents report their cost
	}
	_, model, _ := strings.Cut(by, ":")
	if _, name, ok := strings.Cut(by, "#"); ok {
		model = name
	}
	p, known = table.Of(model, "")
	return p, known, nil
}

// PricedAt returns what the tokens in u cost, in US dollars.
func (u Usage) PricedAt(p Price) float64 {
	return float64(p.Cost(usage.Tokens{In: u.TokensIn, Out: u.TokensOut})) / 1e6
}

// Usage is the number of requests and tokens used, and their cost.
type Usage struct {
	Requests  int   `json:"requests"`
	TokensIn  int64 `json:"tokens_in"`
	TokensOut int64 `json:"tokens_out"`
	// Estimated reports whether some of the tokens were estimated, because the
	// other side did not count them.
	Estimated bool `json:"estimated"`
	// Cost is the sum of the costs that agents reported, in US dollars.
	Cost float64 `json:"cost,omitempty"`
}

func (u *Usage) add(more Usage) {
	u.Requests += more.Requests
	u.TokensIn += more.TokensIn
	u.TokensOut += more.TokensOut
	u.Cost += more.Cost
	u.Estimated = u.Estimated || more.Estimated
}

// tokensOf estimates the number of tokens in text: one for every four bytes, as
// in English.
func tokensOf(text string) int64 { return int64(math.Ceil(float64(len(text)) / 4)) }
