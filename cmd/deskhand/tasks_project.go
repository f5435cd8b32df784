package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/tasks"
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

// landingFlags adds the flags that set how the project's work is landed.
func landingFlags(f *pflag.FlagSet, p *attempts.ProjectChange) {
	f.BoolVar(&p.TrustHooks, "trust-hooks", false, "trust the repository's current hooks: run them when work lands")
	f.StringVar(&p.Policy, "landing", "", "whether agents may land its attempts: ask, allow or never ('': ask)")
	f.StringVar(&p.Template, "commit-template", "", "commit message for landing, with {title}, {summary}, {coauthor} ('': the default)")
	f.StringVar(&p.Forge, "forge", "", "forge for pull requests: github, gitlab or gitea ('': determined by the host)")
	f.StringVar(&p.Share, "share", "", "how other machines get its attempts' commits: store, remote or off ('': store)")
	f.StringVar(&p.URL, "forge-url", "", "address of the forge's API ('': determined by the host)")
}

func tasksProjectSetCommand(a *app) *cobra.Command {
	var p attempts.ProjectChange
	cmd := &cobra.Command{
		Use:   "set PROJECT",
		Short: "Change a project or one of its repositories; settings without a flag stay unchanged",
		Example: "  deskhand tasks project set shop --setup 'npm ci' --copy .env\n" +
			"  deskhand tasks project set shop --dev-server 'npm run dev -- --port $PORT'\n" +
			"  deskhand tasks project set shop --cleanup ''\n  deskhand tasks project set shop --path ~/src/shop",
		PreRunE: func(cmd *cobra.Command, _ []string) error { return p.Read(cmd.Flags().Changed) },
	}
	flags := cmd.Flags()
	flags.StringVar(&p.Repo, "repo", "", "name of the repository (default: the only one)")
	flags.StringVar(&p.Path, "path", "", "current path of the repository")
	flags.StringVar(&p.Branch, "branch", "", "branch that attempts start from")
	flags.StringVar(&p.Setup, "setup", "", "script to run in a new worktree before the agent starts ('': none)")
	flags.StringVar(&p.Cleanup, "cleanup", "", "script to run after the agent if it changed files ('': none)")
	flags.StringVar(&p.Dev, "dev-server", "", "command that serves an attempt's work on the port in $PORT ('': none)")
	flags.StringArrayVar(&p.Globs, "copy", nil, "untracked files that a worktree needs (repeatable; '': none)")
	flags.StringVar(&p.Sandbox, "sandbox", "", "sandbox for its agents: auto, bwrap, landlock, container or none ('': use the settings)")
	flags.StringSliceVar(&p.Hosts, "sandbox-network", nil, "network of the sandbox: on, off, or hosts ('': use the settings)")
	landingFlags(flags, &p)
	const asJSON = "print the repository as JSON, or the project if no flag changes a repository"
	return a.onProject(cmd, asJSON, func(ctx context.Context, c *attempts.Command, args []string) error {
		return c.SetProject(ctx, args[0], &p)
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
