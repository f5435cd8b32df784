package elicit

import (
	"context"
	"slices"

	"github.com/deskhand/deskhand/runtime/access"
)

// principal returns the person for whom a request in ctx acts: the one with a name whose
// token or browser sent it, and otherwise this hub's.
func (h *Hub) principal(ctx context.Context) string {
	if name := access.Of(ctx).Name; name != "" {
		return name
	}
	return h.options.Principal
}

// mayAct refuses an action of a person whom a surface has identified, for example Slack, if
// the person does not know of the request's project, or may not answer. Callers with names are
// confined by their context.
func (h *Hub) mayAct(ctx context.Context, a Action) error {
	if !transitions[a.Type].person || h.options.Caller == nil || access.Of(ctx).Name != "" ||
		slices.Contains([]string{h.options.Principal, Local, ByLink, ByAssumed}, a.By) {
		return nil
	}
	r, err := h.Get(ctx, a.RequestID)
	if err != nil {
		return nil // the action is refused for the same reason
	}
	c, err := h.options.Caller(ctx, a.By)
	switch {
	case err != nil:
		return err
	case !c.Sees(r.Context.ProjectID):
		return reject(UnknownRequest, "", "there is no request %q", brief(a.RequestID))
	}
	return mustAnswer(c)
}

// mustAnswer refuses a caller without the scope to answer.
func mustAnswer(c access.Caller) error {
	if !slices.Contains(c.Scopes, access.Answer) {
		return reject(NotYours, "", "%s has no scope to answer questions", c.Name)
	}
	return nil
}

// act sets who takes an action, and whether they may hand over others' questions. A caller with a name takes it under that name, whatever
// the action says, and what only a person may do needs the scope [access.Answer]: an
// agent's token must not answer the agent's own questions.
func (h *Hub) act(ctx context.Context, a *Action) error {
	c := access.Of(ctx)
	if c.Name != "" {
		if transitions[a.Type].person {
			if err := mustAnswer(c); err != nil {
				return err
			}
		}
		a.By, a.Roles = c.Name, c.Roles
		a.Above = transitions[a.Type].above && slices.Contains(c.Scopes, access.Admin)
		return nil
	}
	if a.By != "" {
		return nil
	}
	a.By = h.options.Principal
	if transitions[a.Type].person {
		var err error
		if a.Roles, err = h.roles(ctx, a.By); err != nil {
			return err
		}
	}
	if access.Known(ctx) && c.Level == access.Anyone && h.options.People != nil {
		people, err := h.options.People(ctx)
		if err != nil {
			return err
		}
		if len(people) > 0 {
			a.By, a.Roles = ByLink, nil
		}
	}
	// The owner, with a process on this machine or the installation's key, may hand over
	// any question: its person may have left.
	a.Above = transitions[a.Type].above && a.By == Local && (!access.Known(ctx) || c.Level == access.People)
	return nil
}

// roles returns the roles of a person who was added or whom the settings name.
func (h *Hub) roles(ctx context.Context, name string) (roles []string, err error) {
	if name == Local {
		return nil, nil
	}
	all := slices.Clone(h.options.Members)
	if h.options.People != nil {
		people, err := h.options.People(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, people...)
	}
	for _, m := range all {
		if m.Principal == name {
			roles = append(roles, m.Roles...)
		}
	}
	return roles, nil
}
