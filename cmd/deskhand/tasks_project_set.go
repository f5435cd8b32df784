package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// repoAnswer is a repository of a project as JSON.
type repoAnswer struct {
	ProjectID    contract.UUID `json:"project_id"`
	RepoID       contract.UUID `json:"repo_id"`
	RepoName     string        `json:"repo_name"`
	Path         string        `json:"path"`
	TargetBranch string        `json:"default_target_branch"`
	Setup        string        `json:"setup"`
	Cleanup      string        `json:"cleanup"`
	CopyFiles    []string      `json:"copy"`
}

func repoAnswerOf(r tasks.Repo) repoAnswer {
	return repoAnswer{contract.UUID(r.ProjectID), contract.UUID(r.ID), r.Name, r.Path, r.TargetBranch, r.Setup, r.Cleanup, append([]string{}, r.CopyFiles...)}
}

func (b *bench) printRepo(r tasks.Repo) error {
	text := fmt.Sprintf("%s  %s\npath      %s\nbranch    %s\n", brief(r.ID), r.Name, r.Path, r.TargetBranch)
	for _, one := range [][2]string{{"setup", r.Setup}, {"cleanup", r.Cleanup}, {"copy", strings.Join(r.CopyFiles, ", ")}} {
		if one[1] != "" {
			text += fmt.Sprintf("%-9s %s\n", one[0], oneLine(one[1]))
		}
	}
	return b.line("%s", strings.TrimRight(text, "\n"))
}

func tasksProjectShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show PROJECT",
		Short:             "Show the repositories of a project with their paths, scripts and files to copy",
		Args:              arguments(1, 1, "a project"),
		ValidArgsFunction: a.ids(tasks.KindProject),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				id, err := b.project(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				repos, err := b.manager.Repos(cmd.Context(), id)
				if err != nil {
					return err
				}
				if b.asJSON {
					out := []repoAnswer{}
					for _, r := range repos {
						out = append(out, repoAnswerOf(r))
					}
					return b.json(out)
				}
				for _, r := range repos {
					if err := b.printRepo(r); err != nil {
						return err
					}
				}
				if len(repos) == 0 {
					b.tell("the project has no repository, add one with deskhand tasks project add PATH --name NAME")
				}
				return nil
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print them as JSON")
	return cmd
}

func tasksProjectSetCommand(a *app) *cobra.Command {
	var repo, path, branch, setup, cleanup string
	var sandbox string
	var landing landingFlags
	var trustHooks bool
	var globs, hosts []string
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "set PROJECT",
		Short: "Change a project or a repository of it: what no flag names stays",
		Example: "  deskhand tasks project set shop --setup 'npm ci' --copy .env\n" +
			"  deskhand tasks project set shop --cleanup ''\n  deskhand tasks project set shop --path ~/src/shop",
		Args:              arguments(1, 1, "a project"),
		ValidArgsFunction: a.ids(tasks.KindProject),
		RunE: func(cmd *cobra.Command, args []string) error {
			change, given := repoChange(cmd, path, branch, setup, cleanup, globs)
			confine := cmd.Flags().Changed("sandbox") || cmd.Flags().Changed("sandbox-network")
			lands := landing.given(cmd)
			if change.TrustHooks = trustHooks; trustHooks {
				given = true
			}
			if !given && !confine && !lands {
				return misuse("nothing to change", "give --path, --branch, --setup, --cleanup, --copy, --sandbox, --sandbox-network, --landing, --commit-template, --forge, --forge-url or --trust-hooks")
			}
			return a.withBench(cmd.Context(), asJSON, func(b *bench) error {
				if lands {
					if err := b.setLanding(cmd, args[0], landing, !given && !confine); err != nil || !given && !confine {
						return err
					}
				}
				if confine {
					if err := b.confine(cmd, args[0], sandbox, hosts, !given); err != nil || !given {
						return err
					}
				}
				return b.setRepo(cmd.Context(), args[0], repo, change)
			})
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&repo, "repo", "", "name of the repository (default: the only one)")
	flags.StringVar(&path, "path", "", "where it is now")
	flags.StringVar(&branch, "branch", "", "branch that attempts start from")
	flags.StringVar(&setup, "setup", "", "script to run in a new worktree before the agent ('': none)")
	flags.StringVar(&cleanup, "cleanup", "", "script to run after an agent that has changed something ('': none)")
	flags.StringArrayVar(&globs, "copy", nil, "files that git does not track and a worktree needs (repeat; '': none)")
	flags.StringVar(&sandbox, "sandbox", "", "what its agents run in: auto, bwrap, landlock, container or none ('': what the settings say)")
	flags.StringSliceVar(&hosts, "sandbox-network", nil, "what they reach from there: on, off, or hosts ('': what the settings say)")
	flags.BoolVar(&trustHooks, "trust-hooks", false, "let the repository's hooks run that are there now, when work lands")
	landing.flags(cmd)
	flags.BoolVar(&asJSON, "json", false, "print the repository as JSON, or the project if no flag is about a repository")
	return cmd
}

