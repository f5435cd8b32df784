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

// act sets who takes an action. A caller with a name takes it under that name, whatever
// the action says, and what only a person may do needs the scope [access.Answer]: an
// agent's token must not answer the agent's own questions.
func (h *Hub) act(ctx context.Context, a *Action) error {
	c := access.Of(ctx)
	if c.Name != "" {
		if rules[a.Type].person && !slices.Contains(c.Scopes, access.Answer) {
			return reject(NotYours, "", "%s has no scope to answer questions", c.Name)
		}
		a.By, a.Roles = c.Name, nil
		return nil
	}
	if a.By != "" {
		return nil
	}
	a.By = h.options.Principal
	if access.Known(ctx) && c.Level == access.Anyone && h.options.People != nil {
		people, err := h.options.People(ctx)
		if err != nil {
			return err
		}
		if len(people) > 0 {
			a.By = ByLink
		}
	}
	return nil
}
