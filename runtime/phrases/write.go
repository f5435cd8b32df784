package phrases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Options configure how phrases are written. For each field, zero means the
// default or no limit.
type Options struct {
	// Each is the number of phrases per section. If zero, it is DefaultEach.
	Each int
	// MaxTokens and MaxCost, in US dollars, limit the usage: a request that
	// would exceed a limit is not sent. Zero means no limit. MaxCost requires a
	// Price, unless agents report their cost.
	MaxTokens int64
	MaxCost   float64
	Price     Price
	// Progress, unless nil, is called after phrases have been written or an
	// attempt to write them has failed. It is called at most once a second, and
	// never concurrently.
	Progress func(Report)
}

// Check returns a fault with code "misuse" for invalid options. The parameter by
// names the writer, and priced reports whether a Price was given.
func (o Options) Check(by string, priced bool) error {
	switch {
	case o.Each < 1 || o.Each > MaxEach:
		return fault.Misuse(fmt.Sprintf("--each is %d", o.Each), fmt.Sprintf("use 1 to %d", MaxEach))
	case o.MaxTokens < 0 || o.MaxCost < 0:
		return fault.Misuse("a limit is negative", "omit it for no limit")
	case o.MaxCost > 0 && !priced && !strings.HasPrefix(by, ByAgent):
		return fault.Misuse("--max-cost needs a price", "pass the price per million tokens with --price, or limit the tokens with --max-tokens")
	}
	return nil
}

// ByAgent is the prefix of a coding agent's name, and ByGaps stands for recorded
// questions. Any other name is passed to OpenRemote.
const (
	ByAgent = "agent:"
	ByGaps  = "gaps"
)

// DefaultEach is the default number of phrases per section.
const DefaultEach = 4

// MaxEach is the maximum number of phrases per section.
const MaxEach = 10

// Report describes the result of a run.
type Report struct {
	// Todo is the number of sections to write phrases for, and Written is the
	// number of these sections that got phrases.
	Todo    int `json:"todo"`
	Written int `json:"written"`
	// Phrases is the number of new phrases, and Refused is the number of phrases
	// that failed the checks.
	Phrases int   `json:"phrases"`
	Refused int   `json:"refused"`
	Usage   Usage `json:"usage"`
	// Cost is in US dollars. It is 0 if no price is known.
	Cost float64 `json:"cost,omitempty"`
	// Failed lists the sections and tasks that got no phrases, with reasons. It
	// is never nil.
	Failed []Failure `json:"failed"`
	// Stopped says which budget stopped the run early. It is empty if the run was
	// completed.
	Stopped string `json:"stopped,omitempty"`
}

// Failure is a section that got no phrases.
type Failure struct {
	ChunkID string `json:"chunk_id"`
	Reason  string `json:"reason"`
}

// writing is a run in progress.
type writing struct {
	Options
	file *File

	mu     sync.Mutex
	report Report
	// spent is the usage so far, including estimates for running requests.
	spent Usage
	told  time.Time
}

func start(file *File, o Options, todo int) *writing {
	if o.Each == 0 {
		o.Each = DefaultEach
	}
	return &writing{Options: o, file: file, report: Report{Todo: todo, Failed: []Failure{}}}
}

// Write has a model write the phrases for plan's sections into file. The
// phrases written so far are in the file even if Write returns an error. The
// error is ctx's, or a fault of the model with code "writer_down" or
// "writer_refused".
func Write(ctx context.Context, file *File, plan Plan, model *Remote, o Options) (Report, error) {
	w := start(file, o, len(plan.Todo))
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	batches := make(chan []*Section)
	var wait sync.WaitGroup
	for range model.concurrent {
		wait.Go(func() {
			for batch := range batches {
				if err := w.batch(ctx, model, batch); err != nil {
					cancel(err)
				}
			}
		})
	}
	for from := 0; from < len(plan.Todo) && ctx.Err() == nil; from += model.batch {
		var batch []*Section
		for i := range plan.Todo[from:min(from+model.batch, len(plan.Todo))] {
			batch = append(batch, &plan.Todo[from+i])
		}
		if !w.reserve(estimate(batch, w.Each)) {
			break
		}
		select {
		case batches <- batch:
		case <-ctx.Done():
		}
	}
	close(batches)
	wait.Wait()
	return w.end(context.Cause(ctx))
}

