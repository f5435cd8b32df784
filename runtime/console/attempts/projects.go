package attempts

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tools/work"
)

// AddRepo adds a repository to the project with this name, and creates the project if
// necessary. none holds the fields to clear.
func (c *Command) AddRepo(ctx context.Context, project string, repo tasks.Repo, none tasks.RepoChange) error {
	before, _ := c.Manager.Find(ctx, tasks.KindProject, project) // AddRepo reports what is wrong
	p, r, err := c.Manager.AddRepo(ctx, project, repo)
	if err == nil && none != (tasks.RepoChange{}) {
		r, err = c.Manager.SetRepo(ctx, p.ID, r.Name, none)
	}
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.JSON(struct {
			ProjectID    contract.UUID `json:"project_id"`
			Name         string        `json:"name"`
			RepoID       contract.UUID `json:"repo_id"`
			RepoName     string        `json:"repo_name"`
			TargetBranch string        `json:"default_target_branch"`
		}{contract.UUID(p.ID), p.Name, contract.UUID(r.ID), r.Name, r.TargetBranch})
	}
	if repos, err := c.Manager.Repos(ctx, p.ID); err == nil && len(repos) > 1 && before == p.ID && r.Created.Equal(r.Updated) {
		c.Tell(fmt.Sprintf("project %s was there before, and now has %d repositories; each attempt works in all of them unless --repo chooses", p.Name, len(repos)))
	}
	return c.Line("%s  project %s has repository %s; attempts start from %s", brief(p.ID), p.Name, r.Name, r.TargetBranch)
}

// Projects prints the projects and their repositories.
func (c *Command) Projects(ctx context.Context) error {
	var out work.Projects
	return c.answer(ctx, "list_projects", map[string]any{"limit": 500}, &out, func() error {
		if out.Count == 0 {
			c.Tell("there is no project yet; create one: deskhand tasks project add PATH --name NAME")
			return nil
		}
		w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "ID\tPROJECT\tREPOSITORY\tBRANCH")
		paint := console.PainterFor(c.Stdout)
		for _, p := range out.Projects {
			var repos work.Repos
			if _, err := c.call(ctx, "list_repos", map[string]any{"project_id": p.ID}, &repos); err != nil {
				return err
			}
			for _, r := range repos.Repos {
				fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", brief(p.ID), paint.Plain(p.Name), paint.Plain(r.Name), orDash(r.TargetBranch))
			}
			if repos.Count == 0 {
				fmt.Fprintf(w, "%s\t%s\t-\t-\n", brief(p.ID), paint.Plain(p.Name))
			}
		}
		return w.Flush()
	})
}

// Executors prints the coding agents, and why some cannot be started.
func (c *Command) Executors(ctx context.Context) error {
	var out work.Executors
	return c.answer(ctx, "list_executors", nil, &out, func() error {
		w := tabwriter.NewWriter(c.Stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "EXECUTOR\tKIND\tVARIANTS\tSTATE")
		paint := console.PainterFor(c.Stdout)
		for _, e := range out.Executors {
			state := paint.Code("ready", "32")
			if e.UnavailableReason != nil {
				state = paint.Plain(*e.UnavailableReason)
			}
			variants := strings.Join(e.Variants, ",")
			if variants == "" {
				variants = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", paint.Plain(e.ID), e.Protocol, paint.Plain(variants), state)
		}
		return w.Flush()
	})
}

// repoAnswer is the JSON of a project's repository.
type repoAnswer struct {
	ProjectID    contract.UUID `json:"project_id"`
	RepoID       contract.UUID `json:"repo_id"`
	RepoName     string        `json:"repo_name"`
	Path         string        `json:"path"`
	TargetBranch string        `json:"default_target_branch"`
	Setup        string        `json:"setup"`
	Cleanup      string        `json:"cleanup"`
	DevServer    string        `json:"dev_server"`
	CopyFiles    []string      `json:"copy"`
}

func repoAnswerOf(r tasks.Repo) repoAnswer {
	return repoAnswer{contract.UUID(r.ProjectID), contract.UUID(r.ID), r.Name, r.Path, r.TargetBranch, r.Setup, r.Cleanup, r.DevServer, append([]string{}, r.CopyFiles...)}
}

func (c *Command) printRepo(r tasks.Repo) error {
	text := fmt.Sprintf("%s  %s\npath      %s\nbranch    %s\n", brief(r.ID), r.Name, r.Path, r.TargetBranch)
	for _, one := range [][2]string{{"setup", r.Setup}, {"cleanup", r.Cleanup}, {"dev", r.DevServer}, {"copy", strings.Join(r.CopyFiles, ", ")}} {
		if one[1] != "" {
			text += fmt.Sprintf("%-9s %s\n", one[0], console.OneLine(one[1]))
		}
	}
	return c.Line("%s", strings.TrimRight(text, "\n"))
}

// confinedAnswer is the JSON of a project's sandbox.
type confinedAnswer struct {
	ProjectID contract.UUID `json:"project_id"`
	Sandbox   box.Mode      `json:"sandbox"`         // empty: the mode in the settings
	Network   []string      `json:"sandbox_network"` // empty: the network in the settings
}

// Confine sets a project's sandbox mode and network, unless they are nil. An empty
// network means the network in the settings. all is true if no other change follows;
// Confine then also prints the result.
func (c *Command) Confine(ctx context.Context, project string, mode *box.Mode, network []string, all bool) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	p, err := c.Manager.Confine(ctx, id, mode, network)
	if err != nil || !all {
		return err
	}
	if c.AsJSON {
		return c.JSON(confinedAnswer{contract.UUID(p.ID), p.Sandbox, append([]string{}, p.Network...)})
	}
	return c.printSandbox(p)
}

