package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/indexer/artifact"
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
	declare(flags, "embed")
	declare(flags, "cache")
	return cmd
}

// setUp plans, shows, asks and writes.
func (a *app) setUp(ctx context.Context, f initFlags) error {
	e, err := surveyed()
	if err != nil {
		return err
	}
	state, err := a.settings.stateFolder()
	if err != nil {
		return err
	}
	records := setup.In(state)
	o := setup.Options{Clients: f.clients, User: f.user, Description: f.description, Command: "deskhand", AbsoluteCommand: ownProgram()}
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
		if err := a.confirmed(ctx, fmt.Sprintf("Write %s?", count(len(plan.Changes), "file")), f.yes); err != nil {
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

// surveyed is the machine that init looks at.
func surveyed() (e setup.Env, err error) {
	if e.Project, err = os.Getwd(); err == nil {
		e.Project, err = filepath.EvalSymlinks(e.Project)
	}
	if err != nil {
		return e, misuse("the working directory is gone: "+err.Error(), "change to the project's folder")
	}
	if e.Home, err = os.UserHomeDir(); err != nil {
		return e, misuse("there is no home folder: "+err.Error(), "set HOME")
	}
	if sameFolder(e.Project, e.Home) || filepath.Dir(e.Project) == e.Project {
		return e, misuse(e.Project+" is not a project's folder", "change to the folder of your project")
	}
	e.Config = os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(e.Config) {
		e.Config = filepath.Join(e.Home, ".config")
	}
	e.AppData, e.OS, e.Getenv, e.Look = os.Getenv("APPDATA"), runtime.GOOS, os.Getenv, exec.LookPath
	return e, nil
}

// ownProgram is the path by which deskhand can be started from anywhere: the one
// on PATH, which an upgrade keeps, if it is this program.
func ownProgram() string {
	own, err := os.Executable()
	found, lookErr := exec.LookPath("deskhand")
	if lookErr == nil {
		found, lookErr = filepath.Abs(found)
	}
	if lookErr == nil && (err != nil || sameFolder(own, found)) {
		return found
	}
	return cmp.Or(own, "deskhand")
}

// described asks at a terminal what the docs are.
func (a *app) described(ctx context.Context, proposal string, yes bool) (string, error) {
	if yes || !onTerminal(a.stdin) {
		return proposal, nil
	}
	fmt.Fprintf(a.stderr, "What are these docs? Agents read \"Search the ...\" [%s] ", painter(a.stderr).plain(proposal))
	answer, err := readLine(ctx, a.stdin)
	return cmp.Or(text.OneLine(answer), proposal), err
}

// showPlan prints what was found and what is to be written.
func (a *app) showPlan(p *setup.Plan) error {
	paint := painter(a.stdout)
	found := "none found: agents get ask_user and tasks, and search_docs once there are docs"
	if p.Docs.Dir != "" {
		found = fmt.Sprintf("%s (%s)", p.Docs.Dir, count(p.Docs.Files, "page"))
	}
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "docs\t%s\n", paint.plain(found))
	for _, c := range p.Clients {
		fmt.Fprintf(w, "%s\t%s\n", c.Name, paint.plain(outcomeText(c)))
	}
	if len(p.Clients) == 0 {
		fmt.Fprintf(w, "agents\tnone found: name one with --client (%s)\n", strings.Join(setup.IDs(), ", "))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, c := range p.Changes {
		if _, err := fmt.Fprintf(a.stdout, "\n%s", paint.plain(string(c.Diff()))); err != nil {
			return err
		}
	}
	if len(p.Changes) > 0 {
		fmt.Fprintln(a.stdout)
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
	if a.settings.get("index") == filepath.FromSlash(setup.IndexFolder) || a.settings.get("index") == filepath.Join(project, setup.IndexFolder) {
		if !exists(filepath.Join(a.settings.get("index"), artifact.MetadataFile)) {
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
		a.tell(note)
	}
	if p := a.settings.project; p != nil && p.trusted && len(p.needs) > 0 {
		if now, err := a.settings.projectAt(p.path, ownConfig(), func(string) {}); err == nil && !now.trusted {
			a.tell(now.path + " has changed: " + names(now.needs) + " are ignored until you run: " + now.command())
		}
	}
	if found, err := exec.LookPath("deskhand"); err != nil {
		a.tell("deskhand is not on PATH, so agents cannot start it: put " + ownProgram() + " there")
	} else if own, err := os.Executable(); err == nil && !sameFolder(found, own) {
		a.tell("agents start " + found + ", which is another program than this one")
	}
	for _, path := range p.Backups() {
		a.tell("backup: " + path)
	}
	for _, c := range p.Clients {
		if c.Once != "" && c.Status != setup.NoFile {
			fmt.Fprintf(a.stdout, "%s: %s\n", c.Name, c.Once)
		}
	}
	_, err := fmt.Fprintln(a.stdout, "deskhand doctor checks that each agent can connect")
	return err
}

// takeOut plans, shows, asks and takes out.
func (a *app) takeOut(ctx context.Context, e setup.Env, records setup.Records, o setup.Options, yes bool) error {
	plan, err := setup.Removal(e, records, o)
	if err != nil {
		return err
	}
	paint := painter(a.stdout)
	for _, c := range plan.Changes {
		if _, err := fmt.Fprintf(a.stdout, "%s\n", paint.plain(string(c.Diff()))); err != nil {
			return err
		}
	}
	for _, note := range plan.Notes {
		a.tell(note)
	}
	if len(plan.Changes) == 0 && !plan.Index {
		a.tell("there is nothing of init in this project")
		return plan.Apply()
	}
	what := count(len(plan.Changes), "file")
	if plan.Index {
		what += " and the index"
	}
	if err := a.confirmed(ctx, "Take it out of "+what+"?", yes); err != nil {
		return err
	}
	if err := plan.Apply(); err != nil {
		return err
	}
	if plan.Index {
		setup.RemoveIndex(e.Project)
	}
	_, err = fmt.Fprintln(a.stdout, "taken out of "+what)
	return err
}
