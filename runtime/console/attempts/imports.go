package attempts

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"text/tabwriter"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/imports"
)

// Import makes tasks of the items in place. An empty project means the only project.
func (c *Command) Import(ctx context.Context, place, project string, closed, dryRun bool) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	at := func(host string) forge.Place { return forge.Place{Kind: forge.GitHub, Host: host} }
	s := imports.Source{
		Place: place, Closed: closed,
		Token:  func(ctx context.Context, host string) (string, error) { return c.Manager.ForgeToken(ctx, at(host)) },
		SignIn: func(host string) string { return at(host).HowToSignIn() },
	}
	if gh, err := exec.LookPath("gh"); err == nil {
		s.Program = gh
	}
	items, err := imports.Read(ctx, s)
	if err != nil {
		return err
	}
	done, err := c.Manager.Import(ctx, id, items, dryRun)
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.importedAsJSON(done, dryRun)
	}
	counts := map[tasks.Outcome]int{}
	w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
	paint := console.PainterFor(c.Stdout)
	for _, i := range done {
		if counts[i.Outcome]++; i.Outcome == tasks.ImportUnchanged || i.Outcome == tasks.ImportDeleted {
			continue
		}
		where := "-"
		if i.TaskID != "" {
			where = brief(i.TaskID)
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", where, i.Outcome, paint.Plain(console.OneLine(i.Title)))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	would := ""
	if dryRun {
		would = "would be: "
	}
	c.Tell(fmt.Sprintf("%s%d created, %d updated, %d unchanged, %d kept as changed here, %d deleted here", would, counts[tasks.ImportCreated], counts[tasks.ImportUpdated],
		counts[tasks.ImportUnchanged], counts[tasks.ImportKept], counts[tasks.ImportDeleted]))
	return nil
}

func (c *Command) importedAsJSON(done []tasks.Imported, dryRun bool) error {
	type item struct {
		Source  string        `json:"source"`
		TaskID  string        `json:"task_id,omitempty"`
		Outcome tasks.Outcome `json:"outcome"`
		Title   string        `json:"title"`
	}
	out := struct {
		DryRun bool   `json:"dry_run"`
		Items  []item `json:"items"`
	}{dryRun, []item{}}
	for _, i := range done {
		out.Items = append(out.Items, item{i.Key, i.TaskID, i.Outcome, i.Title})
	}
	return c.printJSON(out)
}

func (c *Command) printJSON(v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return c.Line("%s", data)
}

// Export prints a project's tasks as JSON. An empty project means the only project.
func (c *Command) Export(ctx context.Context, project string) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	e, err := c.Manager.Export(ctx, id)
	if err != nil {
		return err
	}
	return c.printJSON(e)
}
