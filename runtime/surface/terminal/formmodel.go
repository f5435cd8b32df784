package terminal

import (
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// key is a pressed key: its name, and the text that it types, if any.
type key struct{ name, text string }

// formModel is a request that a person is answering. It has all rules for keys,
// but does not depend on terminals or stores.
type formModel struct {
	request elicit.Request
	answers map[string]elicit.Answer // drafts, by question ID
	typed   map[string]string        // text that is not a valid answer yet, for example an incomplete number
	page    int                      // index of the question; on the review page, the number of questions
	cursor  int                      // option under the cursor; initially -1, so that a key does not select an option by accident
	writing bool                     // whether keys go to the editor
	editor  editor
	said    editor // note that is sent with the action that ends the request
	saying  bool   // whether keys go to the note
	agreed  bool   // whether the person agreed to a request without questions
	menu    bool   // whether the menu for leaving is open
	help    bool
	note    string // message to the person, shown until the next key
	scroll  int    // number of rows by which the page is scrolled
	inbox   bool   // whether Esc returns to the list
	may     routes // what the person may do besides answering
	panel   panel  // what covers the question
	field   editor // text of the panel
	lasts   int    // index in lastsChoices
}

// intent is an action that the form cannot carry out itself.
type intent int

const (
	nothing   intent = iota
	save             // save this page's draft
	submit           // submit this page's answer
	send             // send everything
	decline          // decline to answer
	dismiss          // cancel the request
	later            // leave the request open
	interrupt        // leave the request open and stop the program
	longer           // extend the deadline by ten minutes
	external         // open the person's editor
	takeIt           // tell others that the person deals with it, or no longer does
	handIt           // hand it over
	alwaysIt         // make a rule, and allow the call
)

func newFormModel(r elicit.Request, inbox bool) *formModel {
	s := &formModel{inbox: inbox, typed: map[string]string{}}
	s.update(r, nil)
	s.open(0)
	return s
}

// update takes over the request's new state. A question that this person is
// changing keeps its local answer.
func (s *formModel) update(r elicit.Request, changing func(id string) bool) {
	old := s.answers
	s.request, s.answers = r, map[string]elicit.Answer{}
	for i, q := range r.Questions {
		mine, had := old[q.ID]
		theirs, has := r.Answers[q.ID]
		if changing != nil && changing(q.ID) {
			theirs, has = mine, had
		}
		if has {
			s.answers[q.ID] = theirs
		}
		if changing != nil && i == s.page && !theirs.Value.Equal(mine.Value) {
			delete(s.typed, q.ID)
			if s.writing {
				s.editor = edit(s.text(&q))
			}
			if m := theirs.Meta; m != nil {
				s.note = "changed " + line(elicit.Who(m.By, m.Channel))
			}
		}
	}
}

// question returns the page's question, or nil on the review page.
func (s *formModel) question() *elicit.Question {
	if s.page >= len(s.request.Questions) {
		return nil
	}
	return &s.request.Questions[s.page]
}

// open shows a page.
func (s *formModel) open(page int) {
	s.page = min(max(page, 0), len(s.request.Questions))
	s.cursor, s.writing, s.menu, s.panel, s.note = -1, false, false, noPanel, ""
	if q := s.question(); q != nil && typesIn(q) {
		s.write(q)
	}
}

// typesIn reports whether a person answers a question by typing.
func typesIn(q *elicit.Question) bool {
	return q.Kind == elicit.Text || q.Kind == elicit.Number || q.Kind == elicit.Integer
}

func (s *formModel) write(q *elicit.Question) {
	s.writing, s.editor = true, edit(s.text(q))
}

// text returns the text in a question's field. If the question has options,
// that is the free text.
func (s *formModel) text(q *elicit.Question) string {
	if text, ok := s.typed[q.ID]; ok {
		return text
	}
	v := s.answers[q.ID].Value
	switch {
	case v == nil:
		return ""
	case typesIn(q):
		return q.Say(v)
	}
	return strings.Join(v.Freeform, "\n")
}

// scrollBy is the number of rows by which a key scrolls.
const scrollBy = 5

// press handles a key.
func (s *formModel) press(k key) intent {
	s.note = ""
	switch k.name {
	case "pgdown":
		s.scroll += scrollBy
		return nothing
	case "pgup":
		s.scroll -= scrollBy
		return nothing
	}
	s.scroll = 0
	switch {
	case k.name == "ctrl+c":
		return interrupt
	case s.help:
		s.help = false
		return nothing
	case s.saying:
		return s.say(k)
	case s.panel != noPanel:
		return s.inPanel(k)
	case s.menu:
		return s.choose(k)
	case k.name == "ctrl+n":
		s.saying = true
		return nothing
	case k.name == "esc" && s.writing && !typesIn(s.question()):
		s.writing = false
		return nothing
	case k.name == "esc" && s.inbox:
		return later
	case k.name == "esc", k.name == "ctrl+x":
		s.menu = true
		return nothing
	case k.name == "f1", k.name == "?" && !s.writing:
		s.help = true
		return nothing
	case k.name == "tab":
		s.turn(1)
		return nothing
	case k.name == "shift+tab":
		s.turn(-1)
		return nothing
	case s.writing:
		return s.typing(k)
	case k.name == "+":
		return longer
	case k.name == "t" || k.name == "h" || k.name == "a":
		return s.routeKey(k.name)
	case s.question() == nil:
		return s.review(k)
	case s.question().Kind == elicit.Boolean:
		return s.yesOrNo(k)
	}
	return s.option(k)
}

// turn moves to another page. If there are several questions, the review is
// also a page.
func (s *formModel) turn(by int) {
	last := len(s.request.Questions)
	if last == 1 {
		return
	}
	s.open((s.page + by + last + 1) % (last + 1))
}

// say handles a key while the person writes a note.
func (s *formModel) say(k key) intent {
	switch k.name {
	case "enter", "esc", "ctrl+n":
		s.saying = false
	default:
		s.said.key(k)
	}
	return nothing
}

// choose handles a key in the menu for leaving.
func (s *formModel) choose(k key) intent {
	s.menu = false
	switch k.name {
	case "l":
		return later
	case "d":
		return decline
	case "x":
		return dismiss
	case "n":
		s.saying = true
		return nothing
	case "+":
		return longer
	case "t", "h", "a":
		return s.routeKey(k.name)
	case "esc", "enter":
		return nothing
	}
	s.menu = true
	return nothing
}

// typing handles a key in a text field.
func (s *formModel) typing(k key) intent {
	q := s.question()
	switch k.name {
	case "enter":
		if !typesIn(q) {
			s.writing = false
		}
		return submit
	case "ctrl+e":
		return external
	}
	if !s.editor.key(k) {
		return nothing
	}
	return s.wrote(q, s.editor.text())
}

// wrote stores the text in a question's field.
func (s *formModel) wrote(q *elicit.Question, text string) intent {
	switch q.Kind {
	case elicit.Text:
		s.set(q, &elicit.Value{Kind: elicit.TextValue, Text: text})
	case elicit.Number, elicit.Integer:
		s.typed[q.ID] = text
		n, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err != nil {
			s.set(q, nil)
			break
		}
		s.set(q, &elicit.Value{Kind: elicit.NumberValue, Number: n})
	default:
		s.ownWords(q, text)
	}
	return save
}

// ownWords stores free text. The text replaces a single option, or is added to
// several options.
func (s *formModel) ownWords(q *elicit.Question, text string) {
	v := s.value(q)
	v.Freeform = nil
	if strings.TrimSpace(text) != "" {
		v.Freeform = []string{text}
	}
	if q.Kind == elicit.SingleSelect && v.Freeform != nil {
		v.Text = ""
	}
	if len(v.Freeform) == 0 && v.Text == "" && len(v.Options) == 0 {
		v = nil
	}
	s.set(q, v)
}

// value returns a copy of the current selection.
func (s *formModel) value(q *elicit.Question) *elicit.Value {
	v := &elicit.Value{Kind: elicit.SelectedValue}
	if q.Kind == elicit.MultiSelect {
		v.Kind = elicit.SelectedManyValue
	}
	if old := s.answers[q.ID].Value; old != nil {
		*v = *old
		v.Options = slices.Clone(old.Options)
	}
	return v
}

func (s *formModel) set(q *elicit.Question, v *elicit.Value) {
	if v == nil {
		delete(s.answers, q.ID)
		return
	}
	s.answers[q.ID] = elicit.Answer{State: elicit.Draft, Value: v}
}

func (s *formModel) yesOrNo(k key) intent {
	q := s.question()
	switch k.name {
	case "y", "n", "1", "2":
		s.set(q, &elicit.Value{Kind: elicit.BooleanValue, Boolean: k.name == "y" || k.name == "1"})
		return save
	case "j", "down", "k", "up":
		s.move(k.name, 2)
	case "space":
		return s.pick()
	case "enter":
		if s.cursor >= 0 {
			s.pick()
		}
		return s.chosen()
	}
	return nothing
}

// rows returns the number of rows of a question: one for each option, and one
// for free text.
func (s *formModel) rows(q *elicit.Question) int {
	if q.AllowFreeform {
		return len(q.Options) + 1
	}
	return len(q.Options)
}

func (s *formModel) move(name string, rows int) {
	if name == "j" || name == "down" {
		s.cursor = (s.cursor + 1) % rows
	} else if s.cursor--; s.cursor < 0 {
		s.cursor = rows - 1
	}
}

func (s *formModel) option(k key) intent {
	q := s.question()
	switch k.name {
	case "j", "down", "k", "up":
		s.move(k.name, s.rows(q))
	case "/":
		if q.AllowFreeform {
			s.cursor = len(q.Options)
			s.write(q)
		}
	case "space":
		return s.pick()
	case "enter":
		if s.cursor >= 0 && q.Kind == elicit.SingleSelect || s.cursor == len(q.Options) {
			if intent := s.pick(); s.writing {
				return intent
			}
		}
		return s.chosen()
	default:
		if n, err := strconv.Atoi(k.name); err == nil && n >= 1 && n <= len(q.Options) {
			s.cursor = n - 1
			return s.pick()
		}
	}
	return nothing
}

// pick selects the row under the cursor. In a multi-select, it deselects an
// option that is selected.
func (s *formModel) pick() intent {
	q := s.question()
	switch {
	case s.cursor < 0:
		return nothing
	case q.Kind == elicit.Boolean:
		s.set(q, &elicit.Value{Kind: elicit.BooleanValue, Boolean: s.cursor == 0})
		return save
	case s.cursor == len(q.Options):
		s.write(q)
		return nothing
	}
	v, id := s.value(q), q.Options[s.cursor].ID
	if q.Kind == elicit.SingleSelect {
		v.Text, v.Freeform = id, nil
	} else if i := slices.Index(v.Options, id); i >= 0 {
		v.Options = slices.Delete(v.Options, i, i+1)
	} else {
		v.Options = append(v.Options, id)
	}
	s.set(q, v)
	return save
}

// chosen submits the selected options.
func (s *formModel) chosen() intent {
	q := s.question()
	if _, ok := s.answers[q.ID]; !ok && q.Required {
		s.note = "nothing is selected yet: move with j and k, or press a number"
		if q.Kind == elicit.Boolean {
			s.note = "press y or n"
		}
		return nothing
	}
	return submit
}

// review handles a key on the review page, or in a request without questions.
func (s *formModel) review(k key) intent {
	n := len(s.request.Questions)
	switch {
	case n == 0 && k.name == "y":
		s.agreed = true
	case n == 0 && k.name == "n":
		s.agreed, s.menu = false, true
	case n == 0 && k.name == "enter" && !s.agreed:
		s.note = "press y to agree"
	case k.name == "enter":
		return send
	default:
		if i, err := strconv.Atoi(k.name); err == nil && i >= 1 && i <= n {
			s.open(i - 1)
		}
	}
	return nothing
}

// unfinished returns the reason why this page has no valid answer, or "" if it
// has a valid answer.
func (s *formModel) unfinished() string {
	q := s.question()
	answers, _ := s.final()
	switch a, ok := answers[q.ID]; {
	case a.Value == nil && strings.TrimSpace(s.typed[q.ID]) != "":
		return "the answer is not a number"
	case !ok:
		return "an answer is required"
	}
	return ""
}

// final returns the answers to send. Questions without an answer are included
// as skipped. missing is the index of the first question that requires an
// answer but has none, or -1.
func (s *formModel) final() (answers map[string]elicit.Answer, missing int) {
	answers, missing = map[string]elicit.Answer{}, -1
	for i, q := range s.request.Questions {
		a := s.answers[q.ID]
		switch {
		case a.Value != nil && (q.Kind != elicit.Text || strings.TrimSpace(a.Value.Text) != ""):
			answers[q.ID] = elicit.Answer{State: elicit.Submitted, Value: a.Value}
		case !q.Required:
			answers[q.ID] = elicit.Answer{State: elicit.Skipped}
		case missing < 0:
			missing = i
		}
	}
	return answers, missing
}
