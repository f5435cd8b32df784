package elicit

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/store"
)

// NoRules is the code of faults for callers who cannot make or end rules.
const NoRules = "no_rules"

// AskByRule is like [Hub.Ask] for an agent's request for permission, which a person's rule
// may answer. Only the runner of an agent may call it, with a Proposal.Call that it read from
// the agent's protocol: rules believe it. The answer names the rule, in Completion.Rule.
func (h *Hub) AskByRule(ctx context.Context, r Request) (Request, error) {
	r.ruled = true
	return h.Ask(ctx, r)
}

// byRule answers a request that was just opened if a rule allows its call. The change has no
// request if a person has to be asked.
func (h *Hub) byRule(ctx context.Context, tx *store.Tx, r *Request) (Change, error) {
	p := r.Proposal
	if h.options.Rules == nil || p == nil || p.Call == nil || r.Trigger != ACPPermission || len(r.Questions) != 1 {
		return Change{}, nil
	}
	q := &r.Questions[0]
	if o, ok := q.Option(p.Call.Allow); !ok || o.ID == "" || q.Kind != SingleSelect {
		return Change{}, nil
	}
	has := func(name string, roles []string) bool { return r.Audience.has(Action{By: name, Roles: roles}) }
	use, err := h.options.Rules.Apply(ctx, tx, *p.Call, r.Context.ProjectID, r.ID, has)
	if err != nil || use == nil {
		return Change{}, err
	}
	origin := &Origin{SignedIn: ByRule, Process: here()}
	origin.Process.Command = h.options.Command
	return h.apply(ctx, tx, r, Action{Type: CompletedBy, RequestID: r.ID, Response: Accept, By: ByRule, Channel: ByRule, Origin: origin, Rule: use,
		Answers: map[string]Answer{q.ID: allowOnce(p.Call)}})
}

// allowOnce returns the answer that allows a call once.
func allowOnce(c *rules.Call) Answer {
	return Answer{State: Submitted, Value: &Value{Kind: SelectedValue, Text: c.Allow}}
}

// ruler returns who makes, sees or ends rules with the caller's context. change reports
// whether rules would change: only a person in a browser or on this machine may do that, not
// a program with a token, and nothing inside an attempt.
func (h *Hub) ruler(ctx context.Context, change bool) (rules.By, error) {
	c := access.Of(ctx)
	switch {
	case h.options.Rules == nil:
		return rules.By{}, fault.New(NoRules, "this installation keeps no rules", "")
	case change && h.options.Attempt != "":
		return rules.By{}, fault.New(NoRules, "rules cannot be changed inside an attempt", "ask a person to change them")
	case !access.Known(ctx):
		return rules.By{Name: h.options.Principal, Owner: true}, nil
	case change && !slices.Contains(inPerson, c.How):
		return rules.By{}, fault.New(NoRules, "only a person can change rules: in a browser that is signed in, or on this machine", "sign in to the inbox")
	case c.Name == "" && c.Level < access.People, c.Name != "" && !slices.Contains(c.Scopes, access.Answer):
		return rules.By{}, fault.New(NoRules, "rules are for people who answer questions", "ask for the scope answer")
	case c.Name == "":
		return rules.By{Name: h.options.Principal, Owner: true}, nil
	}
	return rules.By{Name: c.Name, Admin: slices.Contains(c.Scopes, access.Admin), Boundary: c.Boundary}, nil
}

// inPerson lists the proofs, as in [access.Caller], of callers who are people in person.
var inPerson = []string{access.ByLink, access.ByKey, access.ByInvite, access.ByOIDC, access.ByProxy}

// AddRule makes a rule of the caller. Fails with code [NoRules], or as [rules.Register.Add]
// does.
func (h *Hub) AddRule(ctx context.Context, n rules.New) (rules.Rule, error) {
	by, err := h.ruler(ctx, true)
	if err != nil {
		return rules.Rule{}, err
	}
	return h.options.Rules.Add(ctx, by, n)
}

// EndRule revokes a rule. Fails with code [NoRules], or as [rules.Register.End] does.
func (h *Hub) EndRule(ctx context.Context, id string) (rules.Rule, error) {
	by, err := h.ruler(ctx, true)
	if err != nil {
		return rules.Rule{}, err
	}
	return h.options.Rules.End(ctx, by, id)
}

// Rules returns the rules that the caller knows of, the newest first; with all, also those
// that have ended.
func (h *Hub) Rules(ctx context.Context, all bool) ([]rules.Rule, error) {
	by, err := h.ruler(ctx, false)
	if err != nil {
		return nil, err
	}
	return h.options.Rules.List(ctx, by, all)
}

// CanRule reports whether the caller can make a rule from an open request. A request outside
// all projects has none, because its rule would be for each project. Who may answer only
// because a step of the routing asked, or because of a shift, can allow the call, but makes no
// rule for those whom the agent asked.
func (h *Hub) CanRule(ctx context.Context, r *Request) bool {
	if _, err := h.ruler(ctx, true); err != nil {
		return false
	}
	a := Action{Type: CompletedBy, RequestID: r.ID}
	if h.act(ctx, &a) != nil || !r.Audience.has(a) {
		return false
	}
	return r.Status != Completed && r.Context.ProjectID != "" && r.Proposal != nil && r.Proposal.Call != nil && r.Trigger == ACPPermission && len(r.Questions) == 1
}

// AlwaysAllow makes a rule for calls like that of an open request, in its project, and then
// allows this one as the person's answer, which a names. lasts is 0 for a rule that does not
// expire. If someone else answers first, the rule exists nevertheless, and the error is a
// *[Rejection].
func (h *Hub) AlwaysAllow(ctx context.Context, a Action, pattern string, lasts time.Duration) (rules.Rule, error) {
	r, err := h.Get(ctx, a.RequestID)
	switch {
	case err != nil:
		return rules.Rule{}, err
	case r.Status == Completed:
		return rules.Rule{}, rejectCompleted(&r)
	}
	if err := h.act(ctx, &a); err != nil {
		return rules.Rule{}, err
	}
	if !r.Audience.has(a) {
		return rules.Rule{}, reject(NotYours, "", "this question is for someone else")
	}
	if !h.CanRule(ctx, &r) {
		return rules.Rule{}, reject(Malformed, "allow it once", "no rule can be made from this question")
	}
	c := r.Proposal.Call
	p, err := rules.Parse(c.Tool, pattern)
	if err != nil {
		return rules.Rule{}, err
	}
	if !p.Allows(*c) {
		return rules.Rule{}, fault.New(rules.BadPattern, fmt.Sprintf("the pattern %.200q does not allow this call", p.String()), "change the pattern, or allow the call once; a * stands for no unknown options and nothing outside the folder")
	}
	made, err := h.AddRule(ctx, rules.New{Kind: rules.Allow, Project: r.Context.ProjectID, Tool: c.Tool, Pattern: p.String(), Lasts: lasts})
	if err != nil {
		return rules.Rule{}, err
	}
	a.Type, a.Response, a.Answers = CompletedBy, Accept, map[string]Answer{r.Questions[0].ID: allowOnce(c)}
	_, err = h.Dispatch(ctx, a)
	return made, err
}
