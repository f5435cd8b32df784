// Package routing decides who is asked and when: from a question, the steps of a policy,
// the people there are, who is on call, and the time. [Decide] is the only rule, and it is
// pure. It reads no clock and no store.
package routing

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/rota"
)

// Target is whom a question or a step is for. The zero value is everyone who knows of the
// question's project.
type Target struct {
	Person, Role, Rota string
	// Same means those who are asked already: the step reminds them.
	Same bool
}

var name = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`) })

// ParseTarget reads a person's name, role:NAME, rota:NAME, everyone, or remind.
func ParseTarget(text string) (t Target, err error) {
	switch kind, of, found := strings.Cut(text, ":"); {
	case text == "everyone":
		return t, nil
	case text == "remind":
		return Target{Same: true}, nil
	case found && kind == "role":
		t.Role = of
	case found && kind == "rota":
		t.Rota = of
	default:
		t.Person = text
	}
	if !name().MatchString(t.Person + t.Role + t.Rota) {
		return t, fmt.Errorf("%.80q is nobody to ask: write a person's name, role:NAME, rota:NAME, everyone or remind", text)
	}
	return t, nil
}

// String returns the text that ParseTarget reads.
func (t Target) String() string {
	switch {
	case t.Same:
		return "remind"
	case t.Role != "":
		return "role:" + t.Role
	case t.Rota != "":
		return "rota:" + t.Rota
	case t.Person != "":
		return t.Person
	}
	return "everyone"
}

// Step is what happens to a question that nobody has answered.
type Step struct {
	After time.Duration // since the question was asked
	To    Target
}

// Policy is a list of steps, in order. The zero value has none.
type Policy struct {
	Steps []Step
	// PassQuiet means that a person in quiet hours is passed over, and that the next step
	// is taken at once if all are. Otherwise their notification waits for the end of the
	// quiet hours.
	PassQuiet bool
}

// Limits of a policy.
const (
	maxSteps = 20
	maxAfter = 30 * 24 * time.Hour
)

// ParsePolicy reads steps such as "30m rota:ops, 2h role:lead". A last part "quiet next"
// or "quiet wait" says what happens in quiet hours. An empty text has no steps.
func ParsePolicy(text string) (p Policy, err error) {
	parts := strings.Split(text, ",")
	if strings.TrimSpace(text) == "" {
		return p, nil
	}
	for i, part := range parts {
		fields := strings.Fields(part)
		if len(fields) != 2 {
			return p, fmt.Errorf("%.80q does not have the form 30m rota:ops", strings.TrimSpace(part))
		}
		if fields[0] == "quiet" && i == len(parts)-1 {
			if fields[1] != "wait" && fields[1] != "next" {
				return p, fmt.Errorf("%.80q is not quiet wait or quiet next", part)
			}
			p.PassQuiet = fields[1] == "next"
			break
		}
		s := Step{}
		if s.After, err = after(fields[0]); err != nil {
			return p, err
		}
		if s.To, err = ParseTarget(fields[1]); err != nil {
			return p, err
		}
		if n := len(p.Steps); n > 0 && p.Steps[n-1].After >= s.After {
			return p, fmt.Errorf("the step %.80q does not come after the one before", strings.TrimSpace(part))
		}
		if p.Steps = append(p.Steps, s); len(p.Steps) > maxSteps {
			return p, fmt.Errorf("there are more than %d steps", maxSteps)
		}
	}
	return p, nil
}

func after(text string) (d time.Duration, err error) {
	days, ok := strings.CutSuffix(text, "d")
	if ok {
		d, err = time.ParseDuration(days + "h")
		d *= 24
	} else {
		d, err = time.ParseDuration(text)
	}
	if err != nil || d <= 0 || d > maxAfter {
		return 0, fmt.Errorf("%.40q is not a time of at most 30d, for example 30m, 2h or 1d", text)
	}
	return d.Round(time.Millisecond), nil
}

// String returns the text that ParsePolicy reads.
func (p Policy) String() string {
	var parts []string
	for _, s := range p.Steps {
		parts = append(parts, Brief(s.After)+" "+s.To.String())
	}
	if p.PassQuiet && len(parts) > 0 {
		parts = append(parts, "quiet next")
	}
	return strings.Join(parts, ", ")
}

// Brief returns a duration without units of zero, for example 2h or 1h30m.
func Brief(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

// Person is someone who can answer a question.
type Person struct {
	Name  string
	Roles []string
	Quiet Quiet
}

// World is what a decision knows besides the question. People are only those who know of
// the question's project and can be reached.
type World struct {
	People []Person
	Rotas  map[string]*rota.Rota
}

// Quiet are the times at which a person is not disturbed. The zero value has none.
type Quiet struct {
	Hours []rota.Hours
	Zone  *time.Location
	// Except is the urgency from which the person is disturbed all the same: 0 low, 1
	// normal, 2 high, 3 urgent.
	Except int
}

// Urgencies are the values of [Quiet.Except] and [Question.Urgency], by number.
var Urgencies = []string{"low", "normal", "high", "urgent"}

// ParseQuiet reads hours separated by semicolons, for example "22:00-07:00; sat-sun", a time
// zone, and the urgency that disturbs, by default urgent.
func ParseQuiet(hours, zone, except string) (q Quiet, err error) {
	if strings.TrimSpace(hours) == "" {
		return q, nil
	}
	q.Except = len(Urgencies) - 1
	if except != "" {
		if q.Except = slices.Index(Urgencies, except); q.Except < 0 {
			return q, fmt.Errorf("%.40q is not low, normal, high or urgent", except)
		}
	}
	if zone == "" {
		zone = "UTC"
	}
	if q.Zone, err = rota.Zone(zone); err != nil {
		return q, err
	}
	for _, part := range splitHours(hours) {
		h, err := rota.ParseHours(part)
		if err != nil {
			return q, err
		}
		q.Hours = append(q.Hours, h)
	}
	return q, nil
}

// splitHours splits hours at semicolons, and at commas except those between days.
func splitHours(text string) (all []string) {
	for _, group := range strings.Split(text, ";") {
		first := len(all)
		for _, part := range strings.Split(group, ",") {
			part = strings.TrimSpace(part)
			if n := len(all); n > first && !strings.Contains(all[n-1], ":") {
				all[n-1] += "," + part // sat,sun 10:00-12:00
				continue
			}
			all = append(all, part)
		}
	}
	return all
}

// longestQuiet is how long quiet hours are taken to last if they have no end.
const longestQuiet = 7 * 24 * time.Hour

// Until returns when the quiet hours end that a time lies in, or the zero time if the
// person may be disturbed.
func (q Quiet) Until(now time.Time, urgency int) (end time.Time) {
	if len(q.Hours) == 0 || urgency >= q.Except {
		return end
	}
	for at := now; at.Sub(now) < longestQuiet; at = end {
		next := at
		for _, h := range q.Hours {
			for _, s := range h.Between(at, at.Add(time.Second), q.Zone) {
				if !s.From.After(at) && s.To.After(next) {
					next = s.To
				}
			}
		}
		if next.Equal(at) {
			return end
		}
		end = next
	}
	return end
}
