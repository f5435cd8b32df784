package board

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks"
)

// sieve selects tasks of the board. The zero value selects all.
type sieve struct {
	Words, State, Agent, Label, Priority string
	Ready                                bool // tasks that can begin: to do, not blocked and not running
}

// states are the states of a card that the filter offers, in the order of the menu.
var states = []string{"waiting for you", "running", "waiting for a slot", "failed", "stopped", "landed", "never started"}

func sieveOf(r *http.Request) sieve {
	return sieve{strings.TrimSpace(r.FormValue("q")), r.FormValue("state"), r.FormValue("agent"), r.FormValue("label"), r.FormValue("priority"), r.FormValue("ready") != ""}
}

// On reports whether the filter leaves something out.
func (s sieve) On() bool { return s != sieve{} }

// match reports whether the filter selects a card.
func (s sieve) match(c *card) bool {
	switch {
	case s.State != "" && s.State != c.State(),
		s.Agent != "" && s.Agent != c.Executor,
		s.Label != "" && !slices.Contains(c.Labels, s.Label),
		s.Priority == "normal" && c.Priority != tasks.NormalPriority,
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

// State returns a card's state in words, or "" if there is nothing to say.
func (c *card) State() string {
	switch {
	case c.Asks:
		return "waiting for you"
	case c.Waits:
		return "waiting for a slot"
	case c.Running:
		return "running"
	case c.Failed:
		return "failed"
	case c.Stopped:
		return "stopped"
	case c.Off:
		return "off its branch"
	case c.Landed:
		return "landed"
	case c.Executor == "":
		return "never started"
	}
	return ""
}

// Ready reports whether work on the task can begin.
func (c *card) Ready() bool {
	return c.Status == tasks.Todo && len(c.Blocked) == 0 && !c.Running && !c.Asks && !c.Waits
}

// sortCards orders cards by priority. Those of one priority keep their order.
func sortCards(cards []card) {
	slices.SortStableFunc(cards, func(a, b card) int { return a.Priority.Rank() - b.Priority.Rank() })
}

// menu returns the choices of a menu from the values that occur.
func menu(values []string, here string) (all []choice) {
	if here != "" {
		values = append(values, here)
	}
	slices.Sort(values)
	for _, v := range slices.Compact(values) {
		if v != "" {
			all = append(all, choice{v, v, v == here})
		}
	}
	return all
}

// boardPath returns the path of the board of a project, or of all projects.
func boardPath(project string) string { return Path + "?project=" + url.QueryEscape(project) }
