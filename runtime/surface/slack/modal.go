package slack

import (
	"errors"
	"fmt"
	"strings"
	"time"

	api "github.com/slack-go/slack"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// A form has an input for each question, and another input for free text, if
// that is allowed. A request with elicit.MaxQuestions questions needs two
// blocks for each question, which Slack allows. If there is room, the form also
// has a note. A block has the name of its question. Slack sends the input while
// the person types, and deskhand saves it as a draft.
const (
	formCallback = "deskhand_request"
	answerBlock  = "q:"
	ownBlock     = "own:"
	noteBlock    = "note"
	inputAction  = "value"
)

// form returns a request's form, filled with the drafts.
func form(r *elicit.Request) api.ModalViewRequest {
	v := api.ModalViewRequest{
		Type: api.VTModal, CallbackID: formCallback, PrivateMetadata: r.ID,
		Title: plain("Answer", maxTitle), Submit: plain("Send", maxTitle), Close: plain("Later", maxTitle),
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		var fields map[string][]string
		if a, ok := r.Answers[q.ID]; ok {
			fields = a.Value.Fields(q.ID)
		}
		in := api.NewInputBlock(answerBlock+tag(q.ID), plain(q.Asks(), maxLabel), plain(hint(q), maxLabel), input(q, fields[q.ID]))
		in.Optional = !q.Required || q.AllowFreeform
		in.DispatchAction = true
		v.Blocks.BlockSet = append(v.Blocks.BlockSet, in)
		if q.AllowFreeform {
			own := api.NewInputBlock(ownBlock+tag(q.ID), plain("Or in your own words", maxLabel), nil, typed("", true, fields[q.ID+elicit.OtherSuffix]))
			own.Optional, own.DispatchAction = true, true
			v.Blocks.BlockSet = append(v.Blocks.BlockSet, own)
		}
	}
	if len(v.Blocks.BlockSet) < maxFormBlocks {
		note := api.NewInputBlock(noteBlock, plain("Add a note", maxLabel), nil, typed("", true, nil))
		note.Optional = true
		v.Blocks.BlockSet = append(v.Blocks.BlockSet, note)
	}
	return v
}

// maxFormBlocks is Slack's maximum number of blocks in a form.
const maxFormBlocks = 100

// says returns a form that only shows text.
func says(text string) api.ModalViewRequest {
	return api.ModalViewRequest{Type: api.VTModal, Title: plain("Answer", maxTitle), Close: plain("Close", maxTitle),
		Blocks: api.Blocks{BlockSet: []api.Block{api.NewSectionBlock(plain(text, maxText), nil, nil)}}}
}

// hint returns a question's type of answer and its default. The default is only
// shown, and is never used as the answer.
func hint(q *elicit.Question) string {
	text := q.Wants()
	if proposed := clean(q.Say(q.Default)); proposed != "" {
		text += "; proposed: " + proposed
	}
	for i := range q.Options { // add descriptions that do not fit next to the options
		if units(line(q.Options[i].Description)) > maxOption {
			text += "\n" + flat(q.Options[i].Says())
		}
	}
	return text
}

// input returns the form element for answering a question.
func input(q *elicit.Question, drafts []string) api.BlockElement {
	draft := ""
	if len(drafts) > 0 {
		draft = drafts[0]
	}
	switch q.Kind {
	case elicit.Boolean:
		yes, no := api.NewOptionBlockObject(opYes, plain("Yes", maxOption), nil), api.NewOptionBlockObject(opNo, plain("No", maxOption), nil)
		e := api.NewRadioButtonsBlockElement(inputAction, yes, no)
		e.InitialOption = map[string]*api.OptionBlockObject{opYes: yes, opNo: no}[draft]
		return e
	case elicit.SingleSelect:
		chosen := pick(q, drafts)
		if q.Required && !q.AllowFreeform && len(q.Options) <= maxFewOptions { // a radio button that was selected cannot be deselected
			e := api.NewRadioButtonsBlockElement(inputAction, options(q, 0, maxOptions)...)
			e.InitialOption = first(chosen)
			return e
		}
		e := selectMenu(inputAction, q)
		e.InitialOption = first(chosen)
		return e
	case elicit.MultiSelect:
		if len(q.Options) <= maxFewOptions {
			e := api.NewCheckboxGroupsBlockElement(inputAction, options(q, 0, maxOptions)...)
			e.InitialOptions = pick(q, drafts)
			return e
		}
		placeholder := plain("Choose any", maxPlaceholder)
		e := api.NewOptionsMultiSelectBlockElement(api.MultiOptTypeStatic, placeholder, inputAction, options(q, 0, maxOptions)...)
		if len(q.Options) > maxOptions {
			e = api.NewOptionsGroupMultiSelectBlockElement(api.MultiOptTypeStatic, placeholder, inputAction, groups(q)...)
		}
		e.InitialOptions = pick(q, drafts)
		return e
	}
	if q.Format == elicit.Date {
		e := api.NewDatePickerBlockElement(inputAction)
		if _, err := time.Parse(time.DateOnly, draft); err == nil {
			e.InitialDate = draft
		}
		return e
	}
	return typed(q.Placeholder, q.Multiline, drafts)
}

func typed(placeholder string, multiline bool, drafts []string) *api.PlainTextInputBlockElement {
	var shown *api.TextBlockObject
	if placeholder != "" {
		shown = plain(placeholder, maxPlaceholder)
	}
	e := api.NewPlainTextInputBlockElement(shown, inputAction)
	e.Multiline, e.MaxLength = multiline, maxTyped
	e.DispatchActionConfig = &api.DispatchActionConfig{TriggerActionsOn: []string{"on_character_entered"}}
	if text := strings.Join(drafts, "\n"); units(text) <= maxTyped { // a longer draft stays on the surface where it was typed
		e.InitialValue = text
	}
	return e
}

// pick returns the options with the given IDs, in the form that an input
// requires.
func pick(q *elicit.Question, ids []string) (chosen []*api.OptionBlockObject) {
	for i, o := range q.Options {
		for _, id := range ids {
			if o.ID == id {
				chosen = append(chosen, options(q, i, i+1)...)
			}
		}
	}
	return chosen
}

func first(chosen []*api.OptionBlockObject) *api.OptionBlockObject {
	if len(chosen) == 0 {
		return nil
	}
	return chosen[0]
}

// fields returns a form's values, as [elicit.Request.Fields] requires them. It
// ignores options that no longer exist.
func fields(r *elicit.Request, state *api.ViewState) map[string][]string {
	all := map[string][]string{}
	if state == nil {
		return all
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		if given, ok := state.Values[answerBlock+tag(q.ID)][inputAction]; ok {
			all[q.ID] = texts(q, given)
		}
		if own := state.Values[ownBlock+tag(q.ID)][inputAction].Value; q.AllowFreeform && strings.TrimSpace(own) != "" {
			all[q.ID+elicit.OtherSuffix] = []string{own}
		}
	}
	return all
}

func texts(q *elicit.Question, given api.BlockAction) []string {
	var values []string
	for _, o := range append(given.SelectedOptions, given.SelectedOption) {
		values = append(values, o.Value)
	}
	switch {
	case q.Kind == elicit.Boolean:
		return values
	case len(q.Options) > 0:
		var ids []string
		for _, o := range q.Options {
			for _, v := range values {
				if v == tag(o.ID) {
					ids = append(ids, o.ID)
				}
			}
		}
		return ids
	case given.SelectedDate != "":
		return []string{given.SelectedDate}
	case given.Value == "":
		return nil
	}
	return []string{given.Value}
}

// problems returns a form's errors by block, or nil if err is not about
// questions.
func problems(r *elicit.Request, err error) map[string]string {
	var rejection *elicit.Rejection
	if !errors.As(err, &rejection) {
		return nil
	}
	all := map[string]string{}
	for _, p := range rejection.Problems {
		if _, ok := r.Question(p.QuestionID); ok {
			all[answerBlock+tag(p.QuestionID)] = strings.TrimPrefix(p.Message, fmt.Sprintf("question %q: ", p.QuestionID))
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all
}
