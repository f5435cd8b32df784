package eval

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// shelf answers queries from a list; its cursors are offsets.
type shelf struct {
	hits map[string][]Hit
	fail map[string]error
	// slow is how long a search takes.
	slow  time.Duration
	mu    sync.Mutex
	asked []string // query@cursor, limit
}

func (s *shelf) Search(ctx context.Context, query string, _ map[string]string, limit int, cursor string) ([]Hit, string, error) {
	s.mu.Lock()
	s.asked = append(s.asked, fmt.Sprintf("%s@%s,%d", query, cursor, limit))
	s.mu.Unlock()
	select {
	case <-ctx.Done():
		return nil, "", ctx.Err()
	case <-time.After(s.slow):
	}
	from, _ := strconv.Atoi(cursor)
	all := s.hits[query]
	to := min(from+limit, len(all))
	next := ""
	if to < len(all) {
		next = strconv.Itoa(to)
	}
	return all[from:to], next, s.fail[query]
}

func (s *shelf) Text(_ context.Context, id string) (string, error) {
	if strings.HasSuffix(id, "#torn") {
		return "", errors.New("page torn out")
	}
	return "", nil
}

func others(n int) []Hit {
	hits := make([]Hit, n)
	for i := range hits {
		hits[i] = sectionHit("other.md", fmt.Sprint("Other ", i))
	}
	return hits
}

func evaluated(t *testing.T, engine Engine, cases []Case, opts Options) Report {
	t.Helper()
	r, err := Run(t.Context(), engine, cases, opts)
	if err != nil {
		t.Fatalf("Run = %v", err)
	}
	return r
}

func TestAFailedQueryScoresZeroAndIsListed(t *testing.T) {
	good := sectionHit("a.md", "A")
	engine := &shelf{
		hits: map[string][]Hit{"fine": {good}, "broken": {good}, "empty": nil},
		fail: map[string]error{"broken": errors.New("index is on fire")},
	}
	var cases []Case
	for _, q := range []string{"fine", "broken", "empty", "unknown"} {
		cases = append(cases, Case{Name: q, Category: "c", Query: q, Expected: []Entry{entry("a.md", "A", 3)}, Good: 2})
	}
	r := evaluated(t, engine, cases, Options{})
	if s := r.Summary; s.Cases != 4 || s.Failed != 1 || s.Empty != 2 || s.NDCG != 0.25 || s.HitRate != 0.25 {
		t.Errorf("summary = %+v; want 4 cases, 1 failed, 2 empty, NDCG and hit rate 0.25", s)
	}
	if c := r.Cases[1]; c.Error != "index is on fire" || c.NDCG != 0 {
		t.Errorf("the failed case = %+v; want its error and NDCG 0", c)
	}
	if out := Terminal(Style{}, r); !strings.Contains(out, "failed queries (counted as 0): 1\n  broken: index is on fire\n") {
		t.Errorf("terminal does not list the failed query:\n%s", out)
	}
}

func TestAHitThatCannotBeOpenedIsJudgedWithoutText(t *testing.T) {
	torn := Hit{ID: "a.md#torn", Path: "a.md", Heading: "Torn"}
	engine := &shelf{hits: map[string][]Hit{"q": {torn, sectionHit("a.md", "A")}}}
	r := evaluated(t, engine, []Case{{Name: "n", Query: "q", Expected: []Entry{entry("a.md", "A", 3)}}}, Options{})
	if c := r.Cases[0]; c.FirstGood != 2 || c.TextError != "a.md#torn: page torn out" || r.Summary.Failed != 0 {
		t.Errorf("case = %+v; want rank 2, the text error, and no failure", c)
	}
}

