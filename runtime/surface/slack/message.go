package slack

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Action IDs, which identify the actions of buttons and menus in a message. The
// value of a menu item is its action ID.
const (
	opYes     = "yes"
	opNo      = "no"
	opChoose  = "choose:" // the option's tag follows
	opPick    = "pick"    // the menu of options
	opForm    = "form"
	opAgree   = "agree"
	opLink    = "open"
	opDecline = "decline"
	opMore    = "more" // the menu with the items below
	opLonger  = "longer"
	opCancel  = "cancel"
)

// mostButtons is the maximum number of options shown as buttons. If there are
// more options, a menu is shown.
const mostButtons = 5

// message is a request as Slack shows it.
type message struct {
	text   string // for notifications
	blocks []api.Block
}

// render returns the message for a request's current state.
func render(r *elicit.Request) message {
	heading := line(r.Heading())
	asker := cmp.Or(line(r.Source.Name), "someone")
	m := message{blocks: []api.Block{api.NewHeaderBlock(plain(heading, maxHeader)), api.NewContextBlock("", plain(about(r), maxText))}}
	if r.Proposal != nil {
		if warning := r.Proposal.Warning(); warning != "" {
			m.note(":warning: " + escape.Replace(line(warning)))
		}
		m.add(r.Proposal.Text, mostProposal)
	}
	if text := clean(r.Message); text != heading {
		m.add(text, 2)
	}
	if r.Mode == elicit.URL {
		m.add("The link points to "+host(r.URL)+". Open it only if you trust the asker.", 1)
	}
	m.questions(r)
	if standing := r.Standing(); standing != "" {
		m.note(escape.Replace(standing))
	}
	switch r.Status {
	case elicit.Completed:
		m.text = ended(r)
		m.note(escape.Replace(m.text))
	case elicit.ExpiredOpen:
		m.text = "Expired: no answer in time"
		m.note("*Expired*: no answer in time. A late answer still reaches the asker.")
		m.actions(r)
	default:
		m.text = asker + " asks"
		if !r.Deadline.IsZero() {
			at := r.Deadline.Unix()
			m.note(fmt.Sprintf("Answer by <!date^%d^{date_short_pretty} at {time}|%s>", at, r.Deadline.UTC().Format("2 January 15:04 UTC")))
		}
		m.actions(r)
	}
	m.text = escape.Replace(cut(m.text+": "+heading, maxText))
	return m
}

// about describes who asks, and from where.
func about(r *elicit.Request) string {
	parts := []string{cmp.Or(line(r.Source.Name), "someone") + " asks"}
	for _, more := range []string{r.Place(), r.Context.Branch} {
		if more = line(more); more != "" {
			parts = append(parts, more)
		}
	}
	if r.Priority == elicit.High || r.Priority == elicit.Urgent {
		parts = append(parts, string(r.Priority))
	}
	if r.Audience.Principal != "" {
		parts = append(parts, "for "+line(r.Audience.Principal))
	}
	return strings.Join(parts, " · ")
}

// host returns the host of a link, so that people can judge the link.
func host(link string) string {
	u, err := url.Parse(link)
	if err != nil || u.Host == "" {
		return "an unreadable address"
	}
	return u.Host
}

// add adds text, split into at most the given number of sections.
func (m *message) add(text string, most int) {
	for ; text != "" && most > 0; most-- {
		part := text
		if units(text) > maxText && most > 1 {
			part = strings.TrimSuffix(cut(text, maxText), "…")
		}
		m.blocks = append(m.blocks, api.NewSectionBlock(plain(part, maxText), nil, nil))
		text = clean(text[len(part):])
	}
}

// note adds deskhand's own text, which may contain Slack markup.
func (m *message) note(text string) {
	m.blocks = append(m.blocks, api.NewContextBlock("", api.NewTextBlockObject(api.MarkdownType, cut(text, maxText), false, true)))
}

// questions shows the questions. If there is only one question, and the buttons
// are too small for its options, it also shows the options as text.
func (m *message) questions(r *elicit.Request) {
	var b strings.Builder
	for i := range r.Questions {
		q := &r.Questions[i]
		if len(r.Questions) == 1 {
			if text := q.Beside(r.Message); text != "" {
				b.WriteString(clean(text) + "\n")
			}
			break
		}
		fmt.Fprintf(&b, "%d. %s (%s)\n", i+1, clean(q.Asks()), q.Wants())
	}
	if len(r.Questions) == 1 && wordy(&r.Questions[0]) {
		for i, o := range r.Questions[0].Options {
			fmt.Fprintf(&b, "%d. %s\n", i+1, flat(o.Says()))
		}
	}
	m.add(strings.TrimSpace(b.String()), maxBlocks-10)
}

// wordy reports whether some option of q has more text than fits on its button.
func wordy(q *elicit.Question) bool {
	for _, o := range q.Options {
		if o.Description != "" || units(label(o)) > maxButton {
			return true
		}
	}
	return false
}

func label(o elicit.Option) string {
	text := line(o.Label)
	if o.Recommended {
		text += " (recommended)"
	}
	return text
}

// small returns the request's question if a press of a button in the message
// can answer it. It returns nil if a form is necessary.
func small(r *elicit.Request) *elicit.Question {
	if len(r.Questions) != 1 {
		return nil
	}
	if q := &r.Questions[0]; q.Kind == elicit.Boolean || q.Kind == elicit.SingleSelect {
		return q
	}
	return nil
}

