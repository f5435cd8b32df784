package usage

import (
	_ "embed"
	"fmt"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Price is what a million tokens cost, in US dollars.
type Price struct {
	In, Out float64
	// CacheRead and CacheWrite replace In for tokens that were read from the vendor's
	// cache or written to it.
	CacheRead, CacheWrite float64
}

// Shape is how a price is written.
const Shape = "IN/OUT[/CACHE-READ[/CACHE-WRITE]]"

// ParsePrice parses a price in [Shape], for example 3/15/0.3/3.75. Without the price of
// the cache, its tokens cost as much as others. If text is invalid, ParsePrice returns a
// fault with code "misuse".
func ParsePrice(text string) (p Price, err error) {
	parts := strings.Split(text, "/")
	bad := fault.Misuse(fmt.Sprintf("%q is not a price", text), "write what a million tokens cost to read and to write, for example 0.4/1.6, or with the cache 3/15/0.3/3.75")
	if len(parts) < 2 || len(parts) > 4 {
		return p, bad
	}
	fields := []*float64{&p.In, &p.Out, &p.CacheRead, &p.CacheWrite}
	for i, part := range parts {
		n, err := strconv.ParseFloat(strings.TrimSpace(part), 64)
		if err != nil || !(n >= 0) || math.IsInf(n, 0) {
			return Price{}, bad
		}
		*fields[i] = n
	}
	for _, f := range fields[len(parts):] {
		*f = p.In
	}
	return p, nil
}

// Cost returns the price of t in millionths of a US dollar.
func (p Price) Cost(t Tokens) int64 {
	plain := t.In - t.CacheRead - t.CacheWrite
	sum := float64(plain)*p.In + float64(t.CacheRead)*p.CacheRead + float64(t.CacheWrite)*p.CacheWrite + float64(t.Out)*p.Out
	return int64(min(math.Round(sum), mostCost))
}

// Table holds prices by the name of the model or of the agent.
type Table map[string]Price

//go:embed prices.txt
var listed string

// NewTable returns the built-in prices with changes, in [Shape] by model or agent. A
// change replaces the built-in price. NewTable returns a fault with code "misuse" for an
// invalid price.
func NewTable(changes map[string]string) (Table, error) {
	t := maps.Clone(builtin)
	for name, text := range changes {
		p, err := ParsePrice(text)
		if err != nil {
			return nil, fault.Misuse(fmt.Sprintf("the price of %s: %v", name, err), fault.Of(err).Hint)
		}
		if t[plain(name)] = p; plain(name) == "" {
			return nil, fault.Misuse("a price has no model", "write it as MODEL: IN/OUT")
		}
	}
	return t, nil
}

// builtin is prices.txt.
var builtin = func() Table {
	t := Table{}
	for _, line := range strings.Split(listed, "\n") {
		if line, _, _ = strings.Cut(line, "#"); strings.TrimSpace(line) == "" {
			continue
		}
		name, text, _ := strings.Cut(strings.TrimSpace(line), " ")
		p, err := ParsePrice(strings.TrimSpace(text))
		if err != nil {
			panic(err) // a test reads the file
		}
		t[plain(name)] = p
	}
	return t
}()

// ofDate matches the date at the end of a model's name.
var ofDate = regexp.MustCompile(`[-@](\d{8}|\d{4}-\d{2}-\d{2})$`)

// plain returns the name under which a price is found: lower case, without the vendor
// before a slash and the size of the context in brackets.
func plain(name string) string {
	name = strings.ToLower(strings.TrimSpace(name))
	name = name[strings.LastIndex(name, "/")+1:]
	if i := strings.Index(name, "["); i > 0 {
		name = name[:i]
	}
	return name
}

// Of returns the price of a model. If the table has no entry for exactly this name, Of
// looks for it without its date. A model without a price falls back to the price of the
// agent, which may be empty.
func (t Table) Of(model, agent string) (Price, bool) {
	name := plain(model)
	for _, key := range []string{name, ofDate.ReplaceAllString(name, ""), strings.TrimSuffix(name, "-latest"), plain(agent)} {
		if p, ok := t[key]; ok && key != "" {
			return p, true
		}
	}
	return Price{}, false
}

// Source is where a cost comes from.
type Source string

// Values of Source.
const (
	Unpriced  Source = ""       // the cost is unknown
	FromAgent Source = "agent"  // the agent reported it
	FromTable Source = "prices" // computed with the table
)

// Cost returns what a run cost, in millionths of a US dollar. A cost that the agent
// reported takes precedence. If the price of one of its models is unknown, so is the
// cost, and Cost returns the sum of the others.
func (t Table) Cost(r Report, agent string) (micros int64, from Source) {
	if r.Cost > 0 {
		return r.Cost, FromAgent
	}
	from = FromTable
	for _, m := range r.Models {
		p, ok := t.Of(m.Name, agent)
		if !ok && m.Total() > 0 {
			from = Unpriced
		}
		micros += p.Cost(m.Tokens)
	}
	if len(r.Models) == 0 {
		from = Unpriced
	}
	return min(micros, mostCost), from
}
