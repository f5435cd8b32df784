// Package onboarding implements deskhand init. It finds a project's docs and the
// installed coding agents, shows the planned changes, asks, and writes them. It
// can also remove them.
package onboarding

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/setup"
	"github.com/deskhand/deskhand/runtime/text"
)

// Flags selects what to set up. The zero value asks at the terminal, and connects the
// agents that are found in the working directory's project.
type Flags struct {
	Yes         bool     // write without asking
	User        bool     // write to the user's own files, for all projects
	Remove      bool     // remove everything that init has added
	Clients     []string // IDs of the agents to connect; if empty, the agents that were found
	Description string   // completes "Search the ..." to describe the docs; if empty, init asks or uses the docs' title
}

// Work holds the console and the installation. Every field is required.
type Work struct {
	*console.Console
	State string // state folder
	Index string // index folder
	// Build builds the index of a folder and prints the report.
	Build func(ctx context.Context, dir string) error
	// Untrusted returns a message about the project's ignored settings, or ""
	// if there are none.
	Untrusted func() string
}

// Run plans, shows, confirms and makes the changes. With f.Remove, it undoes an
// earlier run instead.
func (w *Work) Run(ctx context.Context, f Flags) error {
	e, err := setup.Here()
	if err != nil {
		return err
	}
	records := setup.In(w.State)
	o := setup.Options{Clients: f.Clients, User: f.User, Description: f.Description, Command: "deskhand", AbsoluteCommand: setup.OwnProgram()}
	if f.Remove {
		return w.takeOut(ctx, e, records, o, f.Yes)
	}
	d := setup.FindDocs(e.Project)
	if d.Dir != "" && !d.Described && o.Description == "" {
		if o.Description, err = w.described(ctx, d.Proposal(e.Project), f.Yes); err != nil {
			return err
		}
	}
	plan, err := setup.New(e, records, o)
	if err != nil {
		return err
	}
	if err := w.showPlan(plan); err != nil {
		return err
	}
	if len(plan.Changes) > 0 {
		if err := w.Confirmed(ctx, fmt.Sprintf("Write %s?", text.Count(len(plan.Changes), "file")), f.Yes); err != nil {
			return err
		}
		if err := plan.Apply(); err != nil {
			return err
		}
	}
	if err := w.firstIndex(ctx, e.Project, plan.Docs, records); err != nil {
		return err
	}
	return w.showNext(plan)
}

// described asks at a terminal for a description of the docs. Without a terminal, or if
// yes is set, it returns the proposal.
func (w *Work) described(ctx context.Context, proposal string, yes bool) (string, error) {
	if yes || !console.OnTerminal(w.Stdin) {
		return proposal, nil
	}
	answer, err := w.Reply(ctx, fmt.Sprintf("What are these docs? Agents read \"Search the ...\" [%s] ", proposal))
	return cmp.Or(text.OneLine(answer), proposal), err
}

// showPlan prints what was found and the planned changes.
func (w *Work) showPlan(p *setup.Plan) error {
	paint := console.PainterFor(w.Stdout)
	found := "none found; agents get ask_user and tasks, and get search_docs when the project has docs"
	if p.Docs.Dir != "" {
		found = fmt.Sprintf("%s (%s)", p.Docs.Dir, text.Count(p.Docs.Files, "page"))
	}
	table := tabwriter.NewWriter(w.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(table, "docs\t%s\n", paint.Plain(found))
	for _, c := range p.Clients {
		fmt.Fprintf(table, "%s\t%s\n", c.Name, paint.Plain(outcomeText(c)))
	}
	if len(p.Clients) == 0 {
		fmt.Fprintf(table, "agents\tnone found; pass one with --client (%s)\n", strings.Join(setup.IDs(), ", "))
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, c := range p.Changes {
		if _, err := fmt.Fprintf(w.Stdout, "\n%s", paint.Plain(string(c.Diff()))); err != nil {
			return err
		}
	}
	if len(p.Changes) > 0 {
		fmt.Fprintln(w.Stdout)
	}
	return nil
}

func outcomeText(c setup.Outcome) string {
	switch c.Status {
	case setup.NoFile:
		return "cannot be connected in a project; connect it with --user"
	case setup.Foreign:
		return c.Path + " has another entry named " + setup.Entry + ", which stays unchanged"
	case setup.Unchanged:
		return c.Path + " is up to date"
	}
	return c.Path + " (" + string(c.Status) + ")"
}

// firstIndex builds the index, so the first agent does not have to wait for it.
func (w *Work) firstIndex(ctx context.Context, project string, d setup.Docs, records setup.Records) error {
	if d.Dir == "" {
		return nil
	}
	if w.Index == filepath.FromSlash(setup.IndexFolder) || w.Index == filepath.Join(project, setup.IndexFolder) {
		if !exists(filepath.Join(w.Index, artifact.MetadataFile)) {
			if err := records.BuiltIndex(project); err != nil {
				return err
			}
		}
	}
	err := w.Build(ctx, filepath.FromSlash(d.Dir))
	if f := fault.Of(err); f != nil && f.Code == "locked" { // for example by the server of an agent that runs already
		w.Tell("another process is building the index")
		return nil
	}
	return err
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// showNext prints what a person still has to do.
func (w *Work) showNext(p *setup.Plan) error {
	for _, note := range p.Notes {
		w.Tell(note)
	}
	if now := w.Untrusted(); now != "" {
		w.Tell(now)
	}
	if why := setup.NotOnPath(); why != "" {
		w.Tell(why)
	}
	for _, path := range p.Backups() {
		w.Tell("backup: " + path)
	}
	for _, c := range p.Clients {
		if c.Once != "" && c.Status != setup.NoFile {
			fmt.Fprintf(w.Stdout, "%s: %s\n", c.Name, c.Once)
		}
	}
	_, err := fmt.Fprintln(w.Stdout, "to check that each agent can connect, run: deskhand doctor")
	return err
}

// takeOut plans, shows, confirms and makes the removal.
func (w *Work) takeOut(ctx context.Context, e setup.Env, records setup.Records, o setup.Options, yes bool) error {
	plan, err := setup.Removal(e, records, o)
	if err != nil {
		return err
	}
	paint := console.PainterFor(w.Stdout)
	for _, c := range plan.Changes {
		if _, err := fmt.Fprintf(w.Stdout, "%s\n", paint.Plain(string(c.Diff()))); err != nil {
			return err
		}
	}
	for _, note := range plan.Notes {
		w.Tell(note)
	}
	if len(plan.Changes) == 0 && !plan.Index {
		w.Tell("\"deskhand init\" has not added anything to this project")
		return plan.Apply()
	}
	what := text.Count(len(plan.Changes), "file")
	if plan.Index {
		what += " and the index"
	}
	if err := w.Confirmed(ctx, "Remove the entries of deskhand from "+what+"?", yes); err != nil {
		return err
	}
	if err := plan.Apply(); err != nil {
		return err
	}
	if plan.Index {
		setup.RemoveIndex(e.Project)
	}
	_, err = fmt.Fprintln(w.Stdout, "removed from "+what)
	return err
}
