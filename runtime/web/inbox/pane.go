package inbox

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// pane is one question with its form. If the question has ended, the pane
// describes how it ended.
type pane struct {
	ID, Heading, Asker, Message string
	Proposal                    *elicit.Proposal
	Fold                        bool // whether the proposal is long
	HideHeading                 bool // whether the question has the same text as the heading
	Rev                         int64
	Priority                    elicit.Priority
	Context                     []fact
	Asked, Deadline             moment
	Late, Gone                  bool
	Standing                    string // see [elicit.Request.Standing]
	URL, Host                   string // page to open, and its host
	Own                         bool   // whether it is a page of deskhand
	Questions                   []question
	Note                        string // the person's note
	Problems                    []problem
	Trouble                     string     // error to show; empty if there is none
	Reviewing                   bool       // whether the answers are shown for review before they are sent
	End                         *end       // nil while the question can be answered
	Held                        *held      // an answer that can still be taken back, or nil
	ForOthers                   bool       // this person may read the question, not answer it
	Buttons                     []button   // answers that take one press; see [buttonsOf]
	Always                      *always    // the rule that this person can make, or nil
	Routing                     *routed    // whom it is with, or nil if there is nobody else
	Lost                        []answered // what was typed too late
	Next                        *card      // the next question to answer
	At                          string     // path of its attempt's page if the question is answered there; empty in the inbox
	Here                        bool       // whether the pane is on the attempt's page
	View                        bool       // whether the pane is in a view; it then has no links to other pages
}

// FirstField returns the ID of the first control, which problems link to.
func (p *pane) FirstField() string { return fieldID(0) }

// fact is a name and a value. Path is set if there is a page about it.
type fact struct{ Name, Value, Path string }

// problem is a reason why an answer cannot be sent. Field is the field that it
// concerns.
type problem struct{ Field, Question, Text string }

// question is one question with the content of its field.
type question struct {
	elicit.Question
	Field        string // ID of the question's first control
	First, Rest  string // the first line of the question, and the rest
	Wants        string
	Text, Own    string // typed answer, and free text
	Chosen       map[string]bool
	Skipped      bool
	Problem      string
	Theirs       string // the text in another window, if the two texts differ
	TheirsBy     string
	Rev          int64  // revision of the draft
	Said         string // the answer in words
	Proposed     string // the asker's default
	Input        string // type of the input element; empty for a text area
	Step, Sample string
}

// end is how a request ended.
type end struct {
	Words   string
	Outcome elicit.Outcome
	At      moment
	Late    bool
	Note    string
	Took    string
	From    string // the process that accepted the answer; empty if unknown
	Answers []answered
}

type answered struct {
	Question, Answer string
	Skipped          bool
}

// paneOf returns the pane for r. from is the browser's request. typed is a
// refused form. If it is nil, the pane shows the drafts.
func (in *Inbox) paneOf(from *http.Request, r *elicit.Request, typed *form) *pane {
	now := in.now()
	p := &pane{
		ID: r.ID, Heading: cmp.Or(page.Line(r.Heading()), "A question"), Asker: asker(r), Rev: r.Rev, Priority: r.Priority,
		Asked: when(r.CreatedAt, ago(now.Sub(r.CreatedAt.Time))), Deadline: deadline(r, now),
		Late: r.Status == elicit.ExpiredOpen, Gone: r.AskerGone && r.TurnEnd == nil, Standing: r.Standing(), Context: facts(r, in.attempt(r)), At: in.place(from, r), View: in.options.View,
	}
	if r.Message != r.Title && (len(r.Questions) == 0 || r.Message != r.Questions[0].Message) {
		p.Message = r.Message
		if r.Title == "" {
			p.Message = afterFirstLine(r.Message)
		}
	}
	p.HideHeading = (r.Title == "" || r.Title == r.Message) && len(r.Questions) > 0 && r.Message == r.Questions[0].Message
	if p.Proposal = r.Proposal; r.Proposal != nil {
		p.Fold = strings.Count(r.Proposal.Text, "\n") > foldLines || len(r.Proposal.Text) > foldBytes
	}
	if u, err := url.Parse(r.URL); err == nil && r.URL != "" {
		p.URL, p.Host = r.URL, u.Host
		p.Own = r.Trigger == elicit.CredentialRequired
		if p.Own && from != nil {
			p.URL = page.Beside(u, from.Host).String()
		}
	}
	if r.Status == elicit.Completed {
		p.End, p.HideHeading = endOf(r, now), false
		return p
	}
	p.Held = heldOf(r, now)
	p.ForOthers = in.forOthers(from, r)
	if !in.options.View {
		p.Buttons = buttonsOf(r)
	}
	p.Always = in.alwaysOf(from, r, typed)
	if p.Routing = in.routedOf(from, r); p.Routing != nil { // the fact would say it once more
		p.Context = slices.DeleteFunc(p.Context, func(f fact) bool { return f.Name == routingFact })
	}
	if typed != nil {
		p.Note = typed.note
	}
	if p.ForOthers {
		p.Always = nil
	}
	for i := range r.Questions {
		p.Questions = append(p.Questions, questionOf(r, i, typed))
	}
	return p
}

