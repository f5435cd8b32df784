package inbox

import (
	"cmp"
	"errors"
	"net/http"
	"strconv"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// always is the rule that a person can make from a question.
type always struct {
	Tool, Pattern string
	Lasts         []duty
}

// duty is a time that a rule can last.
type duty struct {
	Value, Label string
	Chosen       bool
}

// alwaysOf returns the proposed rule for a question, or nil if this browser's person cannot
// make one. typed is a refused form, or nil.
func (in *Inbox) alwaysOf(from *http.Request, r *elicit.Request, typed *form) *always {
	if from == nil || in.options.View || r.Held != nil || r.Proposal == nil || r.Proposal.Call == nil {
		return nil
	}
	hub, err := in.options.Hub(from.Context())
	if err != nil || !hub.CanRule(from.Context(), r) {
		return nil
	}
	v := &always{Tool: r.Proposal.Call.Tool, Pattern: rules.Propose(*r.Proposal.Call)}
	lasts := "8h"
	if typed != nil {
		v.Pattern, lasts = cmp.Or(typed.pattern, v.Pattern), cmp.Or(typed.lasts, lasts)
	}
	for _, d := range []duty{{Value: "1h", Label: "for an hour"}, {Value: "8h", Label: "for 8 hours"}, {Value: "1d", Label: "for a day"}, {Value: "7d", Label: "for a week"}, {Value: "never", Label: "until I revoke it"}} {
		d.Chosen = d.Value == lasts
		v.Lasts = append(v.Lasts, d)
	}
	return v
}

// always makes a rule from a question, and allows the question's call.
func (in *Inbox) always(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, a elicit.Action) error {
	lasts, err := rules.ParseLasts(f.lasts)
	if err == nil {
		_, err = hub.AlwaysAllow(r.Context(), a, f.pattern, lasts)
	}
	rejected, refused := new(elicit.Rejection), fault.Of(err)
	switch {
	case errors.As(err, &rejected):
		return in.rejected(w, r, hub, f, rejected)
	case refused != nil:
		return in.again(w, r, hub, f, http.StatusUnprocessableEntity, "Nothing was allowed: "+refused.Message+". "+page.Sentence(refused.Hint))
	case err != nil:
		return err
	}
	return in.done(w, r, hub)
}

// rulesPage is the data of the page of rules.
type rulesPage struct {
	Items   []ruleItem
	Trouble string
}

type ruleItem struct {
	ID, Of, Project, Tool, Pattern, Uses, Expires string
	Ask                                           bool
	Made, Used                                    moment
}

// rules shows the rules that apply.
func (in *Inbox) rules(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	return in.showRules(w, r, hub, http.StatusOK, "")
}

func (in *Inbox) showRules(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, status int, trouble string) error {
	all, err := hub.Rules(r.Context(), false)
	if err != nil {
		return err
	}
	p := rulesPage{Trouble: trouble}
	for _, one := range all {
		item := ruleItem{ID: one.ID, Of: page.Line(one.Of), Project: page.Line(in.projectOf(r, one.Project)), Tool: one.Tool, Pattern: page.Line(cmp.Or(one.Pattern, "*")), Ask: one.Kind == rules.Ask,
			Made: when(elicit.At(one.Made), one.Made.Local().Format("2 Jan 2006, 15:04")), Uses: strconv.Itoa(one.Uses) + " uses", Expires: "until it is revoked"}
		if one.Uses == 1 {
			item.Uses = "1 use"
		}
		if !one.Used.IsZero() {
			item.Used = when(elicit.At(one.Used), one.Used.Local().Format("2 Jan 2006, 15:04"))
		}
		if !one.Expires.IsZero() {
			item.Expires = "until " + one.Expires.Local().Format("2 Jan 2006, 15:04")
		}
		p.Items = append(p.Items, item)
	}
	in.show(w, r, status, in.ruled, "", page.Page{Title: "Rules", Here: "/history", Class: "past", Data: p})
	return nil
}

// projectOf returns the name of a rule's project.
func (in *Inbox) projectOf(r *http.Request, id string) string {
	if id == "" {
		return "all projects"
	}
	if in.options.ProjectName != nil {
		if name, err := in.options.ProjectName(r.Context(), id); err == nil && name != "" {
			return name
		}
	}
	return id
}

// endRule revokes a rule.
func (in *Inbox) endRule(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error {
	if err := page.ReadForm(r); err != nil {
		return err
	}
	if !in.options.Shell.Checked(r) {
		return in.showRules(w, r, hub, http.StatusForbidden, "This page was open too long, and nothing was revoked: try again.")
	}
	if _, err := hub.EndRule(r.Context(), r.PostFormValue("do.rule")); err != nil {
		if refused := fault.Of(err); refused != nil {
			return in.showRules(w, r, hub, http.StatusConflict, page.Sentence(refused.Message))
		}
		return err
	}
	http.Redirect(w, r, "/rules", http.StatusSeeOther)
	return nil
}
