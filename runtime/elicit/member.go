package elicit

import (
	"context"
	"errors"
	"slices"
	"strings"
)

// Member is a person whom a surface can reach.
type Member struct {
	Principal string   `json:"principal"`
	Roles     []string `json:"roles,omitempty"`
	// Surface names the surface that reaches them. If empty, everything on this
	// machine does.
	Surface string `json:"surface,omitempty"`
}

// maxNamed is the maximum number of members that an error names.
const maxNamed = 12

// addressable refuses an audience that no surface reaches, or that does not see the
// request's project. Such a request would stay open forever, because nobody could answer
// it.
func (h *Hub) addressable(ctx context.Context, who Audience, project string) error {
	if h.options.Members == nil || who.Principal == "" && len(who.Roles) == 0 {
		return nil
	}
	all := slices.Clone(h.options.Members)
	if h.options.People != nil {
		people, err := h.options.People(ctx)
		if err != nil {
			return err
		}
		all = append(all, people...)
	}
	up, err := h.Reach(ctx)
	if err != nil {
		return err
	}
	for _, s := range up {
		all = append(all, s.Members...)
	}
	var outside bool
	all = slices.DeleteFunc(all, func(m Member) bool {
		sees, failed := h.sees(ctx, m.Principal, project)
		err = errors.Join(err, failed)
		outside = outside || !sees && who.has(Action{By: m.Principal, Roles: m.Roles})
		return !sees
	})
	if err != nil {
		return err
	}
	for _, m := range all {
		if who.has(Action{By: m.Principal, Roles: m.Roles}) {
			return nil
		}
	}
	if outside {
		return reject(NobodyThere, "ask one of "+names(all)+", or omit the audience", "%s does not see the questions of this project", who.Words())
	}
	what := "person"
	if len(who.Roles) > 0 && who.Principal == "" {
		what = "person with the role"
	}
	return reject(NobodyThere, "ask one of "+names(all)+", or omit the audience", "there is no %s %s who can answer", what, strings.ReplaceAll(who.Words(), "role:", ""))
}

// sees reports whether a person knows of a project.
func (h *Hub) sees(ctx context.Context, principal, project string) (bool, error) {
	if h.options.Boundary == nil || principal == Local {
		return true, nil
	}
	b, err := h.options.Boundary(ctx, principal)
	return b.Sees(project), err
}

// Words names the audience, for example "ada" or "role:ops". It is empty for everyone.
func (who Audience) Words() string {
	var parts []string
	if who.Principal != "" {
		parts = append(parts, `"`+brief(who.Principal)+`"`)
	}
	for _, role := range who.Roles {
		parts = append(parts, `"role:`+brief(role)+`"`)
	}
	return strings.Join(parts, " or ")
}

// names lists members and their roles, each once.
func names(all []Member) string {
	var list []string
	add := func(name, surface string) {
		if surface != "" {
			name += " (" + surface + ")"
		}
		if !slices.Contains(list, name) {
			list = append(list, name)
		}
	}
	for _, m := range all {
		add(m.Principal, m.Surface)
		for _, role := range m.Roles {
			add("role:"+role, m.Surface)
		}
	}
	if len(list) > maxNamed {
		list = append(list[:maxNamed], "others")
	}
	return strings.Join(list, ", ")
}
