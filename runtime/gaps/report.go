package gaps

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/text"
)

const (
	// sameMeaning is the minimum cosine at which two questions belong to the same
	// gap. Of 106 pairs of a labelled question and an agent's version of it, 98 %
	// reach this value. Of 31,956 pairs of different questions about one set of
	// docs, 0.4 % do.
	sameMeaning = 0.5
	// maxDrafted is the maximum number of questions that a draft includes.
	maxDrafted = 5
	// maxPhrase is the maximum length of a drafted phrase. The phrases file has
	// the same limit.
	maxPhrase = 300
)

// Report compares the recorded questions with the current index.
type Report struct {
	// Asked is the number of recorded questions, and Distinct is their number
	// without repetitions. Answered is the number of distinct questions for which
	// a search now finds something, so they belong to no gap.
	Asked    int `json:"asked"`
	Distinct int `json:"distinct"`
	Answered int `json:"answered"`
	// Gaps holds the other questions, most asked first. It is never nil.
	Gaps []Gap `json:"gaps"`
}

// Gap is a group of questions with the same meaning for which a search finds
// little.
type Gap struct {
	// Count is how often the questions were asked, and Last is when one of them
	// was last asked.
	Count int       `json:"count"`
	Last  time.Time `json:"last"`
	// Found is the current result of the first question.
	Found search.Found `json:"found"`
	// Questions holds the distinct questions, most asked first. It contains at
	// least one question.
	Questions []Question `json:"questions"`
	// Nearest is the top-ranked section, or nil if there is none.
	Nearest *Section `json:"nearest"`
	// Draft is a draft for the author of the docs: a line for the phrases file
	// if there is a near section, otherwise the start of a new section in
	// Markdown.
	Draft string `json:"draft"`
}

// Question is a question and how often it was asked.
type Question struct {
	Text  string `json:"text"`
	Count int    `json:"count"`
	// Found is the question's current result.
	Found search.Found `json:"found"`

	filters map[string]string
	last    time.Time
	nearest *Section
	vector  []float32
}

// Section is a chunk of the index.
type Section struct {
	ChunkID    string `json:"chunk_id"`
	Breadcrumb string `json:"breadcrumb"`
	Lines      string `json:"lines"`
}

// Find reruns every recorded question. It groups the questions that still have poor
// results by meaning, using the built-in model.
func Find(ctx context.Context, engine *search.Engine, entries []Entry) (Report, error) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		return Report{}, fmt.Errorf("open the model that groups questions: %w", err)
	}
	model := e.(*embed.Static)
	r := Report{Asked: len(entries), Gaps: []Gap{}}
	questions := distinct(entries)
	r.Distinct = len(questions)
	var open []*Question
	for _, q := range questions {
		if err := q.ask(ctx, engine); err != nil {
			return Report{}, err
		}
		if q.Found == search.FoundSome {
			r.Answered++
			continue
		}
		q.vector = model.Embed(q.Text)
		open = append(open, q)
	}
	for _, group := range grouped(open) {
		r.Gaps = append(r.Gaps, gapOf(group))
	}
	slices.SortStableFunc(r.Gaps, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.Last.Compare(a.Last))
	})
	return r, nil
}

// distinct returns the questions without repetitions, most asked first.
func distinct(entries []Entry) []*Question {
	byKey := map[string]*Question{}
	for _, e := range entries {
		key, _ := json.Marshal([]any{strings.ToLower(text.OneLine(e.Query)), e.Filters}) // strings never fail to marshal
		q := byKey[string(key)]
		if q == nil {
			q = &Question{Text: text.OneLine(e.Query), filters: e.Filters}
			byKey[string(key)] = q
		}
		q.Count++
		if e.At.After(q.last) {
			q.last = e.At
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b *Question) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), b.last.Compare(a.last), cmp.Compare(a.Text, b.Text))
	})
}

// ask searches for the question in the current index. If the index no longer
// has the filter, ask searches without it.
func (q *Question) ask(ctx context.Context, engine *search.Engine) error {
	page, err := engine.Search(ctx, search.Query{Text: q.Text, Filters: q.filters, Limit: 1})
	if f := fault.Of(err); f != nil && f.Code == "invalid_argument" && len(q.filters) > 0 {
		page, err = engine.Search(ctx, search.Query{Text: q.Text, Limit: 1})
	}
	if err != nil {
		return fmt.Errorf("ask %q again: %w", text.Shorten(q.Text, 60), err)
	}
	if page.Hint != nil {
		q.Found = page.Hint.Found
	}
	if len(page.Hits) > 0 {
		h := page.Hits[0]
		at := h.Path
		if h.StartLine > 0 { // the line numbers of a converted page may be unknown
			at += fmt.Sprintf(":%d-%d", h.StartLine, h.EndLine)
		}
		q.nearest = &Section{h.ID, h.Breadcrumb, at}
	}
	return nil
}

// grouped adds each question to the first group whose first question has the
// same meaning.
func grouped(questions []*Question) (groups [][]*Question) {
	for _, q := range questions {
		i := slices.IndexFunc(groups, func(g []*Question) bool { return cosine(g[0].vector, q.vector) >= sameMeaning })
		if i < 0 {
			groups = append(groups, []*Question{q})
			continue
		}
		groups[i] = append(groups[i], q)
	}
	return groups
}

// cosine returns the cosine of two unit vectors. For text without any word that
// the model knows, the vector is zero, and the cosine with every vector is 0.
func cosine(a, b []float32) (sum float64) {
	for i := range min(len(a), len(b)) {
		sum += float64(a[i]) * float64(b[i])
	}
	return sum
}

func gapOf(group []*Question) Gap {
	g := Gap{Found: group[0].Found, Nearest: group[0].nearest}
	for _, q := range group {
		g.Count += q.Count
		if q.last.After(g.Last) {
			g.Last = q.last
		}
		g.Questions = append(g.Questions, *q)
	}
	g.Draft = g.draft()
	return g
}

// draft returns a line for the phrases file if the hits may answer the question,
// because in that case the section exists and only lacks the words. Otherwise it
// returns the start of a new section.
func (g Gap) draft() string {
	if phrases := g.Phrases(); phrases != nil {
		b, _ := json.Marshal(struct { // strings never fail to marshal
			ID      string   `json:"chunk_id"`
			Phrases []string `json:"phrases"`
		}{g.Nearest.ChunkID, phrases})
		return string(b)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "## %s\n\nWrite the answer here", text.Shorten(first(g.Questions[0].Text), 80))
	for i, q := range g.Questions[:min(len(g.Questions), maxDrafted)] {
		if i == 0 {
			b.WriteString(":\n\n")
		}
		fmt.Fprintf(&b, "- %s\n", first(q.Text))
	}
	return b.String()
}

// Phrases returns the questions as phrases for the nearest section if that
// section may answer them, and nil otherwise.
func (g Gap) Phrases() (list []string) {
	if g.Found != search.FoundUnsure || g.Nearest == nil {
		return nil
	}
	for _, q := range g.Questions[:min(len(g.Questions), maxDrafted)] {
		list = append(list, text.Shorten(first(q.Text), maxPhrase))
	}
	return list
}

// first returns the question without the rephrasings that an agent appends
// after semicolons.
func first(question string) string {
	q, _, _ := strings.Cut(question, ";")
	if q = strings.TrimSpace(q); q == "" {
		return question
	}
	return q
}
