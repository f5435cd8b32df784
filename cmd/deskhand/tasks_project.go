package main

import (
	"context"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

func tasksProjectCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "project COMMAND",
		Short: "Create, list and change projects",
		Args:  arguments(1, 1, "add, ls, show, set, mv or rm"),
		RunE:  func(cmd *cobra.Command, args []string) error { return unknownOf(cmd, args[0]) },
	}
	cmd.AddCommand(tasksProjectAddCommand(a), tasksProjectListCommand(a), tasksProjectShowCommand(a), tasksProjectSetCommand(a), tasksProjectMoveCommand(a), tasksProjectRemoveCommand(a))
	return cmd
}

func tasksProjectAddCommand(a *app) *cobra.Command {
	var project string
	var repo tasks.Repo
	var none tasks.RepoChange // settings that were given as empty
	cmd := &cobra.Command{
		Use:   "add PATH --name NAME",
		Short: "Add a git repository to a project, and create the project if it doesn't exist",
		Long: "Add a git repository to a project, and create the project if it doesn't exist. If the project already\n" +
			"has the repository, the flags change its settings. A repository that was moved is recognized by its\n" +
			"first commit.",
		Args: arguments(1, 1, "the folder of a git repository"),
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(project) == "" {
				return misuse("--name is missing", "name the project: deskhand tasks project add PATH --name NAME")
			}
			repo.Path = args[0]
			for name, field := range map[string]**string{"setup": &none.Setup, "cleanup": &none.Cleanup} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					*field = new(string)
				}
			}
			return nil
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&project, "name", "", "name of the project")
	flags.StringVar(&repo.Name, "repo", "", "name of the repository (default: its folder's name)")
	flags.StringVar(&repo.TargetBranch, "branch", "", "branch that attempts start from (default: the checked-out branch)")
	flags.StringVar(&repo.Setup, "setup", "", "script to run in a new worktree before the agent starts")
	flags.StringVar(&repo.Cleanup, "cleanup", "", "script to run after the agent if it changed files")
	flags.StringArrayVar(&repo.CopyFiles, "copy", nil, "untracked files that a worktree needs, for example .env or config/*.local (repeatable)")
	return a.working(cmd, "print the repository as JSON", func(ctx context.Context, c *attempts.Command, _ []string) error {
		return c.AddRepo(ctx, project, repo, none)
	})
}

func tasksProjectListCommand(a *app) *cobra.Command {
	return a.working(&cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the projects and their repositories",
		Args:    arguments(0, 0, "no arguments"),
	}, answerOf("list_projects"), func(ctx context.Context, c *attempts.Command, _ []string) error { return c.Projects(ctx) })
}

func tasksExecutorsCommand(a *app) *cobra.Command {
	return a.working(&cobra.Command{
		Use:   "executors",
		Short: "List the available coding agents, and why others are unavailable",
		Args:  arguments(0, 0, "no arguments"),
	}, answerOf("list_executors"), func(ctx context.Context, c *attempts.Command, _ []string) error { return c.Executors(ctx) })
}

func tasksProjectShowCommand(a *app) *cobra.Command {
	return a.onProject(&cobra.Command{
		Use:   "show PROJECT",
		Short: "Show the repositories of a project with their paths, scripts and files to copy",
	}, "print them as JSON", func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.ShowProject(ctx, args[0])
	})
}

// projectChange holds the flags that change a project or one of its repositories.
type projectChange struct {
	repo, path, branch, setup, cleanup string
	sandbox                            string
	globs, hosts                       []string
	policy, template, forge, url       string // landing settings

	change  tasks.RepoChange     // the given repository fields
	given   bool                 // change has at least one value
	mode    *box.Mode            // sandbox mode, or nil if unchanged
	network []string             // sandbox network, or nil if unchanged
	landing tasks.ProjectLanding // fields that are nil are unchanged
}

// landingFlags adds the flags that set how the project's work is landed.
func (p *projectChange) landingFlags(f *pflag.FlagSet) {
	f.BoolVar(&p.change.TrustHooks, "trust-hooks", false, "trust the repository's current hooks: run them when work lands")
	f.StringVar(&p.policy, "landing", "", "whether agents may land its attempts: ask, allow or never ('': ask)")
	f.StringVar(&p.template, "commit-template", "", "commit message for landing, with {title}, {summary}, {coauthor} ('': the default)")
	f.StringVar(&p.forge, "forge", "", "forge for pull requests: github, gitlab or gitea ('': determined by the host)")
	f.StringVar(&p.url, "forge-url", "", "address of the forge's API ('': determined by the host)")
}

// readLanding sets the landing fields from the flags that were given.
func (p *projectChange) readLanding(changed func(string) bool) {
	if changed("landing") {
		p.landing.Policy = (*tasks.LandingPolicy)(&p.policy)
	}
	if changed("commit-template") {
		p.landing.Template = &p.template
	}
	if changed("forge") {
		p.landing.Forge = (*forge.Kind)(&p.forge)
	}
	if changed("forge-url") {
		p.landing.ForgeURL = &p.url
	}
	p.given = p.given || p.change.TrustHooks
}