// repoChange is what the flags say of a repository; given is false if they say
// nothing.
func repoChange(cmd *cobra.Command, path, branch, setup, cleanup string, globs []string) (change tasks.RepoChange, given bool) {
	for name, field := range map[string]struct {
		to    **string
		value *string
	}{"path": {&change.Path, &path}, "branch": {&change.TargetBranch, &branch}, "setup": {&change.Setup, &setup}, "cleanup": {&change.Cleanup, &cleanup}} {
		if cmd.Flags().Changed(name) {
			*field.to, given = field.value, true
		}
	}
	if cmd.Flags().Changed("copy") {
		kept := []string{}
		for _, g := range globs {
			if g != "" { // --copy '' is none
				kept = append(kept, g)
			}
		}
		change.CopyFiles, given = &kept, true
	}
	return change, given
}

// confinedAnswer is the sandbox of a project as JSON.
type confinedAnswer struct {
	ProjectID contract.UUID `json:"project_id"`
	Sandbox   box.Mode      `json:"sandbox"`         // empty: what the settings say
	Network   []string      `json:"sandbox_network"` // empty: what the settings say
}

// confine sets the sandbox of a project, and says so if that is all.
func (b *bench) confine(cmd *cobra.Command, project, sandbox string, hosts []string, all bool) error {
	id, err := b.project(cmd.Context(), project)
	if err != nil {
		return err
	}
	var mode *box.Mode
	if cmd.Flags().Changed("sandbox") {
		mode = (*box.Mode)(&sandbox)
	}
	if hosts = slices.DeleteFunc(hosts, func(h string) bool { return h == "" }); cmd.Flags().Changed("sandbox-network") && hosts == nil {
		hosts = []string{}
	}
	p, err := b.manager.Confine(cmd.Context(), id, mode, hosts)
	if err != nil || !all {
		return err
	}
	if b.asJSON {
		return b.json(confinedAnswer{contract.UUID(p.ID), p.Sandbox, append([]string{}, p.Network...)})
	}
	return b.printSandbox(p)
}

// landingAnswer is how work of a project is landed, as JSON.
type landingAnswer struct {
	ProjectID contract.UUID       `json:"project_id"`
	Landing   tasks.LandingPolicy `json:"landing"`
	Template  string              `json:"commit_template"` // empty: the usual one
	Forge     forge.Kind          `json:"forge"`           // empty: the host says it
	ForgeURL  string              `json:"forge_url"`       // empty: that of the host
}

// landingFlags say how work of a project is landed.
type landingFlags struct{ policy, template, forge, url string }

func (f *landingFlags) flags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.policy, "landing", "", "whether agents may land its attempts: ask, allow or never ('': ask)")
	flags.StringVar(&f.template, "commit-template", "", "message of a commit that lands, with {title}, {summary}, {coauthor} ('': the usual one)")
	flags.StringVar(&f.forge, "forge", "", "where its pull requests go: github, gitlab or gitea ('': the host says it)")
	flags.StringVar(&f.url, "forge-url", "", "address of that forge's API ('': that of the host)")
}

