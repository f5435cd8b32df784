// Package usage counts the tokens that language models read and write, and computes
// what they cost.
//
// Costs are integers in millionths of a US dollar, so that sums are exact. Prices are
// in US dollars for a million tokens, as vendors list them.
package usage

import "slices"

// Tokens counts tokens. In includes CacheRead and CacheWrite.
type Tokens struct {
	In, Out int64
	// CacheRead is the part of In that the model's vendor had in its cache, and
	// CacheWrite the part that it put there.
	CacheRead, CacheWrite int64
}

// Total returns the number of tokens read and written.
func (t Tokens) Total() int64 { return t.In + t.Out }

// Plus returns the sum of t and u.
func (t Tokens) Plus(u Tokens) Tokens {
	return Tokens{t.In + u.In, t.Out + u.Out, t.CacheRead + u.CacheRead, t.CacheWrite + u.CacheWrite}
}

// Since returns what t counts in addition to before, a former value of the same
// counter. If the counter has been reset since, Since returns t.
func (t Tokens) Since(before Tokens) Tokens {
	if t.In < before.In || t.Out < before.Out {
		return t
	}
	return Tokens{t.In - before.In, t.Out - before.Out, max(0, t.CacheRead-before.CacheRead), max(0, t.CacheWrite-before.CacheWrite)}
}

// bounded returns t with values that a counter can have: an agent may report any
// number.
func (t Tokens) bounded() Tokens {
	const most = 1 << 40 // a trillion tokens, which no run reads
	in := func(n int64) int64 { return min(max(n, 0), most) }
	t.In, t.Out = in(t.In), in(t.Out)
	t.CacheRead = min(in(t.CacheRead), t.In)
	t.CacheWrite = min(in(t.CacheWrite), t.In-t.CacheRead)
	return t
}

// Model is what one model consumed.
type Model struct {
	Name string // empty if the agent does not name it
	Tokens
}

// Coverage is how much of a run an agent reports.
type Coverage string

// Values of Coverage.
const (
	Nothing Coverage = ""     // no tokens at all
	Part    Coverage = "part" // the tokens of some model calls, or of a run that has not ended
	Full    Coverage = "full"
)

// Report is what an agent reported about one run, so far. The zero value is a run
// without a report.
type Report struct {
	Models []Model `json:",omitempty"`
	// Cost is what the agent says that the run cost, in millionths of a US dollar. 0
	// means that it does not say.
	Cost     int64    `json:",omitempty"`
	Coverage Coverage `json:",omitempty"`
}

// Tokens returns the sum over all models.
func (r Report) Tokens() (sum Tokens) {
	for _, m := range r.Models {
		sum = sum.Plus(m.Tokens)
	}
	return sum
}

// MainModel returns the name of the model that consumed the most tokens, or "" if it is
// unknown.
func (r Report) MainModel() string {
	if len(r.Models) == 0 {
		return ""
	}
	return slices.MaxFunc(r.Models, func(a, b Model) int { return int(a.Total() - b.Total()) }).Name
}

// Bounded returns r without impossible numbers.
func (r Report) Bounded() Report {
	r.Models = slices.Clone(r.Models)
	for i := range r.Models {
		r.Models[i].Tokens = r.Models[i].Tokens.bounded()
	}
	r.Cost = min(max(r.Cost, 0), mostCost)
	return r
}

// mostCost is the maximum cost of a run, in millionths of a US dollar: a billion
// dollars.
const mostCost = 1e15

// Micros converts US dollars to millionths. Negative amounts and numbers that are not
// finite become 0.
func Micros(dollars float64) int64 {
	if !(dollars > 0) {
		return 0
	}
	return int64(min(dollars*1e6, mostCost) + 0.5)
}
