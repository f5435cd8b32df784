package search

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
)

// far is an embedder behind a network, which answers as told.
type far struct {
	mu     sync.Mutex
	asked  int
	delay  time.Duration
	err    error
	vector []float32
}

func (f *far) Name() string    { return "far:model" }
func (f *far) Dimensions() int { return 0 }
func (f *far) Documents(context.Context, []embed.Document) ([][]float32, error) {
	return nil, errors.New("a search embeds no documents")
}

func (f *far) Query(ctx context.Context, text string) ([]float32, error) {
	f.mu.Lock()
	f.asked++
	delay, err, vector := f.delay, f.err, f.vector
	f.mu.Unlock()
	select {
	case <-time.After(delay):
		return vector, err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// asking is a far embedder, what asks it, and what that logs.
func asking() (*far, *meaning, *bytes.Buffer) {
	f, log := &far{vector: []float32{1, 2}}, &bytes.Buffer{}
	return f, newMeaning(f, 2, Options{Log: slog.New(slog.NewTextHandler(log, nil))}), log
}

func TestSlowEmbedderCostsItsDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m, _ := asking()
		f.delay = time.Minute
		start := time.Now()
		v, why := m.vector(t.Context(), "a question")
		if took := time.Since(start); v != nil || !strings.Contains(why, "far:model") || !strings.Contains(why, "800ms") || took != DefaultEmbedTimeout {
			t.Errorf("vector = %v, %q after %v; want none after %v, and who is to blame", v, why, took, DefaultEmbedTimeout)
		}
	})
}

func TestEmbedderRestsAfterThreeFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, m, log := asking()
		f.delay = time.Minute
		for i := range 10 {
			m.vector(t.Context(), strconv.Itoa(i))
		}
		if f.asked != triesBeforeRest {
			t.Errorf("asked %d times, want %d", f.asked, triesBeforeRest)
		}
		if _, why := m.vector(t.Context(), "x"); !strings.Contains(why, "next attempt in 30s") {
			t.Errorf("why = %q, want the next attempt", why)
		}
		time.Sleep(rest)
		m.vector(t.Context(), "still down")
		m.vector(t.Context(), "not asked")
		if f.asked != triesBeforeRest+1 {
			t.Errorf("after a rest asked %d times more, want once", f.asked-triesBeforeRest)
		}
		if n := strings.Count(log.String(), "\n"); n != 1 {
			t.Errorf("%d lines in the log, want one:\n%s", n, log)
		}
		f.delay = 0
		time.Sleep(rest)
		for range 2 {
			if v, why := m.vector(t.Context(), "well again"); v == nil || why != "" {
				t.Errorf("vector = %v, %q; want one", v, why)
			}
		}
		f.err = errors.New("oh")
		m.vector(t.Context(), "down again")
		if lines := strings.Split(strings.TrimSpace(log.String()), "\n"); len(lines) != 3 || !strings.Contains(lines[1], "again") || !strings.Contains(lines[2], "error=oh") {
			t.Errorf("log:\n%swant three lines: down, again, down", log)
		}
	})
}

func TestVectorThatDoesNotFitTheIndexIsNotUsed(t *testing.T) {
	for name, bad := range map[string][]float32{
		"none":     nil,
		"too long": {1, 2, 3},
		"not one":  {1, float32(math.NaN())},
		"no end":   {1, float32(math.Inf(-1))},
	} {
		t.Run(name, func(t *testing.T) {
			f, m, _ := asking()
			f.vector = bad
			if v, why := m.vector(t.Context(), "q"); v != nil || !strings.Contains(why, "far:model returned a vector") {
				t.Errorf("vector = %v, %q; want none and why", v, why)
			}
		})
	}
}

func TestRecentQuestionsAreNotAskedAgain(t *testing.T) {
	f, m, _ := asking()
	for range 3 {
		m.vector(t.Context(), "first")
	}
	if f.asked != 1 {
		t.Errorf("asked %d times for one question, want once", f.asked)
	}
	for i := range recentQuestions {
		m.vector(t.Context(), strconv.Itoa(i))
	}
	m.vector(t.Context(), "first")
	if f.asked != recentQuestions+2 || len(m.recent) != recentQuestions || m.order.Len() != recentQuestions {
		t.Errorf("asked %d times, %d and %d remembered; want %d and %d", f.asked, len(m.recent), m.order.Len(), recentQuestions+2, recentQuestions)
	}
}

