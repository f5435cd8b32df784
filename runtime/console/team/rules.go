package team

import (
	"cmp"
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/rules"
)

// addRule makes a rule and prints it.
func (c *Command) addRule(ctx context.Context, pattern string) error {
	n := rules.New{Kind: rules.Allow, Tool: cmp.Or(c.tool, rules.Command), Pattern: pattern}
	if c.ask {
		n.Kind, c.expires = rules.Ask, cmp.Or(c.expires, "never")
	}
	var err error
	if n.Lasts, err = rules.ParseLasts(c.expires); err != nil {
		return err
	}
	if len(c.projects) > 1 || (len(c.projects) == 1) == c.everywhere {
		return fault.Misuse("a rule is for one project or for all", "write --project NAME, or --all-projects; to list the projects, run: deskhand tasks project ls")
	}
	ids, err := c.projectIDs(ctx)
	if err != nil {
		return err
	}
	if len(ids) == 1 {
		n.Project = ids[0]
	}
	hub, err := c.Of.Hub(ctx)
	if err != nil {
		return err
	}
	r, err := hub.AddRule(ctx, n)
	if err != nil {
		return err
	}
	return c.sayRule(ctx, r, "made")
}

// endRule revokes a rule.
func (c *Command) endRule(ctx context.Context, id string) error {
	hub, err := c.Of.Hub(ctx)
	if err != nil {
		return err
	}
	r, err := hub.EndRule(ctx, id)
	if err != nil {
		return err
	}
	return c.sayRule(ctx, r, "revoked")
}

// sayRule prints a rule that was changed: its ID, or everything with --json.
func (c *Command) sayRule(ctx context.Context, r rules.Rule, done string) error {
	err := c.nameProject(ctx, &r)
	if err != nil || c.json {
		return c.orJSON(err, r)
	}
	what := map[rules.Kind]string{rules.Allow: "allows", rules.Ask: "always asks for"}[r.Kind]
	text := fmt.Sprintf("%s a rule that %s %s in %s", done, what, callsOf(r), cmp.Or(r.Project, "all projects"))
	if done == "made" && !r.Expires.IsZero() {
		text += ", until " + day(r.Expires)
	}
	c.Tell(console.PainterFor(c.Stderr).Plain(text))
	_, err = fmt.Fprintln(c.Stdout, r.ID)
	return err
}

// callsOf returns which calls a rule is for, in words.
func callsOf(r rules.Rule) string {
	switch {
	case r.Pattern != "":
		return r.Tool + " " + r.Pattern
	case r.Kind == rules.Allow:
		return r.Tool + " without arguments"
	case r.Tool == rules.AnyTool:
		return "all calls"
	}
	return "all calls of " + r.Tool
}

// nameProject replaces the ID of a rule's project by its name. The project may have been
// deleted; then the ID stays.
func (c *Command) nameProject(ctx context.Context, r *rules.Rule) error {
	if r.Project == "" {
		return nil
	}
	name, err := c.Of.ProjectName(ctx, r.Project)
	r.Project = cmp.Or(name, r.Project)
	return err
}

// listRules prints the rules.
func (c *Command) listRules(ctx context.Context, _ string) error {
	hub, err := c.Of.Hub(ctx)
	if err != nil {
		return err
	}
	all, err := hub.Rules(ctx, c.all)
	for i := range all {
		if err == nil {
			err = c.nameProject(ctx, &all[i])
		}
	}
	if err != nil || c.json {
		return c.orJSON(err, all)
	}
	if len(all) == 0 {
		c.Tell("there are no rules: agents' requests for permission are asked")
		return nil
	}
	paint := console.PainterFor(c.Stdout)
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tRULE\tOF\tPROJECT\tTOOL\tPATTERN\tEXPIRES\tUSES\tLAST USED\tSTATE")
	for _, r := range all {
		expires := "never"
		if !r.Expires.IsZero() {
			expires = day(r.Expires)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", r.ID, r.Kind, r.Of, paint.Plain(cmp.Or(r.Project, "all")), r.Tool, paint.Plain(cmp.Or(r.Pattern, "-")), expires, r.Uses, day(r.Used), r.State(time.Now()))
	}
	return w.Flush()
}
