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
	// Lacking says why the person cannot be reached, and Remedy what to do about it. Both
	// are empty if the person can.
	Lacking string `json:"-"`
	Remedy  string `json:"-"`
}

// maxNamed is the maximum number of members that an error names.
const maxNamed = 12

// addressable refuses an audience that no surface reaches, or that does not see the
// request's project. Such a request would stay open forever, because nobody could answer
// it. If the people are known but none can be reached, it returns why, and an error unless a
// policy has steps that ask others.
func (h *Hub) addressable(ctx context.Context, who Audience, project, policy string) (lacking string, err error) {
	if who.Rota != "" {
		return "", h.hasRota(ctx, who.Rota, project)
	}
	if h.options.Members == nil || who.everyone() {
		return "", nil
	}
	all := slices.Clone(h.options.Members)
	if h.options.People != nil {
		people, err := h.options.People(ctx)
		if err != nil {
			return "", err
		}
		all = append(all, people...)
	}
	up, err := h.Reach(ctx)
	if err != nil {
		return "", err
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
		return "", err
	}
	remedy := ""
	for _, m := range all {
		if !who.has(Action{By: m.Principal, Roles: m.Roles}) {
			continue
		}
		if m.Lacking == "" {
			return "", nil
		}
		if lacking == "" {
			lacking, remedy = m.Lacking, m.Remedy
		}
	}
	all = slices.DeleteFunc(all, func(m Member) bool { return m.Lacking != "" })
	if lacking != "" && policy != "" {
		return lacking, nil
	}
	if lacking != "" {
		return "", reject(Unreachable, remedy+"; or ask one of "+names(all)+", or ask everyone", "%s", lacking)
	}
	if outside {
		return "", reject(NobodyThere, "ask one of "+names(all)+", or ask everyone", "%s does not see the questions of this project", who.Words())
	}
	what := "person"
	if len(who.Roles) > 0 && who.Principal == "" {
		what = "person with the role"
	}
	return "", reject(NobodyThere, "ask one of "+names(all)+", or ask everyone", "there is no %s %s who can answer", what, strings.ReplaceAll(who.Words(), "role:", ""))
}

// Unanswerable returns the open requests that nobody can answer: the person cannot be
// reached, or nobody who can be reached has the role.
func (h *Hub) Unanswerable(ctx context.Context) (all []Request, err error) {
	for page, more := (Filter{Statuses: []Status{Open, ExpiredOpen}, Limit: mostListed}), true; more; page.Offset += page.Limit {
		list, err := h.List(ctx, page)
		if err != nil {
			return all, err
		}
		for _, r := range list.Requests {
			_, err := h.addressable(ctx, r.Audience, r.Context.ProjectID, "")
			if no := new(Rejection); errors.As(err, &no) && (no.Code == NobodyThere || no.Code == Unreachable) {
				all = append(all, r)
			} else if err != nil {
				return all, err
			}
		}
		more = list.More
	}
	return all, nil
}

// Sees reports whether a person knows of a project, given its ID. Empty is no project, of
// which everyone knows whose boundary has everything.
func (h *Hub) Sees(ctx context.Context, principal, project string) (bool, error) {
	return h.sees(ctx, principal, project)
}

// sees is Sees.
func (h *Hub) sees(ctx context.Context, principal, project string) (bool, error) {
	if h.options.Caller == nil || principal == Local {
		return true, nil
	}
	c, err := h.options.Caller(ctx, principal)
	return c.Sees(project), err
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
	if who.Rota != "" {
		parts = append(parts, `"rota:`+brief(who.Rota)+`"`)
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