// printSandbox prints a project's sandbox settings.
func (c *Command) printSandbox(p tasks.Project) error {
	mode, network := string(p.Sandbox), strings.Join(p.Network, ", ")
	return c.Line("%s  %s\nsandbox   %s\nnetwork   %s", brief(p.ID), p.Name, cmp.Or(mode, "from the settings"), cmp.Or(network, "from the settings"))
}

// landingAnswer is the JSON of a project's landing settings.
type landingAnswer struct {
	ProjectID contract.UUID       `json:"project_id"`
	Landing   tasks.LandingPolicy `json:"landing"`
	Template  string              `json:"commit_template"` // empty: the default template
	Forge     forge.Kind          `json:"forge"`           // empty: determined by the host
	ForgeURL  string              `json:"forge_url"`       // empty: the host's address
	Share     tasks.ShareWay      `json:"share"`
}

// SetLanding sets how a project's work is landed. all is true if no other change
// follows; SetLanding then also prints the result.
func (c *Command) SetLanding(ctx context.Context, project string, landing tasks.ProjectLanding, all bool) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	p, err := c.Manager.SetLanding(ctx, id, landing)
	if err != nil || !all {
		return err
	}
	out := landingAnswer{contract.UUID(p.ID), cmp.Or(p.Landing, tasks.AskToLand), p.CommitTemplate, p.Forge, p.ForgeURL, cmp.Or(p.Share, tasks.ShareInStore)}
	if c.AsJSON {
		return c.JSON(out)
	}
	return c.Line("%s  %s\nlanding   %s\nmessage   %s\nforge     %s\nshare     %s", brief(p.ID), p.Name, out.Landing,
		cmp.Or(console.OneLine(out.Template), "default"), cmp.Or(strings.TrimSpace(string(out.Forge)+" "+out.ForgeURL), "determined by the host"), out.Share)
}

// SetRepo changes a project's repository. An empty repo means the project's only
// repository.
func (c *Command) SetRepo(ctx context.Context, project, repo string, change tasks.RepoChange) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	r, err := c.Manager.SetRepo(ctx, id, repo, change)
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.JSON(repoAnswerOf(r))
	}
	return c.printRepo(r)
}

// ShowProject prints a project's repositories.
func (c *Command) ShowProject(ctx context.Context, project string) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	repos, err := c.Manager.Repos(ctx, id)
	if err != nil {
		return err
	}
	if c.AsJSON {
		out := []repoAnswer{}
		for _, r := range repos {
			out = append(out, repoAnswerOf(r))
		}
		return c.JSON(out)
	}
	for _, r := range repos {
		if err := c.printRepo(r); err != nil {
			return err
		}
	}
	if len(repos) == 0 {
		c.Tell("the project has no repository; add one: deskhand tasks project add PATH --name NAME")
	}
	return nil
}

// RenameProject renames a project.
func (c *Command) RenameProject(ctx context.Context, project, name string) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	p, err := c.Manager.RenameProject(ctx, id, name)
	if err != nil {
		return err
	}
	return c.Line("%s  %s", brief(p.ID), p.Name)
}

// RemoveProject deletes a project. If repo is not empty, it only removes that
// repository from the project.
func (c *Command) RemoveProject(ctx context.Context, project, repo string) error {
	id, err := c.project(ctx, project)
	if err != nil {
		return err
	}
	if repo != "" {
		r, err := c.Manager.RemoveRepo(ctx, id, repo)
		if err != nil {
			return err
		}
		return c.Line("%s  %s removed", brief(r.ID), r.Name)
	}
	if err := c.Manager.RemoveProject(ctx, id); err != nil {
		return err
	}
	return c.Line("%s  deleted", brief(id))
}
