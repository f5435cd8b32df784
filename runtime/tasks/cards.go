package tasks

import (
	"context"
	"slices"
	"strings"
)

// Card is a task with its plan, as boards and lists show it.
type Card struct {
	TaskSummary
	Plan
	Project string   // name of its project
	Blocked []string // IDs of the tasks that it still waits for
}

// ForMachineState is the state of a card that waits for any machine to take it.
const ForMachineState = "waiting for a machine"

// CardStates are the states of a card that filters offer, in the order of their menu.
var CardStates = []string{"waiting for you", "running", "waiting for a slot", ForMachineState, "failed", "stopped", "landed", "never started"}

// State returns a card's state in words, or "" if there is nothing to say.
func (c *Card) State() string {
	switch {
	case c.WaitsFor == ForPerson:
		return "waiting for you"
	case c.Unassigned:
		return ForMachineState
	case c.WaitsFor != "":
		return "waiting for a slot"
	case c.InProgress:
		return "running"
	case c.LastStopped: // a person stopped it, which is no reason for an alarm
		return "stopped"
	case c.LastFailed:
		return "failed"
	case c.OffBranch:
		return "off its branch"
	case c.Landed:
		return "landed"
	case c.Executor == "":
		return "never started"
	}
	return ""
}

// Ready reports whether work on the task can begin: it is to do, not running, and no
// other task blocks it.
func (c *Card) Ready() bool { return c.Status == Todo && len(c.Blocked) == 0 && !c.InProgress }

// Sieve selects cards. The zero value selects all.
type Sieve struct {
	Words, State, Agent, Label string
	Priority                   string // "normal" stands for [NormalPriority]
	Ready                      bool
}

// On reports whether the sieve leaves something out.
func (s Sieve) On() bool { return s != Sieve{} }

// Match reports whether the sieve selects a card.
func (s Sieve) Match(c *Card) bool {
	switch {
	case s.State != "" && s.State != c.State(),
		s.Agent != "" && s.Agent != c.Executor,
		s.Label != "" && !slices.Contains(c.Labels, s.Label),
		s.Priority == "normal" && c.Priority != NormalPriority,
		s.Priority != "" && s.Priority != "normal" && s.Priority != string(c.Priority),
		s.Ready && !c.Ready():
		return false
	}
	text := strings.ToLower(c.Title + "\n" + c.Description + "\n" + strings.Join(c.Labels, "\n"))
	for word := range strings.FieldsSeq(strings.ToLower(s.Words)) {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}

// CardColumn holds the cards of one status, newest first.
type CardColumn struct {
	Status Status
	Cards  []Card
	Total  int    // number of all tasks with this status
	Next   string // cursor of older cards; empty if there are none
}

// CardQuery selects the cards of a board. The zero value selects the newest of each status.
type CardQuery struct {
	Limit  int    // at most this many of each status; see [Page]
	Status Status // only these, if it is not empty
	Cursor string // with Status: the value of CardColumn.Next, for older cards
}

// Cards returns a project's cards by status, in the order of [Statuses].
func (m *Manager) Cards(ctx context.Context, p Project, q CardQuery) (columns []CardColumn, err error) {
	plans, err := m.Plans(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	statuses, err := m.Statuses(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	total := map[Status]int{}
	for _, s := range statuses {
		total[s]++
	}
	for _, s := range Statuses {
		if q.Status != "" && q.Status != s {
			continue
		}
		found, err := m.Tasks(ctx, TaskQuery{ProjectID: p.ID, Status: s, Page: Page{Limit: q.Limit, Cursor: q.Cursor}})
		if err != nil {
			return nil, err
		}
		c := CardColumn{Status: s, Total: total[s], Next: found.Next}
		for _, t := range found.Tasks {
			plan := plans[t.ID]
			c.Cards = append(c.Cards, Card{t, plan, p.Name, plan.Blockers(func(id string) Status { return statuses[id] })})
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// CardOrder is an order of the cards of a column.
type CardOrder string

// Orders of cards. Those that are equal in an order are newest first.
const (
	ByPriority CardOrder = ""
	ByChange   CardOrder = "changed" // those that changed last first
	ByAge      CardOrder = "oldest"
	ByTitle    CardOrder = "title"
)

// CardOrders lists all orders.
var CardOrders = []CardOrder{ByPriority, ByChange, ByAge, ByTitle}

// SortCards orders cards, which are newest first. An order that is not known is [ByPriority].
func SortCards(cards []Card, by CardOrder) {
	slices.SortStableFunc(cards, func(a, b Card) int {
		switch by {
		case ByChange:
			return b.Updated.Compare(a.Updated)
		case ByAge:
			return a.Created.Compare(b.Created)
		case ByTitle:
			return strings.Compare(strings.ToLower(a.Title), strings.ToLower(b.Title))
		}
		return a.Priority.Rank() - b.Priority.Rank()
	})
}
