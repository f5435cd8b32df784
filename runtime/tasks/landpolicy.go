package tasks

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/store"
)

// Landing policies of a project. They control what an agent outside the
// attempts may do with the project's attempts.
const (
	// AskToLand asks a person each time. An empty policy means the same.
	AskToLand LandingPolicy = "ask"
	// AllowToLand lets agents land without asking.
	AllowToLand LandingPolicy = "allow"
	// NeverLand forbids agents to land.
	NeverLand LandingPolicy = "never"
)

// LandingPolicy is one of [LandingPolicies], or empty for [AskToLand].
type LandingPolicy string

// LandingPolicies lists all landing policies.
var LandingPolicies = []LandingPolicy{AskToLand, AllowToLand, NeverLand}

// ProjectLanding specifies how a project's work is landed. Nil fields leave the setting
// unchanged.
type ProjectLanding struct {
	Policy *LandingPolicy
	// Template is the commit message template for landings: see [CommitMessage]. Empty
	// means the default.
	Template *string
	// Forge and ForgeURL are as in [Project].
	Forge    *forge.Kind
	ForgeURL *string
	// Share is as in [Project].
	Share *ShareWay
}

// SetLanding changes how a project's work is landed. Faults: not_found,
// invalid_argument.
func (m *Manager) SetLanding(ctx context.Context, projectID string, c ProjectLanding) (p Project, err error) {
	if c.Policy != nil && *c.Policy != "" && !slices.Contains(LandingPolicies, *c.Policy) {
		return Project{}, refuse(InvalidArgument, "use ask, allow or never", "landing %q is not supported", brief(string(*c.Policy)))
	}
	if c.Forge != nil && *c.Forge != "" && !slices.Contains(forge.Kinds, *c.Forge) {
		return Project{}, refuse(InvalidArgument, "use github, gitlab or gitea", "forge %q is not supported", brief(string(*c.Forge)))
	}
	if c.ForgeURL != nil && *c.ForgeURL != "" {
		if u, err := url.Parse(*c.ForgeURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return Project{}, refuse(InvalidArgument, "pass the URL of its API, for example https://git.example.com/api/v1", "%q is not a forge URL", brief(*c.ForgeURL))
		}
	}
	if c.Share != nil && *c.Share != "" && !slices.Contains(ShareWays, *c.Share) {
		return Project{}, refuse(InvalidArgument, "use store, remote or off", "%q is not a way to share work", brief(string(*c.Share)))
	}
	if c.Template != nil {
		if err := checkTemplate(*c.Template); err != nil {
			return Project{}, err
		}
	}
	err = m.changeProject(ctx, projectID, func(tx *store.Tx, old Project) error {
		p = old
		set(&p.Landing, c.Policy)
		set(&p.CommitTemplate, c.Template)
		set(&p.Forge, c.Forge)
		set(&p.ForgeURL, c.ForgeURL)
		set(&p.Share, c.Share)
		p.Updated = tx.Now
		_, err := tx.Exec(ctx, "UPDATE projects SET landing = ?, commit_template = ?, forge = ?, forge_url = ?, share = ?, updated_at = ? WHERE id = ?",
			p.Landing, p.CommitTemplate, p.Forge, p.ForgeURL, p.Share, millis(p.Updated), p.ID)
		return err
	})
	return p, err
}

// MayLand reports whether an agent may land an attempt, and whether it must ask
// a person first. Fault: landing_forbidden.
func (m *Manager) MayLand(ctx context.Context, attemptID string) (c Context, ask bool, err error) {
	if c, err = m.Context(ctx, attemptID); err != nil {
		return c, false, err
	}
	if c.Project.Landing == NeverLand {
		return c, false, refuse(LandingForbidden, "ask the person to land it",
			"agents are not allowed to land changes in project %s", brief(c.Project.Name))
	}
	return c, c.Project.Landing != AllowToLand, nil
}

func planChanged() error {
	return refuse(PlanChanged, "check it again", "the attempt or its target has changed since it was checked")
}

// planOf returns a digest that identifies a landing: the commits, their targets, and
// the method.
func planOf(l Landed) string {
	plan := fmt.Sprintf("%s %s", l.How, l.Message)
	for _, d := range l.Distances {
		plan += fmt.Sprintf(" %s %s %s %s", d.Name, d.Target, d.Head, d.Tip)
	}
	return tokenDigest(plan)
}
