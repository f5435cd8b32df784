package tasks

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/store"
)

// Landing policies of a project: what agents outside of attempts may do with its
// attempts.
const (
	// AskToLand asks a person each time. The zero value means the same.
	AskToLand LandingPolicy = "ask"
	// AllowToLand lets them land without a question.
	AllowToLand LandingPolicy = "allow"
	// NeverLand refuses.
	NeverLand LandingPolicy = "never"
)

// LandingPolicy is one of [LandingPolicies], or empty for [AskToLand].
type LandingPolicy string

// LandingPolicies are all of them.
var LandingPolicies = []LandingPolicy{AskToLand, AllowToLand, NeverLand}

// ProjectLanding is how work of a project is landed. Nil fields stay as they are.
type ProjectLanding struct {
	Policy *LandingPolicy
	// Template is the message of a commit that lands: see [CommitMessage]. Empty:
	// the usual one.
	Template *string
	// Forge and ForgeURL are those of [Project].
	Forge    *forge.Kind
	ForgeURL *string
}

// SetLanding changes how work of a project is landed. Faults: not_found,
// invalid_argument.
func (m *Manager) SetLanding(ctx context.Context, projectID string, c ProjectLanding) (p Project, err error) {
	if c.Policy != nil && *c.Policy != "" && !slices.Contains(LandingPolicies, *c.Policy) {
		return Project{}, refuse(InvalidArgument, "take one of ask, allow, never", "landing %q is not known", brief(string(*c.Policy)))
	}
	if c.Forge != nil && *c.Forge != "" && !slices.Contains(forge.Kinds, *c.Forge) {
		return Project{}, refuse(InvalidArgument, "take one of github, gitlab, gitea", "forge %q is not known", brief(string(*c.Forge)))
	}
	if c.ForgeURL != nil && *c.ForgeURL != "" {
		if u, err := url.Parse(*c.ForgeURL); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			return Project{}, refuse(InvalidArgument, "pass the address of its API, as https://git.example.com/api/v1", "%q is no address of a forge", brief(*c.ForgeURL))
		}
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
		p.Updated = tx.Now
		_, err := tx.Exec(ctx, "UPDATE projects SET landing = ?, commit_template = ?, forge = ?, forge_url = ?, updated_at = ? WHERE id = ?",
			p.Landing, p.CommitTemplate, p.Forge, p.ForgeURL, millis(p.Updated), p.ID)
		return err
	})
	return p, err
}

// MayLand says whether an agent may land an attempt: with a question to a person
// if ask is true. The fault is landing_forbidden.
func (m *Manager) MayLand(ctx context.Context, attemptID string) (c Context, ask bool, err error) {
	if c, err = m.Context(ctx, attemptID); err != nil {
		return c, false, err
	}
	if c.Project.Landing == NeverLand {
		return c, false, refuse(LandingForbidden, "have the person land it",
			"agents land nothing of project %s", brief(c.Project.Name))
	}
	return c, c.Project.Landing != AllowToLand, nil
}

func planChanged() error {
	return refuse(PlanChanged, "look at what it is now", "the attempt or its target has changed since it was looked at")
}

// planOf tells one landing from another: what goes where, and how.
func planOf(l Landed) string {
	plan := fmt.Sprintf("%s %s", l.How, l.Message)
	for _, d := range l.Distances {
		plan += fmt.Sprintf(" %s %s %s %s", d.Name, d.Target, d.Head, d.Tip)
	}
	return tokenDigest(plan)
}
