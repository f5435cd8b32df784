package terminal

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// talk asks line by line. It prints everything as text and in order, and never
// changes text on the screen. Every line that the person types is an answer, or
// a command that begins with "/".
type talk struct {
	hub   *hubClient
	model *formModel
	d     *Device
	lines *lines
	tell  chan elicit.Request // the request's newest state
}

// talkAbout does the same as formOf, in line mode.
func talkAbout(ctx context.Context, d *Device, h *elicit.Hub, r elicit.Request) (how, error) {
	in, err := readLines(d.In)
	if err != nil {
		return closed, err
	}
	defer in.stop()
	return talkOn(ctx, d, h, r.ID, in, false)
}

func talkOn(ctx context.Context, d *Device, h *elicit.Hub, id string, in *lines, inbox bool) (how, error) {
	client := newHubClient(h)
	seq, r, err := current(ctx, h, id)
	if err != nil {
		return closed, err
	}
	if err := client.present(id); err != nil && !errors.As(err, new(*elicit.Rejection)) {
		return closed, err
	}
	t := &talk{hub: client, model: newFormModel(r, inbox), d: d, lines: in, tell: make(chan elicit.Request, 1)}
	behind, stop := context.WithCancel(ctx)
	var following sync.WaitGroup
	// Ignore the error. It comes from the store, so the call that is waiting
	// for the request gets it too.
	following.Go(func() { _ = client.follow(behind, seq, id, t.changed) })
	how := t.run(ctx)
	stop()
	following.Wait()
	return how, nil
}

// changed stores the request's newest state for run.
func (t *talk) changed(r elicit.Request) {
	select {
	case <-t.tell:
	default:
	}
	t.tell <- r
}

func (t *talk) say(format string, args ...any) {
	fmt.Fprintf(t.d.Out, format+"\n", args...)
}

// run asks one question after another until the request has ended.
func (t *talk) run(ctx context.Context) how {
	t.opening()
	t.question()
	t.prompt()
	for {
		select {
		case <-ctx.Done():
			t.say("")
			return closed
		case r := <-t.tell:
			if r.Status == elicit.Completed || r.Status == "" || r.Status != t.model.request.Status {
				t.say("")
				return ended
			}
			t.model.update(r, nil)
		case text, ok := <-t.lines.out:
			if !ok {
				return putOff // the terminal was closed, or the person pressed Ctrl+D
			}
			if how, left := t.line(text); left {
				return how
			}
			t.prompt()
		}
	}
}

func (t *talk) prompt() { fmt.Fprint(t.d.Out, "> ") }

// opening prints, once, who asks and what the request is about.
func (t *talk) opening() {
	r := &t.model.request
	t.say("")
	t.say("Question from %s.", asker(r))
	if more := left(r, time.Now()); more != "" {
		t.say("Time: %s.", more)
	}
	if t.look(); t.model.may.line != "" {
		t.say("It is %s.", flat(t.model.may.line))
	}
	if standing := r.Standing(); standing != "" {
		t.say("%s", standing)
	}
	if r.Title != "" {
		t.say("%s", flat(r.Title))
	}
	if r.Proposal != nil {
		if warning := r.Proposal.Warning(); warning != "" {
			t.say("%s", clean(warning))
		}
		t.say("The agent wants to do this:\n%s", clean(r.Proposal.Text))
	}
	if r.Message != r.Title && (len(r.Questions) == 0 || r.Message != r.Questions[0].Message) {
		t.say("%s", clean(r.Message))
	}
	if r.URL != "" {
		t.say("Open this page yourself if you trust the asker: %s", clean(r.URL))
	}
	t.say("Type /help for other commands.")
}

// question prints this page's question.
func (t *talk) question() {
	q, r := t.model.question(), &t.model.request
	if q == nil {
		t.reviewing()
		return
	}
	t.say("")
	if len(r.Questions) > 1 {
		t.say("Question %d of %d.", t.model.page+1, len(r.Questions))
	}
	t.say("%s", clean(q.Asks()))
	for i, o := range q.Options {
		t.say("%d. %s", i+1, flat(o.Says()))
	}
	if q.Default != nil {
		t.say("Proposed: %s", clean(q.Say(q.Default)))
	}
	t.say("%s", t.toType(q))
	if text := clean(q.Say(t.model.answers[q.ID].Value)); text != "" {
		t.say("Current answer: %s. Press Enter to keep it.", text)
	}
}

