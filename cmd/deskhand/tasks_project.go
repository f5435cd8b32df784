package main

import (
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

func tasksProjectCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "project COMMAND",
		Short: "Make projects of git repositories, list and change them",
		Args:  arguments(1, 1, "add, ls, show, set, mv or rm"),
		RunE:  func(cmd *cobra.Command, args []string) error { return unknownOf(cmd, args[0]) },
	}
	cmd.AddCommand(tasksProjectAddCommand(a), tasksProjectListCommand(a), tasksProjectShowCommand(a), tasksProjectSetCommand(a), tasksProjectMoveCommand(a), tasksProjectRemoveCommand(a))
	return cmd
}

func tasksProjectAddCommand(a *app) *cobra.Command {
	var project string
	var repo tasks.Repo
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "add PATH --name NAME",
		Short: "Add a git repository to the project of that name, which is made if need be",
		Long: "Add a git repository to the project of that name, which is made if need be. One that the project has is\n" +
			"changed, and keeps what no flag names; one that was moved is found again by its first commit.",
		Args: arguments(1, 1, "the folder of a git repository"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if strings.TrimSpace(project) == "" {
				return misuse("--name is missing", "name the project: deskhand tasks project add PATH --name NAME")
			}
			repo.Path = args[0]
			var none tasks.RepoChange // of what is given and empty
			for name, field := range map[string]**string{"setup": &none.Setup, "cleanup": &none.Cleanup} {
				if f := cmd.Flags().Lookup(name); f.Changed && f.Value.String() == "" {
					*field = new(string)
				}
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.addRepo(cmd.Context(), project, repo, none) })
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&project, "name", "", "name of the project")
	flags.StringVar(&repo.Name, "repo", "", "name of the repository (default: that of its folder)")
	flags.StringVar(&repo.TargetBranch, "branch", "", "branch that attempts start from (default: the one checked out)")
	flags.StringVar(&repo.Setup, "setup", "", "script to run in a new worktree before the agent")
	flags.StringVar(&repo.Cleanup, "cleanup", "", "script to run after an agent that has changed something")
	flags.StringArrayVar(&repo.CopyFiles, "copy", nil, "files that git does not track and a worktree needs, as .env or config/*.local (repeat)")
	flags.BoolVar(&asJSON, "json", false, "print what was made as JSON")
	return cmd
}

func (b *bench) addRepo(ctx context.Context, project string, repo tasks.Repo, none tasks.RepoChange) error {
	p, r, err := b.manager.AddRepo(ctx, project, repo)
	if err == nil && none != (tasks.RepoChange{}) {
		r, err = b.manager.SetRepo(ctx, p.ID, r.Name, none)
	}
	if err != nil {
		return err
	}
	if b.asJSON {
		return b.json(struct {
			ProjectID    contract.UUID `json:"project_id"`
			Name         string        `json:"name"`
			RepoID       contract.UUID `json:"repo_id"`
			RepoName     string        `json:"repo_name"`
			TargetBranch string        `json:"default_target_branch"`
		}{contract.UUID(p.ID), p.Name, contract.UUID(r.ID), r.Name, r.TargetBranch})
	}
	return b.line("%s  project %s has repository %s, attempts start from %s", brief(p.ID), p.Name, r.Name, r.TargetBranch)
}

func tasksProjectListCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "ls",
		Aliases: []string{"list"},
		Short:   "List the projects and their repositories",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.projects(cmd.Context()) })
		},
	}
	jsonFlag(cmd, &asJSON, "list_projects")
	return cmd
}

func (b *bench) projects(ctx context.Context) error {
	var out work.Projects
	return b.show(ctx, "list_projects", map[string]any{"limit": 500}, &out, func() error {
		if out.Count == 0 {
			b.tell("no project yet, make one with deskhand tasks project add PATH --name NAME")
			return nil
		}
		w := tabwriter.NewWriter(b.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tPROJECT\tREPOSITORY\tBRANCH")
		paint := painter(b.stdout)
		for _, p := range out.Projects {
			var repos work.Repos
			if _, err := b.call(ctx, "list_repos", map[string]any{"project_id": p.ID}, &repos); err != nil {
				return err
			}
			for _, r := range repos.Repos {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", brief(p.ID), paint.plain(p.Name), paint.plain(r.Name), orDash(r.TargetBranch))
			}
			if repos.Count == 0 {
				fmt.Fprintf(w, "%s\t%s\t-\t-\n", brief(p.ID), paint.plain(p.Name))
			}
		}
		return w.Flush()
	})
}

func tasksExecutorsCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "executors",
		Short: "List the coding agents that can be started, and why others cannot",
		Args:  arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error { return b.executors(cmd.Context()) })
		},
	}
	jsonFlag(cmd, &asJSON, "list_executors")
	return cmd
}

func (b *bench) executors(ctx context.Context) error {
	var out work.Executors
	return b.show(ctx, "list_executors", nil, &out, func() error {
		w := tabwriter.NewWriter(b.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "EXECUTOR\tKIND\tVARIANTS\tSTATE")
		paint := painter(b.stdout)
		for _, e := range out.Executors {
			state := "ready"
			if e.UnavailableReason != nil {
				state = paint.plain(*e.UnavailableReason)
			}
			variants := strings.Join(e.Variants, ",")
			if variants == "" {
				variants = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", paint.plain(e.ID), e.Protocol, paint.plain(variants), state)
		}
		return w.Flush()
	})
}
