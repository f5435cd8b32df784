package inbox

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// listing holds the content of the inbox: the list, and the open question next
// to it.
type listing struct {
	Groups []group
	Open   int // number of open questions
	Rest   int // number of open questions without a card on this page
	Pane   *pane
	Seq    int64 // feed position from which the script follows
	Single bool  // the address is that of a single question
	All    bool  // the page contains the maximum number of cards

	Filter                filter
	Places, Askers, Kinds []choice
	Found                 int // how many questions the filter selects
}

// denseFrom is the number of open questions from which the list uses less room for
// each.
const denseFrom = 9

// Dense reports whether the list uses less room for each question.
func (d *listing) Dense() bool { return d.Open >= denseFrom }

// group holds the questions of one place and attempt.
type group struct {
	Key   string
	Name  string // name of the place
	Parts []string
	Lists []cards // each with listLength cards, except the last
}

// Count returns the number of questions.
func (g group) Count() (n int) {
	for _, l := range g.Lists {
		n += len(l)
	}
	return n
}

// cards is a list of cards.
type cards []card

// Full reports whether the list has its maximum length.
func (c cards) Full() bool { return len(c) >= listLength }

// listLength is the number of cards in one list. A browser lays out a list when
// the list comes near the visible area. A list of 10 cards is laid out within a
// frame, and 1,000 cards need only 100 lists (make bench-web).
const listLength = 10

// card is a question in the list.
type card struct {
	ID, Heading, Asker, Kind, Group, Place, Order, In, Sort string
	Priority                                                elicit.Priority
	Asked, Deadline                                         moment
	Late, Gone, Finished, Started, Chosen, Sending          bool
}

// moment is a time for people and for the script.
type moment struct {
	At    string // RFC 3339; empty if there is no time
	Words string
}

func when(t elicit.Time, words string) moment {
	if t.IsZero() {
		return moment{}
	}
	return moment{t.UTC().Format(time.RFC3339), words}
}

// groups arranges requests in groups. Both the groups and the requests in each
// group are in the order in which a person should answer them.
func groups(requests []elicit.Request, chosen string, now time.Time) []group {
	var all []group
	at := map[string]int{}
	requests = slices.Clone(requests)
	slices.SortStableFunc(requests, func(a, b elicit.Request) int {
		return cmp.Compare(rank(urgent(&a)), rank(urgent(&b)))
	})
	for i := range requests {
		r := &requests[i]
		c := cardOf(r, now)
		c.Chosen = r.ID == chosen
		n, ok := at[c.Group]
		if !ok {
			n = len(all)
			at[c.Group] = n
			all = append(all, groupOf(r, c.Group))
		}
		g := &all[n]
		if last := len(g.Lists) - 1; last < 0 || g.Lists[last].Full() {
			g.Lists = append(g.Lists, nil)
		}
		last := &g.Lists[len(g.Lists)-1]
		*last = append(*last, c)
	}
	return all
}

// urgentGroup is the key of the group of urgent questions. This group comes
// first and contains questions from any place.
const urgentGroup = "urgent"

func groupKey(r *elicit.Request) string {
	if urgent(r) {
		return urgentGroup
	}
	return strings.Join([]string{cmp.Or(r.Place(), r.Source.Name), r.Context.AttemptID, r.Context.Branch}, "|")
}

// urgent reports whether an asker is waiting for the answer to an urgent
// request.
func urgent(r *elicit.Request) bool {
	return r.Priority == elicit.Urgent && r.Status == elicit.Open && !r.AskerGone
}

// rank returns a sort key that puts true before false.
func rank(first bool) int {
	if first {
		return 0
	}
	return 1
}

// groupOf returns an empty group. Its name is that of the request's origin.
func groupOf(r *elicit.Request, key string) group {
	if key == urgentGroup {
		return group{Key: key, Name: "Urgent"}
	}
	g := group{Key: key, Name: cmp.Or(page.Line(r.Place()), page.Line(r.Source.Name), "Elsewhere")}
	if r.Context.AttemptID != "" {
		g.Parts = append(g.Parts, "attempt "+short(r.Context.AttemptID))
	}
	if r.Context.Branch != "" {
		g.Parts = append(g.Parts, page.Line(r.Context.Branch))
	}
	return g
}

// short returns the end of an ID. The ends differ even if the IDs were created
// at the same time.
func short(id string) string {
	if i := strings.LastIndexByte(id, '-'); i >= 0 && i < len(id)-1 {
		id = id[i+1:]
	}
	if runes := []rune(id); len(runes) > 8 {
		id = string(runes[len(runes)-8:])
	}
	return page.Line(id)
}

func cardOf(r *elicit.Request, now time.Time) card {
	return card{
		ID: r.ID, Heading: cmp.Or(page.Line(r.Heading()), "A question"), Asker: asker(r), Kind: kindOf(r),
		Group: groupKey(r), Place: page.Line(r.Place()), Order: orderOf(r), In: placeName(r), Sort: kindName(r),
		Priority: r.Priority, Asked: when(r.CreatedAt, ago(now.Sub(r.CreatedAt.Time))), Deadline: deadline(r, now),
		Late: r.Status == elicit.ExpiredOpen, Gone: r.AskerGone && r.TurnEnd == nil, Finished: r.TurnEnd != nil, Started: len(r.Answers) > 0, Sending: r.Held != nil,
	}
}

// orderOf returns a sort key for the hub's order: open requests before expired
// ones; then requests whose asker is waiting; then urgent requests; then older
// requests.
func orderOf(r *elicit.Request) string {
	digit := func(b bool) int {
		if b {
			return 1
		}
		return 0
	}
	rank := slices.Index([]elicit.Priority{elicit.Urgent, elicit.High, elicit.Normal, elicit.Low}, r.Priority)
	return fmt.Sprintf("%d%d%d %s", digit(r.Status != elicit.Open), digit(r.AskerGone), rank, r.ID)
}

func asker(r *elicit.Request) string { return cmp.Or(page.Line(r.Source.Name), "someone") }

// kindOf describes the type of answer in a few words.
func kindOf(r *elicit.Request) string {
	switch n := len(r.Questions); {
	case n > 1:
		return fmt.Sprintf("%d questions", n)
	case n == 1:
		return map[elicit.Kind]string{elicit.Boolean: "yes or no", elicit.SingleSelect: "choose one", elicit.MultiSelect: "choose any",
			elicit.Number: "a number", elicit.Integer: "a number", elicit.Text: "text"}[r.Questions[0].Kind]
	case r.URL != "":
		return "a page to open"
	}
	return "to agree to"
}

func deadline(r *elicit.Request, now time.Time) moment {
	if r.Status != elicit.Open {
		return moment{}
	}
	return when(r.Deadline, duration(r.Deadline.Sub(now))+" left")
}

// duration returns a duration in a short form for people: 45 s, 4 min, 2 h 5
// min, 3 days.
func duration(d time.Duration) string {
	switch d = max(d, 0); {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%d h %d min", int(d.Hours()), int(d.Minutes())%60)
	}
	return fmt.Sprintf("%d days", int(d.Hours()/24))
}

func ago(d time.Duration) string {
	if d < 10*time.Second {
		return "just now"
	}
	return duration(d) + " ago"
}
