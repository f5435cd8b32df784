package search

import (
	"cmp"
	"container/list"
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
)

// DefaultEmbedTimeout is the default time to wait for a question's vector. A
// healthy remote service answers in 100 to 400 ms.
const DefaultEmbedTimeout = 800 * time.Millisecond

const (
	// After triesBeforeRest consecutive failures, an embedder is not asked for the
	// duration rest, so a service that is down delays only a few questions.
	triesBeforeRest = 3
	rest            = 30 * time.Second
	// recentQuestions is the number of questions whose vectors are remembered,
	// because an agent often repeats a question with a facet or for the next
	// page. 128 vectors take at most 4 MiB: 32 KiB each for the longest supported
	// vectors.
	recentQuestions = 128
)

// meaning gets the vectors of questions. It may be used concurrently.
type meaning struct {
	embedder   embed.Embedder
	dimensions int // of the index's vectors
	timeout    time.Duration
	log        *slog.Logger

	mu       sync.Mutex
	recent   map[string]*list.Element // by question; elements of order
	order    list.List                // holds values of type remembered, most recently used first
	failures int                      // number of consecutive failures
	wakes    time.Time                // the embedder is not asked before this time
	failing  bool                     // the last attempt failed, and this was logged
}

type remembered struct {
	text   string
	vector []float32
}

func newMeaning(e embed.Embedder, dimensions int, o Options) *meaning {
	log := o.Log
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &meaning{embedder: e, dimensions: dimensions, timeout: cmp.Or(o.EmbedTimeout, DefaultEmbedTimeout), log: log,
		recent: map[string]*list.Element{}}
}

// vector returns the vector of a question, which the caller must not change. If
// there is no vector, the result why explains the cause, in a sentence without a
// full stop. It is empty if the index has no vectors or if ctx ended.
func (ed *snapshot) vector(ctx context.Context, text string) (v []float32, why string) {
	switch e := ed.embedder.(type) {
	case nil:
		if ed.mute != nil {
			return nil, ed.mute.Error()
		}
		return nil, ""
	case *embed.Static:
		return e.Embed(text), "" // takes microseconds, and cannot fail
	}
	return ed.meaning.vector(ctx, text)
}

func (m *meaning) vector(ctx context.Context, text string) (v []float32, why string) {
	if v, why = m.before(text); v != nil || why != "" {
		return v, why
	}
	asking, cancel := context.WithTimeout(ctx, m.timeout)
	defer cancel()
	v, err := m.embedder.Query(asking, text)
	switch {
	case err == nil:
		err = m.check(v)
	case ctx.Err() != nil:
		return nil, "" // the caller is gone, so this is not a failure
	case asking.Err() != nil:
		err = fmt.Errorf("%s returned no vector within %v", m.embedder.Name(), m.timeout)
	}
	if err != nil {
		m.failed(err)
		return nil, err.Error()
	}
	m.worked(text, v)
	return v, ""
}

// before returns a result that does not require the embedder: a remembered vector,
// or the reason for not asking the embedder now.
func (m *meaning) before(text string) (v []float32, why string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if at, ok := m.recent[text]; ok {
		m.order.MoveToFront(at)
		return at.Value.(remembered).vector, ""
	}
	if m.failures < triesBeforeRest {
		return nil, ""
	}
	now := time.Now()
	if now.Before(m.wakes) {
		return nil, fmt.Sprintf("%s failed %d times in a row; next attempt in %v", m.embedder.Name(), m.failures, m.wakes.Sub(now).Round(time.Second))
	}
	m.wakes = now.Add(rest) // this question tries; the others do not wait for it
	return nil, ""
}

// check rejects a vector that cannot be compared with the index's vectors.
func (m *meaning) check(v []float32) error {
	if len(v) != m.dimensions {
		return fmt.Errorf("%s returned a vector with %d dimensions, but the index has %d", m.embedder.Name(), len(v), m.dimensions)
	}
	for _, x := range v {
		if f := float64(x); math.IsNaN(f) || math.IsInf(f, 0) {
			return fmt.Errorf("%s returned a vector that contains %v", m.embedder.Name(), x)
		}
	}
	return nil
}

// failed counts a failure, and logs the first one since the embedder last
// succeeded.
func (m *meaning) failed(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures++
	if m.failures >= triesBeforeRest {
		m.wakes = time.Now().Add(rest)
	}
	if !m.failing {
		m.failing = true
		m.log.Warn("keyword search only", "embedder", m.embedder.Name(), "error", err)
	}
}

func (m *meaning) worked(text string, v []float32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failures = 0
	if m.failing {
		m.failing = false
		m.log.Info("search by meaning works again", "embedder", m.embedder.Name())
	}
	if _, ok := m.recent[text]; ok {
		return
	}
	m.recent[text] = m.order.PushFront(remembered{text, v})
	if m.order.Len() > recentQuestions {
		delete(m.recent, m.order.Remove(m.order.Back()).(remembered).text)
	}
}
