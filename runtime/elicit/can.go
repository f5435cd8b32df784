package elicit

import (
	"context"
	"slices"

	"github.com/deskhand/deskhand/runtime/routing"
)

// Can reports whether the caller may take an action of a type on a request as it is now. It
// is the rule of [Hub.Dispatch], so that a door offers what would not be refused. It is false
// if that cannot be found out.
func (h *Hub) Can(ctx context.Context, r *Request, t ActionType) bool {
	rule, a := transitions[t], Action{Type: t, RequestID: r.ID}
	if !fromClients[t] || r.Status == Completed && !rule.after || h.act(ctx, &a) != nil {
		return false
	}
	return !rule.person || r.mayAnswer(a) || rule.above && a.Above
}

// Mine reports whether the caller has taken a request, so that taking it back is the choice.
func (h *Hub) Mine(ctx context.Context, r *Request) bool {
	a := Action{Type: Unclaimed, RequestID: r.ID}
	return r.claimedBy() != "" && h.act(ctx, &a) == nil && a.By == r.claimedBy()
}

// Addressees lists to whom a request can be handed over: people who know of its project and
// can be reached, their roles, rotas, and everyone. It is empty if there are no people with
// names.
func (h *Hub) Addressees(ctx context.Context, r *Request) (all []string, err error) {
	w, err := h.world(ctx, r.Context.ProjectID)
	if err != nil || len(w.People) == 0 {
		return nil, err
	}
	var roles, rotas []string
	for _, p := range w.People {
		all = append(all, p.Name)
		for _, role := range p.Roles {
			roles = append(roles, routing.Target{Role: role}.String())
		}
	}
	slices.Sort(all)
	if r.Mode == URL { // a page is opened by one person
		return slices.Compact(all), nil
	}
	for name := range w.Rotas {
		rotas = append(rotas, routing.Target{Rota: name}.String())
	}
	slices.Sort(roles)
	slices.Sort(rotas)
	return append(slices.Compact(all), append(append(slices.Compact(roles), rotas...), routing.Target{}.String())...), nil
}