func (p *projectChange) lands() bool    { return p.landing != (tasks.ProjectLanding{}) }
func (p *projectChange) confines() bool { return p.mode != nil || p.network != nil }

// do makes the changes. A change to the project itself prints its result only if it is
// the last change.
func (p *projectChange) do(ctx context.Context, c *attempts.Command, project string) error {
	if p.lands() {
		if err := c.SetLanding(ctx, project, p.landing, !p.given && !p.confines()); err != nil {
			return err
		}
	}
	if p.confines() {
		if err := c.Confine(ctx, project, p.mode, p.network, !p.given); err != nil {
			return err
		}
	}
	if !p.given {
		return nil
	}
	return c.SetRepo(ctx, project, p.repo, p.change)
}

// read sets the fields from the flags that were given.
func (p *projectChange) read(cmd *cobra.Command) error {
	changed := cmd.Flags().Changed
	for name, field := range map[string]struct {
		to    **string
		value *string
	}{"path": {&p.change.Path, &p.path}, "branch": {&p.change.TargetBranch, &p.branch}, "setup": {&p.change.Setup, &p.setup}, "cleanup": {&p.change.Cleanup, &p.cleanup}} {
		if changed(name) {
			*field.to, p.given = field.value, true
		}
	}
	empty := func(s string) bool { return s == "" } // --copy '' means that nothing is copied
	if changed("copy") {
		kept := append([]string{}, slices.DeleteFunc(p.globs, empty)...)
		p.change.CopyFiles, p.given = &kept, true
	}
	if changed("sandbox") {
		p.mode = (*box.Mode)(&p.sandbox)
	}
	if changed("sandbox-network") {
		p.network = append([]string{}, slices.DeleteFunc(p.hosts, empty)...)
	}
	if p.readLanding(changed); !p.given && !p.confines() && !p.lands() {
		return misuse("nothing to change", "pass at least one of --path, --branch, --setup, --cleanup, --copy, --sandbox, --sandbox-network, --landing, --commit-template, --forge, --forge-url or --trust-hooks")
	}
	return nil
}

func tasksProjectSetCommand(a *app) *cobra.Command {
	var p projectChange
	cmd := &cobra.Command{
		Use:   "set PROJECT",
		Short: "Change a project or one of its repositories; settings without a flag stay unchanged",
		Example: "  deskhand tasks project set shop --setup 'npm ci' --copy .env\n" +
			"  deskhand tasks project set shop --cleanup ''\n  deskhand tasks project set shop --path ~/src/shop",
		PreRunE: func(cmd *cobra.Command, _ []string) error { return p.read(cmd) },
	}
	flags := cmd.Flags()
	flags.StringVar(&p.repo, "repo", "", "name of the repository (default: the only one)")
	flags.StringVar(&p.path, "path", "", "current path of the repository")
	flags.StringVar(&p.branch, "branch", "", "branch that attempts start from")
	flags.StringVar(&p.setup, "setup", "", "script to run in a new worktree before the agent starts ('': none)")
	flags.StringVar(&p.cleanup, "cleanup", "", "script to run after the agent if it changed files ('': none)")
	flags.StringArrayVar(&p.globs, "copy", nil, "untracked files that a worktree needs (repeatable; '': none)")
	flags.StringVar(&p.sandbox, "sandbox", "", "sandbox for its agents: auto, bwrap, landlock, container or none ('': use the settings)")
	flags.StringSliceVar(&p.hosts, "sandbox-network", nil, "network of the sandbox: on, off, or hosts ('': use the settings)")
	p.landingFlags(flags)
	const asJSON = "print the repository as JSON, or the project if no flag changes a repository"
	return a.onProject(cmd, asJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return p.do(ctx, c, args[0])
	})
}

func tasksProjectMoveCommand(a *app) *cobra.Command {
	return a.onProject(&cobra.Command{
		Use:     "mv PROJECT NAME",
		Aliases: []string{"rename"},
		Short:   "Rename a project",
		Args:    arguments(2, 2, "a project and its new name"),
	}, "", func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.RenameProject(ctx, args[0], args[1])
	})
}

func tasksProjectRemoveCommand(a *app) *cobra.Command {
	var repo string
	cmd := &cobra.Command{
		Use:   "rm PROJECT",
		Short: "Delete a project that has no tasks, or remove a repository from one",
		Long: "Delete a project that has no tasks. With --repo, only remove one repository from the project. Nothing on\n" +
			"disk is deleted, and attempts that use the repository stay unchanged.",
	}
	cmd.Flags().StringVar(&repo, "repo", "", "name of a repository to remove; the project stays")
	return a.onProject(cmd, "", func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.RemoveProject(ctx, args[0], repo)
	})
}
