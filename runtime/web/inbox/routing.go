package inbox

import (
	"net/http"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// routed is whom a question is with, and what this browser's person may do about it.
type routed struct {
	With, Note, Taken  string // Taken is who deals with it
	Since, Until, Next moment // Until is the end of Taken
	NextTo             string
	Mine               bool // this person has taken it
	CanTake            bool
	CanRelease         bool
	To                 []addressee // to whom this person may hand it over
}

// addressee is a choice of the menu for handing a question over.
type addressee struct{ Value, Label string }

// clockTime is how a page shows a time of today or soon, before the script words it anew.
const clockTime = "2 Jan, 15:04"

// routedOf returns the routing of a question, or nil if the installation has no people with
// names, so that there is nobody else whom it could be with.
func (in *Inbox) routedOf(from *http.Request, r *elicit.Request) *routed {
	if from == nil || in.options.View || r.Held != nil {
		return nil
	}
	ctx := from.Context()
	hub, err := in.options.Hub(ctx)
	if err != nil {
		return nil
	}
	to, err := hub.Addressees(ctx, r)
	if err != nil {
		in.options.Log.Warn("cannot read who can be asked", "error", err)
	}
	if len(to) == 0 && r.Routing == nil {
		return nil
	}
	v := &routed{With: plainTo(r.To()), Since: when(r.CreatedAt, clock(r.CreatedAt.Time)), Mine: hub.Mine(ctx, r),
		CanTake: hub.Can(ctx, r, elicit.Claimed), CanRelease: hub.Can(ctx, r, elicit.Unclaimed)}
	if s := r.Routing; s != nil {
		if !s.Since.IsZero() {
			v.Since = when(elicit.At(s.Since), clock(s.Since))
		}
		if v.Note = page.Line(s.Note); s.Taken != nil {
			v.Taken, v.Until = page.Line(s.Taken.By), when(elicit.At(s.Taken.Until), clock(s.Taken.Until))
		}
	}
	v.CanRelease = v.CanRelease && v.Taken != ""
	v.CanTake = v.CanTake && v.Taken == ""
	if to, at := r.NextStep(); to != "" {
		v.NextTo, v.Next = plainTo(to), when(elicit.At(at), clock(at))
	}
	if hub.Can(ctx, r, elicit.Reassigned) {
		for _, name := range to {
			v.To = append(v.To, addressee{Value: name, Label: plainTo(name)})
		}
	}
	return v
}

// forOthers reports whether a question is for somebody else than this browser's person, whose
// answer would be refused.
func (in *Inbox) forOthers(from *http.Request, r *elicit.Request) bool {
	if from == nil {
		return false
	}
	hub, err := in.options.Hub(from.Context())
	return err == nil && !hub.Can(from.Context(), r, elicit.CompletedBy)
}

func clock(t time.Time) string { return t.Local().Format(clockTime) }

// plainTo says whom a question is with, for people who do not know the prefixes.
func plainTo(to string) string {
	var parts []string
	for _, one := range strings.Split(to, " or ") {
		kind, name, _ := strings.Cut(one, ":")
		switch kind {
		case "role":
			one = "the role " + name
		case "rota":
			one = "who is on call in " + name
		case "remind":
			one = "a reminder"
		}
		parts = append(parts, one)
	}
	return page.Line(strings.Join(parts, " or "))
}

// handOver makes a question one for someone else.
func (in *Inbox) handOver(w http.ResponseWriter, r *http.Request, hub *elicit.Hub, f *form, a elicit.Action) error {
	if f.to == "" {
		return in.again(w, r, hub, f, http.StatusUnprocessableEntity, "Choose to whom to hand the question over")
	}
	who := elicit.AudienceOf(f.to)
	a.Type, a.Audience = elicit.Reassigned, &who
	return in.dispatch(w, r, hub, f, a)
}
