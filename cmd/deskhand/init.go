package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/setup"
	"github.com/deskhand/deskhand/runtime/text"
)

// initFlags are the flags of init as they were given.
type initFlags struct {
	yes, user, remove bool
	clients           []string
	description       string
}

func initCommand(a *app) *cobra.Command {
	var f initFlags
	cmd := &cobra.Command{
		Use:   "init",
		Short: "Set up this project: docs, index and the coding agents that you have",
		Long: "Find the docs of the project in the working directory, build their index, and connect the coding agents\n" +
			"that are installed. Files of agents keep their comments and other entries; you see the changes first.\n" +
			"Files of the project work for everybody who clones it; --user writes to your own files instead.\n" +
			"Agents: " + strings.Join(setup.IDs(), ", ") + ".",
		Example: "  deskhand init\n  deskhand init --yes --client claude --client codex\n  deskhand init --user\n  deskhand init --remove",
		Args:    arguments(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.setUp(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "write without asking, and describe the docs by their title")
	flags.BoolVar(&f.user, "user", false, "connect agents in all your projects, by the files in your home folder")
	flags.BoolVar(&f.remove, "remove", false, "take out what init has put in")
	flags.StringArrayVar(&f.clients, "client", nil, "agent to connect, installed or not (repeat; default: those found)")
	flags.StringVar(&f.description, "description", "", `what the docs are, completing "Search the ..." (default: their title)`)
	settings.Declare(flags, "embed")
	settings.Declare(flags, "cache")
	return cmd
}

// setUp plans, shows, asks and writes.
func (a *app) setUp(ctx context.Context, f initFlags) error {
	e, err := setup.Here()
	if err != nil {
		return err
	}
	state, err := a.settings.StateDir()
	if err != nil {
		return err
	}
	records := setup.In(state)
	o := setup.Options{Clients: f.clients, User: f.user, Description: f.description, Command: "deskhand", AbsoluteCommand: setup.OwnProgram()}
	if f.remove {
		return a.takeOut(ctx, e, records, o, f.yes)
	}
	d := setup.FindDocs(e.Project)
	if d.Dir != "" && !d.Described && o.Description == "" {
		if o.Description, err = a.described(ctx, d.Proposal(e.Project), f.yes); err != nil {
			return err
		}
	}
	plan, err := setup.New(e, records, o)
	if err != nil {
		return err
	}
	if err := a.showPlan(plan); err != nil {
		return err
	}
	if len(plan.Changes) > 0 {
		if err := a.Confirmed(ctx, fmt.Sprintf("Write %s?", text.Count(len(plan.Changes), "file")), f.yes); err != nil {
			return err
		}
		if err := plan.Apply(); err != nil {
			return err
		}
	}
	if err := a.firstIndex(ctx, e.Project, plan.Docs, records); err != nil {
		return err
	}
	return a.showNext(plan)
}

// described asks at a terminal what the docs are.
func (a *app) described(ctx context.Context, proposal string, yes bool) (string, error) {
	if yes || !console.OnTerminal(a.Stdin) {
		return proposal, nil
	}
	answer, err := a.Reply(ctx, fmt.Sprintf("What are these docs? Agents read \"Search the ...\" [%s] ", proposal))
	return cmp.Or(text.OneLine(answer), proposal), err
}

// showPlan prints what was found and what is to be written.
func (a *app) showPlan(p *setup.Plan) error {
	paint := console.PainterFor(a.Stdout)
	found := "none found: agents get ask_user and tasks, and search_docs once there are docs"
	if p.Docs.Dir != "" {
		found = fmt.Sprintf("%s (%s)", p.Docs.Dir, text.Count(p.Docs.Files, "page"))
	}
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "docs\t%s\n", paint.Plain(found))
	for _, c := range p.Clients {
		fmt.Fprintf(w, "%s\t%s\n", c.Name, paint.Plain(outcomeText(c)))
	}
	if len(p.Clients) == 0 {
		fmt.Fprintf(w, "agents\tnone found: name one with --client (%s)\n", strings.Join(setup.IDs(), ", "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range p.Changes {
		if _, err := fmt.Fprintf(a.Stdout, "\n%s", paint.Plain(string(c.Diff()))); err != nil {
			return err
		}
	}
	if len(p.Changes) > 0 {
		fmt.Fprintln(a.Stdout)
	}
	return nil
}

func outcomeText(c setup.Outcome) string {
	switch c.Status {
	case setup.NoFile:
		return "has no file in a project: connect it with --user"
	case setup.Foreign:
		return c.Path + " has another entry named " + setup.Entry + ", which stays as it is"
	case setup.Unchanged:
		return c.Path + " is up to date"
	}
	return c.Path + " (" + string(c.Status) + ")"
}

// firstIndex builds the index, so that the first agent need not wait for it.
func (a *app) firstIndex(ctx context.Context, project string, d setup.Docs, records setup.Records) error {
	if d.Dir == "" {
		return nil
	}
	if a.settings.Index() == filepath.FromSlash(setup.IndexFolder) || a.settings.Index() == filepath.Join(project, setup.IndexFolder) {
		if !exists(filepath.Join(a.settings.Index(), artifact.MetadataFile)) {
			if err := records.BuiltIndex(project); err != nil {
				return err
			}
		}
	}
	return a.index(ctx, &indexFlags{}, []string{filepath.FromSlash(d.Dir)})
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// showNext says what a person has to do before it all works.
func (a *app) showNext(p *setup.Plan) error {
	for _, note := range p.Notes {
		a.Tell(note)
	}
	if now := a.settings.Untrusted(); now != nil {
		a.Tell(now.Path() + " has changed: " + now.Needs() + " are ignored until you run: " + now.Command())
	}
	if why := setup.NotOnPath(); why != "" {
		a.Tell(why)
	}
	for _, path := range p.Backups() {
		a.Tell("backup: " + path)
	}
	for _, c := range p.Clients {
		if c.Once != "" && c.Status != setup.NoFile {
			fmt.Fprintf(a.Stdout, "%s: %s\n", c.Name, c.Once)
		}
	}
	_, err := fmt.Fprintln(a.Stdout, "deskhand doctor checks that each agent can connect")
	return err
}

// takeOut plans, shows, asks and takes out.
func (a *app) takeOut(ctx context.Context, e setup.Env, records setup.Records, o setup.Options, yes bool) error {
	plan, err := setup.Removal(e, records, o)
	if err != nil {
		return err
	}
	paint := console.PainterFor(a.Stdout)
	for _, c := range plan.Changes {
		if _, err := fmt.Fprintf(a.Stdout, "%s\n", paint.Plain(string(c.Diff()))); err != nil {
			return err
		}
	}
	for _, note := range plan.Notes {
		a.Tell(note)
	}
	if len(plan.Changes) == 0 && !plan.Index {
		a.Tell("there is nothing of init in this project")
		return plan.Apply()
	}
	what := text.Count(len(plan.Changes), "file")
	if plan.Index {
		what += " and the index"
	}
	if err := a.Confirmed(ctx, "Take it out of "+what+"?", yes); err != nil {
		return err
	}
	if err := plan.Apply(); err != nil {
		return err
	}
	if plan.Index {
		setup.RemoveIndex(e.Project)
	}
	_, err = fmt.Fprintln(a.Stdout, "taken out of "+what)
	return err
}
