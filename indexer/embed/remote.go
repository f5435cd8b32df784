package embed

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Remote is an embedder in another process, either on this machine or over a
// network.
type Remote struct {
	name    string
	habit   habit
	key     string // environment variable of the key, or empty if no key is needed
	request request
	// most is the maximum number of texts in one request, and mostBytes is the
	// maximum number of bytes.
	most, mostBytes int
	slots           chan struct{} // one slot per running request
	cache           *cache        // nil if vectors are not cached
	asked           int           // requested dimensions, or 0 for the model's default
	pause           time.Duration // before the second attempt

	mu         sync.Mutex
	dimensions int
	usage      Usage
	quiet      time.Time // the provider wants no requests before this time
}

// request makes one attempt to get a vector for each of texts. If the provider fails,
// the error is a *failure. Cancelling ctx stops the request.
type request func(ctx context.Context, texts []string) (reply, error)

// reply is a provider's response.
type reply struct {
	vectors [][]float32
	tokens  int // 0 if not reported
}

// limits holds the maximum number of texts per request, of bytes per request, and of
// concurrent requests.
type limits struct{ texts, bytes, requests int }

// firstPause is the pause after the first failure. Each further failure doubles the
// pause.
const firstPause = 500 * time.Millisecond

// newRemote returns the embedder for the specification spec.
func newRemote(spec, model, key string, l limits, o Options, ask request) *Remote {
	m := &Remote{name: spec, habit: habitOf(model), key: key, request: ask, most: l.texts, mostBytes: l.bytes,
		slots: make(chan struct{}, l.requests), pause: firstPause}
	if o.Cache != "" {
		m.cache = newCache(o.Cache, spec)
	}
	return m
}

// Name returns the specification given to Open.
func (m *Remote) Name() string { return m.name }

// Dimensions returns the length of every vector, or 0 before the first vector arrives.
func (m *Remote) Dimensions() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.dimensions
}

// Usage returns the embedder's usage so far.
func (m *Remote) Usage() Usage {
	m.mu.Lock()
	defer m.mu.Unlock()
	u := m.usage
	model, _, _ := strings.Cut(m.name, "@")
	if price, ok := prices[model]; ok {
		cost := float64(u.Tokens) / 1e6 * price
		u.CostUSD = &cost
	}
	if m.cache != nil {
		u.CacheProblem = m.cache.problem()
	}
	return u
}

// want is text whose vector is needed.
type want struct {
	key    key
	text   string
	vector []float32 // nil until it is known
}

// Documents returns a vector for each of docs, from the cache or with as many requests
// as needed. Each response is stored in the cache before the next request is made, so
// that an interrupted build does not lose vectors that have been paid for.
func (m *Remote) Documents(ctx context.Context, docs []Document) ([][]float32, error) {
	wants := make([]*want, len(docs)) // nil for empty text
	var distinct []*want
	byKey := map[key]*want{}
	for i, d := range docs {
		text := m.habit.text(d)
		if text == "" {
			continue
		}
		k := keyOf(m.name, m.asked, text)
		if byKey[k] == nil {
			byKey[k] = &want{key: k, text: text}
			distinct = append(distinct, byKey[k])
		}
		wants[i] = byKey[k]
	}
	missing, err := m.remembered(distinct)
	if err != nil {
		return nil, err
	}
	if err := m.fetch(ctx, missing); err != nil {
		return nil, err
	}
	return m.collect(ctx, wants)
}