func TestRoundsCountPagesUntilTheChunk(t *testing.T) {
	want := Hit{ID: "a.md#x", Path: "a.md"}
	engine := &shelf{hits: map[string][]Hit{
		"first page":  append(append(others(1), want), others(9)...),
		"second page": append(append(others(3), want), others(9)...),
		"too deep":    append(others(6), want),
		"not there":   others(3),
	}}
	var cases []Case
	for _, q := range []string{"first page", "second page", "too deep", "not there"} {
		cases = append(cases, Case{Name: q, Query: q, Limit: 2, MaxRounds: 3, Expected: []Entry{{ChunkID: "a.md#x", Grade: 1}}})
	}
	r := evaluated(t, engine, cases, Options{})
	for i, want := range []struct{ rounds, rank, hits int }{{1, 2, 2}, {2, 4, 4}, {4, 0, 6}, {4, 0, 3}} {
		if c := r.Cases[i]; c.Rounds != want.rounds || c.FirstGood != want.rank || c.Hits != want.hits {
			t.Errorf("%s: %d rounds, rank %d, %d hits; want %+v", c.Name, c.Rounds, c.FirstGood, c.Hits, want)
		}
	}
	if got := r.Summary.AvgRounds; got != 11/4. {
		t.Errorf("average rounds = %v, want 2.75", got)
	}
}

func TestACaseWithoutRoundsReadsOnePage(t *testing.T) {
	engine := &shelf{hits: map[string][]Hit{"q": others(30)}}
	cases := []Case{{Name: "n", Query: "q", Expected: []Entry{entry("a.md", "A", 3)}}}
	if r := evaluated(t, engine, cases, Options{}); r.Cases[0].Hits != 10 || r.Cases[0].Rounds != 0 || r.Summary.AvgRounds != 0 {
		t.Errorf("case = %+v; want 10 hits and no rounds", r.Cases[0])
	}
	evaluated(t, engine, cases, Options{K: 20})
	if want := []string{"q@,10", "q@,20"}; !reflect.DeepEqual(engine.asked, want) {
		t.Errorf("asked %q, want %q", engine.asked, want)
	}
}

// An engine that ignores limit gains nothing by it.
type generous struct{ *shelf }

func (g generous) Search(ctx context.Context, query string, f map[string]string, _ int, _ string) ([]Hit, string, error) {
	return g.shelf.Search(ctx, query, f, 1000, "")
}

func TestHitsOverTheLimitAreNotCounted(t *testing.T) {
	engine := generous{&shelf{hits: map[string][]Hit{"q": append(others(20), sectionHit("a.md", "A"))}}}
	r := evaluated(t, engine, []Case{{Name: "n", Query: "q", Expected: []Entry{entry("a.md", "A", 3)}}}, Options{})
	if c := r.Cases[0]; c.Hits != 10 || c.FirstGood != 0 {
		t.Errorf("case = %+v; want 10 hits and no rank", c)
	}
}

func TestLeaksFollowTheFilterRule(t *testing.T) {
	language := map[string]string{"language": "go"}
	for name, test := range map[string]struct {
		metadata, filters map[string]string
		want              bool
	}{
		"same value":                   {map[string]string{"language": "go"}, language, false},
		"other value":                  {map[string]string{"language": "java"}, language, true},
		"no value":                     {map[string]string{}, language, true},
		"unknown":                      {nil, language, false},
		"no filter":                    {map[string]string{"language": "java"}, nil, false},
		"global guide":                 {map[string]string{"scope": "global-guide", "language": "java"}, language, false},
		"scope without language":       {map[string]string{"scope": "api"}, language, false},
		"scope with another language":  {map[string]string{"scope": "api", "language": "java"}, language, true},
		"global guide, scope filtered": {map[string]string{"scope": "global-guide"}, map[string]string{"language": "go", "scope": "api"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			if got := Leaks(Hit{Metadata: test.metadata}, test.filters); got != test.want {
				t.Errorf("Leaks(%v, %v) = %v, want %v", test.metadata, test.filters, got, test.want)
			}
		})
	}
	leak := Hit{ID: "b.md#b", Path: "b.md", Metadata: map[string]string{"language": "java"}}
	r := evaluated(t, &shelf{hits: map[string][]Hit{"q": {leak, leak}}},
		[]Case{{Name: "n", Query: "q", Filters: language, Expected: []Entry{entry("a.md", "A", 3)}}}, Options{})
	if r.Summary.FacetLeaks != 2 {
		t.Errorf("facet leaks = %d, want 2", r.Summary.FacetLeaks)
	}
}

