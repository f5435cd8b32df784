package usage

import (
	"math"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func TestCosts(t *testing.T) {
	table, err := NewTable(map[string]string{"Mine": "1/2", "codex-stream": "1/10/0.1", "claude-haiku-4-5": "0/0"})
	if err != nil {
		t.Fatal(err)
	}
	tokens := Tokens{In: 1_000_000, Out: 100_000, CacheRead: 500_000, CacheWrite: 100_000}
	for _, c := range []struct {
		name, agent string
		report      Report
		want        int64
		from        Source
	}{
		{"what the agent reports wins", "claude", Report{Models: []Model{{"claude-opus-4-5", tokens}}, Cost: 7}, 7, FromAgent},
		{"by the list, with a date", "", Report{Models: []Model{{"anthropic/claude-sonnet-4-5-20250929", tokens}}}, 1_200_000 + 150_000 + 375_000 + 1_500_000, FromTable},
		{"with the size of the context", "", Report{Models: []Model{{"claude-sonnet-4-5[1m]", Tokens{In: 10}}}}, 30, FromTable},
		{"changed, without prices of the cache", "", Report{Models: []Model{{"mine", tokens}}}, 1_200_000, FromTable},
		{"changed to nothing", "", Report{Models: []Model{{"claude-haiku-4-5", tokens}}}, 0, FromTable},
		{"by the agent", "codex-stream", Report{Models: []Model{{"", Tokens{In: 10, Out: 1}}}}, 20, FromTable},
		{"one of two models is unknown", "x", Report{Models: []Model{{"gpt-5", Tokens{In: 8}}, {"nobody's", Tokens{In: 1}}}}, 10, Unpriced},
		{"nothing reported", "codex-stream", Report{}, 0, Unpriced},
		{"a variant is not its model", "", Report{Models: []Model{{"gpt-5-pro", tokens}}}, 0, Unpriced},
	} {
		if got, from := table.Cost(c.report, c.agent); got != c.want || from != c.from {
			t.Errorf("%s: cost %d from %q, want %d from %q", c.name, got, from, c.want, c.from)
		}
	}
}

func TestEveryListedPriceIsPlausible(t *testing.T) {
	if len(builtin) < 40 {
		t.Errorf("%d prices, want those of prices.txt", len(builtin))
	}
	for name, p := range builtin {
		if p.In <= 0 || p.Out < p.In || p.CacheRead > p.In || p.CacheWrite < p.CacheRead || plain(name) != name {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestPricesThatAreNone(t *testing.T) {
	for _, text := range []string{"", "1", "1/", "/2", "-1/2", "1/NaN", "1/Inf", "1/2/3/4/5", "one/two"} {
		if p, err := ParsePrice(text); fault.Of(err) == nil {
			t.Errorf("ParsePrice(%q) = %+v, %v", text, p, err)
		}
	}
	if _, err := NewTable(map[string]string{"mine": "cheap"}); err == nil || !strings.Contains(err.Error(), "mine") {
		t.Errorf("NewTable = %v, want the model's name", err)
	}
	if _, err := NewTable(map[string]string{" ": "1/2"}); err == nil {
		t.Error("a price without a model was accepted")
	}
}

func TestReportsOfStrangersAreBounded(t *testing.T) {
	r := Report{Models: []Model{{"m", Tokens{In: math.MaxInt64, Out: -5, CacheRead: math.MaxInt64, CacheWrite: 9}}}, Cost: -3}.Bounded()
	if got := r.Models[0].Tokens; got != (Tokens{In: 1 << 40, CacheRead: 1 << 40}) || r.Cost != 0 {
		t.Errorf("Bounded = %+v", r)
	}
	for dollars, want := range map[float64]int64{math.NaN(): 0, math.Inf(1): mostCost, -1: 0, 0.0022: 2200, 1e300: mostCost} {
		if got := Micros(dollars); got != want {
			t.Errorf("Micros(%v) = %d, want %d", dollars, got, want)
		}
	}
	if cost, _ := (Table{"m": {In: 1e300, CacheRead: 1e300}}).Cost(r, ""); cost != mostCost {
		t.Errorf("cost = %d, want it bounded", cost)
	}
}

func TestCountersThatGoOn(t *testing.T) {
	before := Tokens{In: 240, Out: 40, CacheRead: 10}
	if got := (Tokens{In: 360, Out: 60, CacheRead: 10}).Since(before); got != (Tokens{In: 120, Out: 20}) {
		t.Errorf("Since = %+v", got)
	}
	if got := (Tokens{In: 120, Out: 20}).Since(before); got != (Tokens{In: 120, Out: 20}) {
		t.Errorf("Since after a reset = %+v", got)
	}
}