// toType returns an instruction that says what to type.
func (t *talk) toType(q *elicit.Question) string {
	text := map[elicit.Kind]string{elicit.Text: "Type your answer", elicit.Number: "Type a number", elicit.Integer: "Type an integer",
		elicit.Boolean: "Type yes or no", elicit.SingleSelect: "Type an option's number", elicit.MultiSelect: "Type the numbers of your choices, separated by spaces"}[q.Kind]
	if q.AllowFreeform {
		text += ", or your own words"
	}
	if !q.Required {
		text += "; press Enter to skip"
	}
	if q.Placeholder != "" {
		text += ". Placeholder: " + line(q.Placeholder)
	}
	return strings.TrimSuffix(text, ".") + "."
}

func (t *talk) reviewing() {
	t.say("")
	if len(t.model.request.Questions) == 0 {
		t.say("Type yes to agree, or /decline.")
		return
	}
	t.say("Your answers:")
	for i, q := range t.model.request.Questions {
		text := clean(q.Say(t.model.answers[q.ID].Value))
		if text == "" {
			text = "no answer"
		}
		t.say("%d. %s %s", i+1, line(q.Message), text)
	}
	t.say("Type send, or the number of a question to change it.")
}

// line handles a typed line. It returns true if the person has left the
// request.
func (t *talk) line(text string) (how, bool) {
	command := strings.TrimSpace(text)
	q := t.model.question()
	switch {
	case strings.HasPrefix(command, "//"):
		text = strings.Replace(text, "//", "/", 1)
	case strings.HasPrefix(command, "/"):
		return t.command(command)
	}
	if q == nil {
		return t.atEnd(command)
	}
	if command == "" {
		if t.model.answers[q.ID].Value == nil && q.Required {
			t.say("An answer is required.")
			return 0, false
		}
	} else if problem := t.model.read(q, text); problem != "" {
		t.say("%s", problem)
		return 0, false
	}
	return t.next()
}

// next submits the answer and asks the next question.
func (t *talk) next() (how, bool) {
	s := t.model
	if len(s.request.Questions) == 1 {
		return t.send()
	}
	q := s.question()
	if answers, _ := s.final(); answers[q.ID].Value != nil {
		r, err := t.hub.submit(s.request.ID, q.ID, answers[q.ID])
		if err != nil {
			return t.refused(err)
		}
		s.update(r, nil)
	}
	s.open(s.page + 1)
	t.question()
	return 0, false
}

func (t *talk) atEnd(text string) (how, bool) {
	s := t.model
	if n, err := strconv.Atoi(text); err == nil && n >= 1 && n <= len(s.request.Questions) {
		s.open(n - 1)
		t.question()
		return 0, false
	}
	want := "send"
	if len(s.request.Questions) == 0 {
		want = "yes"
	}
	if strings.ToLower(text) != want {
		t.say("Type %s, or /later to leave it open.", want)
		return 0, false
	}
	return t.send()
}

func (t *talk) send() (how, bool) {
	answers, missing := t.model.final()
	if missing >= 0 {
		t.model.open(missing)
		t.say("An answer is required.")
		t.question()
		return 0, false
	}
	return t.complete(elicit.Accept, answers)
}

func (t *talk) complete(outcome elicit.Outcome, answers map[string]elicit.Answer) (how, bool) {
	if _, err := t.hub.complete(t.model.request.ID, outcome, answers, t.model.said.text()); err != nil {
		return t.refused(err)
	}
	return ended, true
}

func (t *talk) refused(err error) (how, bool) {
	var rejection *elicit.Rejection
	if errors.As(err, &rejection) && rejection.Winner != nil {
		return ended, true
	}
	t.say("Not accepted: %s.", line(err.Error()))
	return 0, false
}

// commands lists the commands that a person can type instead of an answer.
var commands = [][2]string{
	{"/back", "the previous question"},
	{"/edit", "write in your editor"},
	{"/more", "ten more minutes"},
	{"/later", "leave it open; your answers so far are kept"},
	{"/note TEXT", "add a note to your answer"},
	{"/take", "tell others that you deal with it; /release: that you no longer do"},
	{"/hand NAME", "hand it over to a person, role:NAME, rota:NAME or everyone"},
	{"/always PATTERN", "allow calls like this in advance; /always proposes a pattern"},
	{"/decline", "decline to answer; /decline TEXT gives a reason"},
	{"/cancel", "close it without an answer; /cancel TEXT gives a reason"},
	{"//", "begin an answer with /"},
}