// actions adds the buttons and menus. The ID of their block is the request's
// ID.
func (m *message) actions(r *elicit.Request) {
	var elements []api.BlockElement
	button := func(op, text string) *api.ButtonBlockElement {
		e := api.NewButtonBlockElement(op, r.ID, plain(text, maxButton))
		elements = append(elements, e)
		return e
	}
	if r.Mode == elicit.URL && units(r.URL) <= maxURL {
		button(opLink, linkText(r)).URL = r.URL
	}
	q := small(r)
	switch {
	case tooLong(r):
		m.note("This is too long to show here, so it cannot be allowed here. Open the inbox to see all of it.")
		q = nil
	case q == nil && len(r.Questions) > 0:
		button(opForm, "Answer…")
	case q == nil && r.Mode == elicit.URL:
		if r.Trigger != elicit.CredentialRequired { // the page itself ends the request
			button(opAgree, "Done")
		}
	case q == nil:
		button(opAgree, "Agree")
	case q.Kind == elicit.Boolean:
		button(opYes, "Yes")
		button(opNo, "No")
	case len(q.Options) <= mostButtons:
		for i, o := range q.Options {
			button(opChoose+tag(o.ID), numbered(q, i))
		}
	default:
		menu := selectMenu(opPick, q)
		menu.Confirm = api.NewConfirmationBlockObject(plain("Send this answer?", 100), plain("It is sent to the asker.", 300), plain("Send", 30), plain("Not yet", 30))
		elements = append(elements, menu)
	}
	if q != nil && (q.AllowFreeform || !q.Required) {
		button(opForm, "Your own words…")
	} else if q != nil {
		button(opForm, "Add a note…")
	}
	button(opDecline, dismissText(r))
	items := []*api.OptionBlockObject{api.NewOptionBlockObject(opCancel, plain("Close it without an answer", maxOption), nil)}
	if r.Status == elicit.Open && !r.Deadline.IsZero() {
		items = append(items, api.NewOptionBlockObject(opLonger, plain("10 more minutes", maxOption), nil))
	}
	elements = append(elements, api.NewOverflowBlockElement(opMore, items...))
	m.blocks = append(m.blocks, api.NewActionBlock(r.ID, elements...))
}

// mostProposal is the maximum number of sections for a proposal.
const mostProposal = 6

// tooLong reports whether a message is too small to show a proposal in full.
func tooLong(r *elicit.Request) bool {
	return r.Proposal != nil && units(r.Proposal.Text) > mostProposal*(maxText-1)
}

func linkText(r *elicit.Request) string {
	if r.Trigger == elicit.CredentialRequired || r.Trigger == elicit.A2AAuthRequired {
		return "Connect your account"
	}
	return "Open the page"
}

func dismissText(r *elicit.Request) string {
	if r.Mode == elicit.URL {
		return "Dismiss"
	}
	return "Decline"
}

// numbered returns an option's label. If text above the buttons has more
// details, the label begins with the option's number.
func numbered(q *elicit.Question, i int) string {
	if text := label(q.Options[i]); !wordy(q) {
		return text
	}
	return fmt.Sprintf("%d. %s", i+1, label(q.Options[i]))
}

// options returns q.Options[from:to] in Slack's form. It ignores positions
// beyond the last option.
func options(q *elicit.Question, from, to int) (all []*api.OptionBlockObject) {
	for i := from; i < min(to, len(q.Options)); i++ {
		o := q.Options[i]
		var description *api.TextBlockObject
		if o.Description != "" {
			description = plain(line(o.Description), maxOption)
		}
		all = append(all, api.NewOptionBlockObject(tag(o.ID), plain(numbered(q, i), maxOption), description))
	}
	return all
}

// groups returns the option groups of a menu. Groups allow more options than
// Slack allows in one list.
func groups(q *elicit.Question) (all []*api.OptionGroupBlockObject) {
	for from := 0; from < len(q.Options); from += maxOptions {
		to := min(from+maxOptions, len(q.Options))
		all = append(all, api.NewOptionGroupBlockElement(plain(fmt.Sprintf("%d to %d", from+1, to), maxOption), options(q, from, to)...))
	}
	return all
}

func selectMenu(op string, q *elicit.Question) *api.SelectBlockElement {
	hint := plain("Choose one", maxPlaceholder)
	if len(q.Options) > maxOptions {
		return api.NewOptionsGroupSelectBlockElement(api.OptTypeStatic, hint, op, groups(q)...)
	}
	return api.NewOptionsSelectBlockElement(api.OptTypeStatic, hint, op, options(q, 0, maxOptions)...)
}

// ended describes how a request ended. It includes the answer only if a press
// of a button could give it. Free text stays between the person and the asker.
func ended(r *elicit.Request) string {
	words := line(r.Completion.Words())
	text := strings.ToUpper(words[:1]) + words[1:]
	if q := small(r); q != nil && r.Accepted() {
		if a := r.Answers[q.ID]; a.Value != nil && len(a.Value.Freeform) == 0 {
			text += ": " + cut(line(q.Say(a.Value)), maxButton)
		}
	}
	if r.Completion.Late {
		text += ", late"
	}
	return text + ", " + r.Completion.At.UTC().Format(time.DateOnly+" 15:04 UTC")
}
