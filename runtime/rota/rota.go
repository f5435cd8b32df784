// Package rota tells who is on call: from a weekly table, or from a calendar in the
// iCalendar format. It reads no clock and no network, and knows no people: it returns
// names as the table or the calendar has them.
package rota

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// MaxBytes is the maximum size of a rota's text. A calendar of several years has about
// 100 KB.
const MaxBytes = 1 << 20

// Rota is a parsed rota. It does not change.
type Rota struct {
	// Calendar reports whether the rota is a calendar. Otherwise it is a weekly table.
	Calendar bool
	// spans returns the shifts that overlap a time, in any order.
	spans func(from, to time.Time) []Span
}

// Span is a shift.
type Span struct {
	From, To time.Time
	Who      []Who
}

// Who is one person of a shift, by any of several names: a calendar may have an address, a
// name and a title.
type Who []string

// parsed keeps rotas that were parsed, because a question reads its rota at each step.
var parsed struct {
	sync.Mutex
	rotas map[string]*Rota
}

// Parse reads a weekly table or, if the text begins with BEGIN:VCALENDAR, a calendar. The
// error names the line.
func Parse(text string) (*Rota, error) {
	parsed.Lock()
	defer parsed.Unlock()
	if r := parsed.rotas[text]; r != nil {
		return r, nil
	}
	if len(text) > MaxBytes {
		return nil, fmt.Errorf("the rota has %d bytes; the maximum is %d", len(text), MaxBytes)
	}
	parse := parseWeekly
	if strings.HasPrefix(strings.TrimSpace(strings.TrimPrefix(text, "\ufeff")), "BEGIN:VCALENDAR") {
		parse = parseCalendar
	}
	r, err := parse(strings.TrimPrefix(text, "\ufeff"))
	if err != nil {
		return nil, err
	}
	if parsed.rotas == nil || len(parsed.rotas) >= 100 {
		parsed.rotas = map[string]*Rota{}
	}
	parsed.rotas[text] = r
	return r, nil
}

// Ahead is how far a rota looks for the next shift.
const Ahead = 35 * 24 * time.Hour

// Shifts returns who is on call from a time on, without gaps in time: each span begins when
// the one before ends, and has no one if nobody is on call. The first contains from, and may
// have begun earlier. There are at most n, and the last one ends no later than [Ahead] from
// now.
func (r *Rota) Shifts(from time.Time, n int) (all []Span) {
	end := from.Add(Ahead)
	spans := r.spans(from, end)
	edges := []time.Time{end}
	begun := time.Time{}
	for _, s := range spans {
		for _, at := range []time.Time{s.From, s.To} {
			if at.After(from) && at.Before(end) {
				edges = append(edges, at)
			} else if !at.After(from) && at.After(begun) {
				begun = at
			}
		}
	}
	if begun.IsZero() {
		begun = from
	}
	slices.SortFunc(edges, time.Time.Compare)
	for _, to := range slices.CompactFunc(edges, time.Time.Equal) {
		one := Span{From: begun, To: to}
		at := begun
		if at.Before(from) {
			at = from
		}
		for _, s := range spans {
			if !s.From.After(at) && s.To.After(at) {
				for _, w := range s.Who {
					if !slices.ContainsFunc(one.Who, func(other Who) bool { return slices.Equal(other, w) }) {
						one.Who = append(one.Who, w)
					}
				}
			}
		}
		slices.SortFunc(one.Who, func(a, b Who) int { return slices.Compare(a, b) })
		if last := len(all) - 1; last >= 0 && slices.EqualFunc(all[last].Who, one.Who, func(a, b Who) bool { return slices.Equal(a, b) }) {
			all[last].To = one.To
		} else if len(all) == n {
			break
		} else {
			all = append(all, one)
		}
		begun = to
	}
	return all
}

// Match returns which of the names a person of a shift has: the same in any case, the part
// of an address before the @, or a name that stands in a title as a word. It returns "" if
// there is none.
func (w Who) Match(names []string) string {
	tests := []func(label, name string) bool{
		strings.EqualFold,
		func(label, name string) bool {
			local, _, found := strings.Cut(label, "@")
			return found && strings.EqualFold(local, name)
		},
		func(label, name string) bool {
			return slices.ContainsFunc(strings.FieldsFunc(label, func(c rune) bool {
				return !strings.ContainsRune("._@-", c) && !(c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z')
			}), func(word string) bool { return strings.EqualFold(word, name) })
		},
	}
	for _, same := range tests {
		for _, label := range w {
			for _, name := range names {
				if same(label, name) {
					return name
				}
			}
		}
	}
	return ""
}

// String returns the name by which a person is shown who was not matched.
func (w Who) String() string {
	if len(w) == 0 {
		return ""
	}
	return w[0]
}
