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
	More   bool // whether there are older tasks
}

// Cards returns a project's cards by status, in the order of [Statuses], and at most limit
// of each.
func (m *Manager) Cards(ctx context.Context, p Project, limit int) (columns []CardColumn, err error) {
	plans, err := m.Plans(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	statuses, err := m.Statuses(ctx, p.ID)
	if err != nil {
		return nil, err
	}
	for _, s := range Statuses {
		found, err := m.Tasks(ctx, TaskQuery{ProjectID: p.ID, Status: s, Page: Page{Limit: limit}})
		if err != nil {
			return nil, err
		}
		c := CardColumn{Status: s, More: found.Next != ""}
		for _, t := range found.Tasks {
			plan := plans[t.ID]
			c.Cards = append(c.Cards, Card{t, plan, p.Name, plan.Blockers(func(id string) Status { return statuses[id] })})
		}
		columns = append(columns, c)
	}
	return columns, nil
}

// SortCards orders cards by priority. Those of one priority keep their order.
func SortCards(cards []Card) {
	slices.SortStableFunc(cards, func(a, b Card) int { return a.Priority.Rank() - b.Priority.Rank() })
}