func TestFilesThatTheCorpusLacksAreReported(t *testing.T) {
	cases := []Case{{Name: "n", Query: "q", Expected: []Entry{
		{Filepath: "here.md"}, {Filepath: "gone.md", AltFilepaths: []string{"here.md"}}, {Filepath: "gone.md"}, {ChunkID: "lost.md#a"},
	}}}
	r := evaluated(t, &shelf{}, cases, Options{Has: func(path string) bool { return path == "here.md" }})
	want := []MissingFile{{"n", "gone.md"}, {"n", "lost.md"}}
	if !reflect.DeepEqual(r.MissingFiles, want) {
		t.Errorf("missing files = %v, want %v", r.MissingFiles, want)
	}
}

func TestTheReportDoesNotDependOnWorkers(t *testing.T) {
	engine := &shelf{hits: map[string][]Hit{}}
	var cases []Case
	for i := range 50 {
		q := fmt.Sprint("query ", i)
		engine.hits[q] = append(others(i%7), sectionHit("a.md", "A"))
		cases = append(cases, Case{Name: q, Category: fmt.Sprint("c", i%3), Query: q, Expected: []Entry{entry("a.md", "A", 3)}})
	}
	done := 0
	progress := func(n, total int) {
		if done++; n != done || total != 50 {
			t.Errorf("progress(%d, %d) at call %d", n, total, done)
		}
	}
	var outputs [][]byte
	for _, opts := range []Options{{}, {Workers: 8, Warmup: 60, Progress: progress}} {
		r := evaluated(t, engine, cases, opts)
		r.Timing = nil
		out, err := JSON(r)
		if err != nil {
			t.Fatal(err)
		}
		outputs = append(outputs, out)
	}
	if !bytes.Equal(outputs[0], outputs[1]) {
		t.Errorf("reports of 1 and of 8 workers differ:\n%s\n%s", outputs[0], outputs[1])
	}
	if asked := len(engine.asked); asked != 160 || done != 50 {
		t.Errorf("%d queries asked and %d cases reported, want 60 of warm-up, 100, and 50", asked, done)
	}
}

func TestASlowQueryIsAFailureAndTheRestGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		engine := &shelf{slow: time.Minute}
		cases := []Case{{Name: "n", Query: "q", Expected: []Entry{entry("a.md", "A", 3)}}}
		start := time.Now()
		r := evaluated(t, engine, append(cases, cases...), Options{Timeout: time.Second})
		if waited := time.Since(start); waited != 2*time.Second || r.Summary.Failed != 2 || r.Cases[0].Error != "no answer in 1s" {
			t.Errorf("Run took %v with %+v; want 2 s and two failures", waited, r.Cases)
		}
	})
}

func TestLatencyIsThatOfSearchAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := evaluated(t, &shelf{slow: 3 * time.Millisecond}, []Case{{Name: "n", Category: "c", Query: "q", Expected: []Entry{{ChunkID: "a"}}}}, Options{})
		want := Latency{P50: 3, P95: 3}
		if got := r.Timing; got.Latency != want || !reflect.DeepEqual(got.Categories, []CategoryLatency{{"c", want}}) {
			t.Errorf("timing = %+v, want %+v in total and by category", got, want)
		}
	})
}

func TestRunEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	cases := []Case{{Name: "n", Query: "q", Expected: []Entry{{ChunkID: "a"}}}}
	if _, err := Run(ctx, &shelf{slow: time.Hour}, cases, Options{Warmup: 3}); !errors.Is(err, context.Canceled) {
		t.Errorf("Run = %v, want context.Canceled", err)
	}
}

func TestRunNeedsCases(t *testing.T) {
	_, err := Run(t.Context(), &shelf{}, nil, Options{})
	if f := fault.Of(err); f == nil || f.Code != "no_cases" {
		t.Errorf("Run without cases = %v, want fault no_cases", err)
	}
}