// Limits, in lines and bytes, above which a proposal can be folded. The
// proposal is initially unfolded, because nobody should allow a proposal that
// was not on the screen.
const (
	foldLines = 20
	foldBytes = 2000
)

func afterFirstLine(text string) string {
	_, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return rest
}

// routingFact is the name of the fact that says whom a question is with.
const routingFact = "Routing"

// facts returns context that helps a person decide. attempt is the path of the
// attempt's page.
func facts(r *elicit.Request, attempt string) []fact {
	c := r.Context
	var all []fact
	for _, f := range []fact{
		{Name: "Folder", Value: c.CWD}, {Name: "Project", Value: cmp.Or(c.Project, c.ProjectID)}, {Name: "Task", Value: c.TaskID},
		{Name: "Attempt", Value: c.AttemptID, Path: attempt}, {Name: "Branch", Value: c.Branch}, {Name: "Tool", Value: c.ToolName},
		{Name: "Upstream", Value: c.Upstream}, {Name: "Asked by", Value: strings.TrimSpace(r.Source.Name + " " + r.Source.Version)},
		{Name: "For", Value: r.Audience.Principal}, {Name: routingFact, Value: r.Takes(time.Local)},
	} {
		if f.Value != "" {
			f.Value = page.Clean(f.Value)
			all = append(all, f)
		}
	}
	return all
}

func questionOf(r *elicit.Request, i int, typed *form) question {
	q := r.Questions[i]
	v := question{Question: q, Field: fieldID(i), Wants: q.Wants(), Chosen: map[string]bool{}, Rest: afterFirstLine(q.Message)}
	v.First, _, _ = strings.Cut(strings.TrimSpace(q.Message), "\n")
	draft, has := r.Answers[q.ID]
	fields := draft.Value.Fields(q.ID)
	v.Skipped = has && draft.State == elicit.Skipped
	if has && draft.Meta != nil {
		v.Rev = draft.Meta.Rev
	}
	if typed != nil {
		fields, v.Skipped = typed.fields, typed.skipped[q.ID]
	}
	for _, text := range fields[q.ID] {
		v.Text = text
		v.Chosen[text] = true
	}
	v.Own = strings.Join(fields[q.ID+elicit.OtherSuffix], "\n")
	v.Said = page.Clean(q.Say(draft.Value))
	if q.Default != nil {
		v.Proposed = page.Line(q.Say(q.Default))
	}
	v.Input, v.Step, v.Sample = inputOf(&q)
	return v
}

// inputOf returns the attributes of the input element for a question that a
// person answers by typing.
func inputOf(q *elicit.Question) (kind, step, sample string) {
	switch {
	case q.Kind == elicit.Integer:
		return "number", "1", ""
	case q.Kind == elicit.Number:
		return "number", "any", ""
	case q.Multiline:
		return "", "", ""
	}
	switch q.Format {
	case elicit.Email:
		return "email", "", "ada@example.org"
	case elicit.URI:
		return "url", "", "https://example.org/page"
	case elicit.Date:
		return "date", "", ""
	case elicit.DateTime:
		return "text", "", "2026-02-25T14:30:00Z"
	}
	return "", "", ""
}

func endOf(r *elicit.Request, now time.Time) *end {
	c := r.Completion
	e := &end{Words: page.Line(c.Words()), Outcome: c.Outcome, Late: c.Late, Note: page.Clean(c.Note),
		At: when(c.At, c.At.Local().Format("15:04")), Took: duration(c.At.Sub(r.CreatedAt.Time))}
	if now.Sub(c.At.Time) > 20*time.Hour {
		e.At.Words = c.At.Local().Format("2 January 2006, 15:04")
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		if a, ok := r.Answers[q.ID]; ok {
			e.Answers = append(e.Answers, answered{page.Line(q.Message), page.Clean(q.Say(a.Value)), a.State == elicit.Skipped})
		}
	}
	if r.EndedFrom != nil {
		e.From = page.Line(r.EndedFrom.Words())
	}
	return e
}

// problemsOf adds the problems that prevent the form from being sent. It also
// marks the questions that have problems.
func (p *pane) problemsOf(r *elicit.Request, rejected *elicit.Rejection) {
	for _, found := range rejected.Problems {
		one := problem{Text: sentence(found.Message, found.QuestionID)}
		if found.Code == "not_submitted" { // an earlier draft that this form has removed
			one.Text = "An answer is required."
		}
		for i := range r.Questions {
			if r.Questions[i].ID == found.QuestionID {
				one.Question, one.Field = page.Line(r.Questions[i].Message), p.Questions[i].Field
				p.Questions[i].Problem = one.Text
			}
		}
		p.Problems = append(p.Problems, one)
	}
	if len(p.Problems) == 0 {
		p.Trouble = sentence(rejected.Message, "")
		if hintedRefusals[rejected.Code] {
			p.Trouble += " " + sentence(rejected.Hint, "")
		}
	}
}

// hintedRefusals are those whose hints are meant for people at a page as well.
var hintedRefusals = map[string]bool{elicit.TakenBefore: true, elicit.NobodyThere: true}

// sentence returns text as a sentence, without the question's ID.
func sentence(text, question string) string {
	return page.Sentence(strings.TrimPrefix(text, `question "`+question+`": `))
}
