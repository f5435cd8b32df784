package attempts

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// used returns the lines with what the selected runs consumed and an attempt's budgets, or "" if there was no run.
func (c *Command) used(ctx context.Context, q tasks.UsageQuery) string {
	q.By = tasks.UsageByAgent
	_, total, err := c.Manager.Usage(ctx, q)
	if err != nil || total.Runs == 0 {
		return "" // the rest of the answer is complete without it
	}
	text := "usage     " + total.Words() + "\n"
	if q.AttemptID == "" {
		return text
	}
	budgets, err := c.Manager.Budgets(ctx, q.AttemptID)
	for _, b := range budgets {
		if err == nil {
			text += "budget    " + b.Words() + "\n"
		}
	}
	return text
}

// costs returns the usage of each group, by key. It returns nil if that is unknown.
func (c *Command) costs(ctx context.Context, q tasks.UsageQuery) map[string]tasks.Usage {
	groups, _, err := c.Manager.Usage(ctx, q)
	if err != nil {
		return nil
	}
	found := map[string]tasks.Usage{}
	for _, g := range groups {
		found[g.Key] = g.Usage
	}
	return found
}

// usageJSON is the usage of a group as JSON.
type usageJSON struct {
	Key  string     `json:"key,omitempty"`
	Name string     `json:"name,omitempty"`
	Last *time.Time `json:"last_run_at,omitempty"`
	In   int64      `json:"input_tokens"`
	Out  int64      `json:"output_tokens"`
	// Read and Write are parts of In.
	Read     int64   `json:"cache_read_tokens"`
	Write    int64   `json:"cache_write_tokens"`
	Cost     float64 `json:"cost_usd"`
	Known    bool    `json:"cost_known"`
	Runs     int     `json:"runs"`
	Silent   int     `json:"runs_without_tokens"`
	Partial  int     `json:"runs_with_some_tokens"`
	Unpriced int     `json:"runs_without_price"`
}

func usageOf(u tasks.Usage) usageJSON {
	return usageJSON{In: u.TokensIn, Out: u.TokensOut, Read: u.CacheRead, Write: u.CacheWrite, Cost: float64(u.Cost) / 1e6, Known: u.Known(),
		Runs: u.Runs, Silent: u.Silent, Partial: u.Partial, Unpriced: u.Unpriced}
}

// Usage prints what agents consumed since a time, group by group. An empty project means
// all projects.
func (c *Command) Usage(ctx context.Context, by, project string, since time.Time) error {
	q := tasks.UsageQuery{By: tasks.UsageBy(by), Since: since}
	if !slices.Contains(tasks.UsageBys, q.By) {
		return fault.Misuse(fmt.Sprintf("--by is %q", by), "use day, agent, task, project, attempt or process")
	}
	if project != "" {
		id, err := c.project(ctx, project)
		if err != nil {
			return err
		}
		q.ProjectID = id
	}
	groups, total, err := c.Manager.Usage(ctx, q)
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.usageAsJSON(by, since, groups, total)
	}
	if len(groups) == 0 {
		c.Tell("no agent has run since " + since.Format(time.DateOnly))
		return nil
	}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s\tRUNS\tREAD\tCACHED\tWRITTEN\tCOST\n", strings.ToUpper(by))
	paint := console.PainterFor(c.Stdout)
	row := func(name string, u tasks.Usage) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%s\n", paint.Plain(name), u.Runs, u.TokensIn, u.CacheRead, u.TokensOut, u.Short())
	}
	for _, g := range groups {
		row(groupName(q.By, g), g.Usage)
	}
	if len(groups) > 1 {
		row("in all", total)
	}
	if err := w.Flush(); err != nil || total.Known() {
		return err
	}
	return c.Line("\n%s", total.Words())
}

func groupName(by tasks.UsageBy, g tasks.UsageGroup) string {
	switch by {
	case tasks.UsageByTask, tasks.UsageByAttempt, tasks.UsageByProcess:
		return strings.TrimSpace(brief(g.Key) + "  " + console.OneLine(g.Name))
	case tasks.UsageByProject:
		return console.OneLine(g.Name)
	}
	return g.Key
}

func (c *Command) usageAsJSON(by string, since time.Time, groups []tasks.UsageGroup, total tasks.Usage) error {
	out := struct {
		By     string      `json:"by"`
		Since  time.Time   `json:"since"`
		Groups []usageJSON `json:"groups"`
		Total  usageJSON   `json:"total"`
	}{by, since.UTC().Truncate(time.Second), []usageJSON{}, usageOf(total)}
	for _, g := range groups {
		one := usageOf(g.Usage)
		one.Key, one.Name, one.Last = g.Key, g.Name, &g.Last
		out.Groups = append(out.Groups, one)
	}
	return c.printJSON(out)
}