func TestWhoeverStopsAskingBlamesNobody(t *testing.T) {
	f, m, log := asking()
	f.delay = time.Minute
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 5 {
		if v, why := m.vector(ctx, "q"); v != nil || why != "" {
			t.Errorf("vector = %v, %q; want neither", v, why)
		}
	}
	if m.failures != 0 || log.Len() != 0 {
		t.Errorf("%d failures, log %q; want none", m.failures, log)
	}
}

// Besides what it checks, the race detector looks on.
func TestEmbedderIsAskedConcurrently(t *testing.T) {
	f, m, _ := asking()
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for j := range 200 {
				if j == 100 {
					f.mu.Lock()
					f.err = errors.New("oh")
					f.mu.Unlock()
				}
				if v, why := m.vector(t.Context(), strconv.Itoa(i*j)); (v == nil) != (why != "") {
					t.Errorf("vector = %v, %q; want a vector or why there is none", v, why)
				}
			}
		})
	}
	wait.Wait()
	if m.failures < triesBeforeRest || m.order.Len() != len(m.recent) || len(m.recent) == 0 || len(m.recent) > recentQuestions {
		t.Errorf("%d failures, %d and %d remembered; want a rest and at most %d", m.failures, m.order.Len(), len(m.recent), recentQuestions)
	}
	if v, why := m.vector(t.Context(), "after the failures"); v != nil || !strings.Contains(why, "next attempt in") {
		t.Errorf("vector = %v, %q; want that the embedder rests", v, why)
	}
}

// A page that follows one found by words goes on in its order, also when the
// embedder is back: in another one hits would come twice, and others never.
func TestPagesKeepTheirOrderWhenTheEmbedderComesBack(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	embedIndex(t, dir, e, strings.TrimPrefix(e.Name(), "static:"), nil)
	for _, near := range []string{"client attempts a call again", "red and blue"} {
		engine, err := Open(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer engine.Close()
		vector, err := e.Query(t.Context(), near)
		if err != nil {
			t.Fatal(err)
		}
		f := &far{err: errors.New("it is down")}
		engine.current.embedder, engine.current.meaning = f, newMeaning(f, len(vector), Options{})
		q := Query{Text: "red client", Limit: 1}
		first, err := engine.Search(t.Context(), q)
		if err != nil || len(first.Hits) != 1 || first.Next == "" || first.Lexical == "" {
			t.Fatalf("Search without a vector = %+v, %v; want a hit by words and a next page", first, err)
		}
		f.err, f.vector, q.Cursor = nil, vector, &first.Next
		second, err := engine.Search(t.Context(), q)
		if err != nil || len(second.Hits) != 1 || second.Hits[0].ID == first.Hits[0].ID || second.Lexical == "" {
			t.Errorf("the page after %s with the vector of %q = %+v, %v; want the other hit, by words", first.Hits[0].ID, near, second, err)
		}
	}
}

func TestModelInTheProgramIsAskedDirectly(t *testing.T) {
	e, err := embed.Open(embed.Default)
	if err != nil {
		t.Fatal(err)
	}
	ed := &snapshot{embedder: e} // without a meaning, which would ask over a network
	if v, why := ed.vector(t.Context(), "retry"); len(v) != e.Dimensions() || why != "" {
		t.Errorf("vector = %d numbers, %q; want %d", len(v), why, e.Dimensions())
	}
	if v, why := (&snapshot{}).vector(t.Context(), "retry"); v != nil || why != "" {
		t.Errorf("vector = %v, %q for an index without vectors; want neither", v, why)
	}
	if v, why := (&snapshot{mute: errors.New("no key")}).vector(t.Context(), "retry"); v != nil || why != "no key" {
		t.Errorf("vector = %v, %q; want none and why", v, why)
	}
}
