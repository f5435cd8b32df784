package attempts

import (
	"context"
	"slices"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// ProjectChange holds the flags that change a project or one of its repositories. Read
// finds out which of them were given.
type ProjectChange struct {
	Repo, Path, Branch, Setup, Cleanup, Dev string
	Sandbox                                 string
	Globs, Hosts                            []string
	Policy, Template, Forge, URL, Share     string // landing settings
	TrustHooks                              bool

	change  tasks.RepoChange     // the given repository fields
	given   bool                 // change has at least one value
	mode    *box.Mode            // sandbox mode, or nil if unchanged
	network []string             // sandbox network, or nil if unchanged
	landing tasks.ProjectLanding // fields that are nil are unchanged
}

// Read takes the flags for which changed is true.
func (p *ProjectChange) Read(changed func(flag string) bool) error {
	for name, field := range map[string]struct {
		to    **string
		value *string
	}{"path": {&p.change.Path, &p.Path}, "branch": {&p.change.TargetBranch, &p.Branch}, "setup": {&p.change.Setup, &p.Setup}, "cleanup": {&p.change.Cleanup, &p.Cleanup}, "dev-server": {&p.change.DevServer, &p.Dev}} {
		if changed(name) {
			*field.to, p.given = field.value, true
		}
	}
	empty := func(s string) bool { return s == "" } // --copy '' means that nothing is copied
	if changed("copy") {
		kept := append([]string{}, slices.DeleteFunc(p.Globs, empty)...)
		p.change.CopyFiles, p.given = &kept, true
	}
	if changed("sandbox") {
		p.mode = (*box.Mode)(&p.Sandbox)
	}
	if changed("sandbox-network") {
		p.network = append([]string{}, slices.DeleteFunc(p.Hosts, empty)...)
	}
	if p.readLanding(changed); !p.given && !p.confines() && !p.lands() {
		return fault.Misuse("nothing to change", "pass at least one of --path, --branch, --setup, --cleanup, --dev-server, --copy, --sandbox, --sandbox-network, --landing, --commit-template, --forge, --forge-url, --share or --trust-hooks")
	}
	return nil
}

func (p *ProjectChange) readLanding(changed func(flag string) bool) {
	if changed("landing") {
		p.landing.Policy = (*tasks.LandingPolicy)(&p.Policy)
	}
	if changed("commit-template") {
		p.landing.Template = &p.Template
	}
	if changed("forge") {
		p.landing.Forge = (*forge.Kind)(&p.Forge)
	}
	if changed("forge-url") {
		p.landing.ForgeURL = &p.URL
	}
	if changed("share") {
		p.landing.Share = (*tasks.ShareWay)(&p.Share)
	}
	p.change.TrustHooks = p.TrustHooks
	p.given = p.given || p.TrustHooks
}

func (p *ProjectChange) lands() bool    { return p.landing != (tasks.ProjectLanding{}) }
func (p *ProjectChange) confines() bool { return p.mode != nil || p.network != nil }

// SetProject makes the changes. A change to the project itself prints its result only if
// it is the last change.
func (c *Command) SetProject(ctx context.Context, project string, p *ProjectChange) error {
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
	return c.SetRepo(ctx, project, p.Repo, p.change)
}