// remembered sets the vectors that are in the cache, and returns the wants that
// are not.
func (m *Remote) remembered(wants []*want) (missing []*want, err error) {
	if m.cache == nil {
		return wants, nil
	}
	m.cache.read(wants)
	for _, w := range wants {
		if w.vector == nil {
			missing = append(missing, w)
			continue
		}
		if err := m.check(w.vector, true); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.usage.Cached += len(wants) - len(missing)
	return missing, nil
}

// collect returns the vectors of wants in order. For empty text, the vector is
// all zeros.
func (m *Remote) collect(ctx context.Context, wants []*want) ([][]float32, error) {
	vectors := make([][]float32, len(wants))
	for i, w := range wants {
		if w != nil {
			vectors[i] = w.vector
			continue
		}
		if m.Dimensions() == 0 { // embed some text to learn the dimensions
			if err := m.fetch(ctx, []*want{{key: keyOf(m.name, m.asked, "text"), text: "text"}}); err != nil {
				return nil, err
			}
		}
		vectors[i] = make([]float32, m.Dimensions())
	}
	return vectors, nil
}

// fetch requests vectors, with several concurrent requests. After a failure, it
// starts no more requests, but waits for the running ones, because they will be paid
// for.
func (m *Remote) fetch(ctx context.Context, wants []*want) error {
	more, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var wait sync.WaitGroup
	for len(wants) > 0 {
		batch := m.batch(wants)
		wants = wants[len(batch):]
		select {
		case m.slots <- struct{}{}:
		case <-more.Done():
			wait.Wait()
			return context.Cause(more)
		}
		wait.Go(func() {
			defer func() { <-m.slots }()
			if err := m.ask(ctx, more, batch); err != nil {
				stop(err) // only the first error counts
			}
		})
	}
	wait.Wait()
	return context.Cause(more)
}

// batch returns the first of wants, as many as fit into one request.
func (m *Remote) batch(wants []*want) []*want {
	n, bytes := 0, 0
	for n < min(len(wants), m.most) {
		if bytes += len(wants[n].text); n > 0 && bytes > m.mostBytes {
			break
		}
		n++
	}
	return wants[:n]
}

// Query returns the vector of a question. It makes only one attempt, because
// results without semantic hits are better than waiting for a retry.
func (m *Remote) Query(ctx context.Context, text string) ([]float32, error) {
	r, err := m.send(ctx, []string{m.habit.question(text)})
	if err != nil {
		return nil, m.fault(err, 1)
	}
	if err := m.accept(r, 1, false); err != nil {
		return nil, err
	}
	return r.vectors[0], nil
}

// accept returns an error if a reply is unusable for n texts. Otherwise it scales the
// vectors to length 1. The parameter learn is passed to check.
func (m *Remote) accept(r reply, n int, learn bool) error {
	if len(r.vectors) != n {
		return m.unusable(fmt.Sprintf("got %d vectors for %d texts", len(r.vectors), n), "")
	}
	for _, v := range r.vectors {
		if err := m.check(v, learn); err != nil {
			return err
		}
		normalise(v)
	}
	return nil
}

// longestVector is the maximum vector length that an index supports.
const longestVector = 8192

// check returns an error if a vector contains NaN or infinity, or if its dimensions
// differ from those of previous vectors. If learn is true and there was no previous
// vector, check stores the dimensions. learn is false for a question's vector,
// because a single response may be wrong, and the caller knows the index's
// dimensions.
func (m *Remote) check(v []float32, learn bool) error {
	if len(v) == 0 || len(v) > longestVector {
		return m.unusable(fmt.Sprintf("a vector of %d numbers; want 1 to %d", len(v), longestVector), "")
	}
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if math.IsNaN(square) || math.IsInf(square, 0) {
		return m.unusable("a vector that contains NaN or infinity", "")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	was := cmp.Or(m.dimensions, m.asked)
	if was != 0 && was != len(v) {
		hint := ""
		if m.cache != nil && m.dimensions != 0 {
			hint = "if the model was replaced under the same name, remove " + m.cache.dir + " and build again"
		}
		return m.unusable(fmt.Sprintf("a vector of %d numbers; want %d", len(v), was), hint)
	}
	if learn {
		m.dimensions = len(v)
	}
	return nil
}

func (m *Remote) unusable(what, hint string) *fault.Fault {
	return fault.New("bad_vectors", m.name+" returned "+what, cmp.Or(hint, "check that it is an embedding model, or use another embedder"))
}