// end saves the file and returns the report.
func (w *writing) end(err error) (Report, error) {
	err = errors.Join(err, w.file.Save(true))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Cost = w.cost(w.report.Usage)
	return w.report, err
}

func (w *writing) cost(u Usage) float64 { return u.Cost + u.PricedAt(w.Price) }

// reserve reports whether the remaining budget covers u, and if so, subtracts
// u.
func (w *writing) reserve(u Usage) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	next := w.spent
	next.add(u)
	if w.MaxTokens > 0 && next.TokensIn+next.TokensOut > w.MaxTokens {
		w.report.Stopped = fmt.Sprintf("the next request would exceed the budget of %d tokens", w.MaxTokens)
		return false
	}
	if w.MaxCost > 0 && w.cost(next) > w.MaxCost {
		w.report.Stopped = fmt.Sprintf("the next request would exceed the budget of $%.2f", w.MaxCost)
		return false
	}
	w.spent = next
	return true
}

// used replaces an estimate with the actual usage.
func (w *writing) used(estimated, u Usage) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.spent.TokensIn += u.TokensIn - estimated.TokensIn
	w.spent.TokensOut += u.TokensOut - estimated.TokensOut
	w.spent.Cost += u.Cost - estimated.Cost
	w.report.Usage.add(u)
}

// batch requests phrases for several sections in one request. It then sends a
// separate request for each section that got no usable phrases.
func (w *writing) batch(ctx context.Context, model *Remote, sections []*Section) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	left, err := w.once(ctx, model, sections, len(sections) == 1)
	for _, s := range left {
		if err != nil {
			break
		}
		if !w.reserve(estimate([]*Section{s}, w.Each)) {
			break
		}
		_, err = w.once(ctx, model, []*Section{s}, true)
	}
	return err
}

// once requests phrases for some sections and returns the sections that got none.
// If last is true, once reports these sections as failures.
func (w *writing) once(ctx context.Context, model *Remote, sections []*Section, last bool) (left []*Section, err error) {
	expected := estimate(sections, w.Each)
	answer, u, err := model.ask(ctx, ask(sections, w.Each))
	w.used(expected, u)
	if err != nil {
		return nil, err
	}
	all, wrong := read(answer, len(sections))
	for i, s := range sections {
		var given []string
		if wrong == nil {
			given = all[i]
		}
		reason := w.take(s, given)
		if reason == "" {
			continue
		}
		if wrong != nil {
			reason = wrong.Error()
		}
		if last {
			w.fail(s.IDs[0], reason)
		}
		left = append(left, s)
	}
	if err := w.file.Save(false); err != nil {
		return nil, err
	}
	w.tell()
	return left, nil
}

// take sets a section's phrases to the usable ones among the given phrases. If
// none is usable, reason says why; otherwise it is "".
func (w *writing) take(s *Section, given []string) (reason string) {
	fit, why := checked(given, s, w.Each)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Refused += len(why)
	if len(fit) == 0 {
		if len(why) == 0 {
			return "the answer contains no phrases for it"
		}
		return "no phrase is usable: " + why[0]
	}
	for _, id := range s.IDs {
		if l, ok := w.file.get(id); !ok || len(l.Phrases) == 0 || l.Digest != "" { // a person's line stays
			w.file.set(line{id, fit, s.Digest})
		}
	}
	w.report.Written++
	w.report.Phrases += len(fit)
	return ""
}

func (w *writing) fail(id, reason string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.report.Failed = append(w.report.Failed, Failure{id, reason})
}

func (w *writing) tell() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.Progress != nil && time.Since(w.told) >= time.Second {
		w.told = time.Now()
		w.Progress(w.report)
	}
}

// Estimate returns the approximate usage for writing the plan's phrases with
// model. A nil model stands for agents, whose actual usage is higher by an
// unknown amount.
func Estimate(plan Plan, model *Remote, each int) (u Usage) {
	batch := 1
	if model != nil {
		batch = model.batch
	}
	if each == 0 {
		each = DefaultEach
	}
	for from := 0; from < len(plan.Todo); from += batch {
		var sections []*Section
		for i := range plan.Todo[from:min(from+batch, len(plan.Todo))] {
			sections = append(sections, &plan.Todo[from+i])
		}
		u.add(estimate(sections, each))
	}
	return u
}

// Prune removes the lines of file whose chunks are not in the index.
func Prune(file *File, plan Plan) error {
	for _, id := range plan.Stale {
		file.drop(id)
	}
	return file.Save(true)
}