func (*landingFlags) given(cmd *cobra.Command) bool {
	return slices.ContainsFunc([]string{"landing", "commit-template", "forge", "forge-url"}, cmd.Flags().Changed)
}

// setLanding says how work of a project is landed, and prints that if it is all.
func (b *bench) setLanding(cmd *cobra.Command, project string, f landingFlags, all bool) error {
	id, err := b.project(cmd.Context(), project)
	if err != nil {
		return err
	}
	var c tasks.ProjectLanding
	if cmd.Flags().Changed("landing") {
		c.Policy = (*tasks.LandingPolicy)(&f.policy)
	}
	if cmd.Flags().Changed("commit-template") {
		c.Template = &f.template
	}
	if cmd.Flags().Changed("forge") {
		c.Forge = (*forge.Kind)(&f.forge)
	}
	if cmd.Flags().Changed("forge-url") {
		c.ForgeURL = &f.url
	}
	p, err := b.manager.SetLanding(cmd.Context(), id, c)
	if err != nil || !all {
		return err
	}
	out := landingAnswer{contract.UUID(p.ID), cmp.Or(p.Landing, tasks.AskToLand), p.CommitTemplate, p.Forge, p.ForgeURL}
	if b.asJSON {
		return b.json(out)
	}
	return b.line("%s  %s\nlanding   %s\nmessage   %s\nforge     %s", brief(p.ID), p.Name, out.Landing, cmp.Or(oneLine(out.Template), "the usual one"), cmp.Or(strings.TrimSpace(string(out.Forge)+" "+out.ForgeURL), "as the host says"))
}

// printSandbox prints what a project says of its agents' sandbox.
func (b *bench) printSandbox(p tasks.Project) error {
	mode, network := string(p.Sandbox), strings.Join(p.Network, ", ")
	return b.line("%s  %s\nsandbox   %s\nnetwork   %s", brief(p.ID), p.Name, cmp.Or(mode, "as in the settings"), cmp.Or(network, "as in the settings"))
}

func (b *bench) setRepo(ctx context.Context, project, repo string, change tasks.RepoChange) error {
	id, err := b.project(ctx, project)
	if err != nil {
		return err
	}
	r, err := b.manager.SetRepo(ctx, id, repo, change)
	if err != nil {
		return err
	}
	if b.asJSON {
		return b.json(repoAnswerOf(r))
	}
	return b.printRepo(r)
}

func tasksProjectMoveCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "mv PROJECT NAME",
		Aliases:           []string{"rename"},
		Short:             "Give a project another name",
		Args:              arguments(2, 2, "a project and its new name"),
		ValidArgsFunction: a.ids(tasks.KindProject),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), false, func(b *bench) error {
				id, err := b.project(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				p, err := b.manager.RenameProject(cmd.Context(), id, args[1])
				if err != nil {
					return err
				}
				return b.line("%s  %s", brief(p.ID), p.Name)
			})
		},
	}
}

func tasksProjectRemoveCommand(a *app) *cobra.Command {
	var repo string
	cmd := &cobra.Command{
		Use:   "rm PROJECT",
		Short: "Delete a project that has no tasks, or take a repository out of one",
		Long: "Delete a project that has no tasks, or with --repo take a repository out of one. Nothing on the disk is\n" +
			"deleted; attempts that have the repository stay as they are.",
		Args:              arguments(1, 1, "a project"),
		ValidArgsFunction: a.ids(tasks.KindProject),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.withBench(cmd.Context(), false, func(b *bench) error {
				id, err := b.project(cmd.Context(), args[0])
				if err != nil {
					return err
				}
				if repo != "" {
					r, err := b.manager.RemoveRepo(cmd.Context(), id, repo)
					if err != nil {
						return err
					}
					return b.line("%s  %s taken out", brief(r.ID), r.Name)
				}
				if err := b.manager.RemoveProject(cmd.Context(), id); err != nil {
					return err
				}
				return b.line("%s  deleted", brief(id))
			})
		},
	}
	cmd.Flags().StringVar(&repo, "repo", "", "name of a repository to take out; the project stays")
	return cmd
}