func (t *talk) command(text string) (how, bool) {
	text, note, noted := strings.Cut(text, " ")
	switch text {
	case "/take", "/release", "/hand", "/always":
		if t.route(text, strings.TrimSpace(note)) {
			return ended, true
		}
		return 0, false
	}
	if noted {
		if text != "/note" && text != "/decline" && text != "/cancel" {
			t.say("%s takes no text. Type /help.", line(text))
			return 0, false
		}
		t.model.said = editor{}
		t.model.said.insert(strings.TrimSpace(note))
	}
	switch text {
	case "/note":
		if !noted {
			t.say("Type the note after the command. For example: /note deploy it after 18:00")
			break
		}
		t.say("Your note is sent with your answer.")
	case "/back":
		t.model.open(t.model.page - 1)
		t.question()
	case "/edit":
		return t.edit()
	case "/more":
		t.more()
	case "/later":
		return putOff, true
	case "/decline":
		return t.complete(elicit.Decline, nil)
	case "/cancel":
		return t.complete(elicit.Cancel, nil)
	case "/help":
		for _, c := range commands {
			t.say("%s: %s.", c[0], c[1])
		}
	default:
		t.say("Unknown command %s. Type /help.", line(text))
	}
	return 0, false
}

func (t *talk) more() {
	if t.model.request.Deadline.IsZero() {
		t.say("There is no deadline.")
		return
	}
	r, err := t.hub.extend(t.model.request)
	if err != nil {
		t.say("Not accepted: %s.", line(err.Error()))
		return
	}
	t.model.update(r, nil)
	t.say("Open until %s.", r.Deadline.Local().Format(time.TimeOnly))
}

// edit opens text in the person's editor. The editor uses the terminal while it
// runs.
func (t *talk) edit() (how, bool) {
	q := t.model.question()
	if q == nil || q.Kind != elicit.Text {
		t.say("Only a text answer can be written in an editor.")
		return 0, false
	}
	o, err := editOutside(t.model.text(q))
	if err == nil {
		t.lines.stop()
		o.cmd.Stdin, o.cmd.Stdout, o.cmd.Stderr = t.d.In, t.d.Out, t.d.Out
		var text string
		if text, err = o.text(o.cmd.Run()); err == nil {
			t.model.wrote(q, text)
			a := t.model.answers[q.ID]
			_, err = t.hub.do(elicit.Action{Type: elicit.AnswerChanged, RequestID: t.model.request.ID, QuestionID: q.ID, Answer: &a})
		}
		if e := t.lines.start(t.d.In); e != nil {
			return putOff, true
		}
	}
	if err != nil {
		t.say("%s.", line(err.Error()))
		return 0, false
	}
	if text := clean(t.model.text(q)); text != "" {
		t.say("Written: %s\nPress Enter to keep it.", text)
	} else {
		t.say("The text is empty.")
	}
	return 0, false
}

// read uses a typed line as the answer to a question. If the line is not a
// valid answer, it returns the problem.
func (s *formModel) read(q *elicit.Question, text string) (problem string) {
	word := strings.ToLower(strings.TrimSpace(text))
	switch q.Kind {
	case elicit.Boolean:
		if word != "yes" && word != "no" && word != "y" && word != "n" {
			return "Type yes or no."
		}
		s.set(q, &elicit.Value{Kind: elicit.BooleanValue, Boolean: word[0] == 'y'})
		return ""
	case elicit.SingleSelect, elicit.MultiSelect:
		return s.readChoice(q, text)
	}
	s.wrote(q, text)
	if _, ok := s.answers[q.ID]; !ok {
		return "The answer is not a number."
	}
	return ""
}

// readChoice accepts the numbers of options, the label of an option, or free
// text.
func (s *formModel) readChoice(q *elicit.Question, text string) (problem string) {
	words := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })
	var ids []string
	for _, word := range words {
		n, err := strconv.Atoi(word)
		if err != nil || n < 1 || n > len(q.Options) {
			ids = nil
			break
		}
		if id := q.Options[n-1].ID; !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, o := range q.Options {
		if ids == nil && strings.EqualFold(strings.TrimSpace(text), o.Label) {
			ids = []string{o.ID}
		}
	}
	switch {
	case len(ids) == 1 && q.Kind == elicit.SingleSelect:
		s.set(q, &elicit.Value{Kind: elicit.SelectedValue, Text: ids[0]})
	case len(ids) > 0 && q.Kind == elicit.MultiSelect:
		s.set(q, &elicit.Value{Kind: elicit.SelectedManyValue, Options: ids})
	case len(ids) == 0 && q.AllowFreeform && !number(words):
		s.set(q, nil)
		s.ownWords(q, strings.TrimSpace(text))
	default:
		return fmt.Sprintf("Type a number from 1 to %d.", len(q.Options))
	}
	return ""
}

// number reports whether all words are numbers. A line of numbers is meant to
// select options, even if there are no options with these numbers.
func number(words []string) bool {
	for _, w := range words {
		if _, err := strconv.Atoi(w); err != nil {
			return false
		}
	}
	return true
}
