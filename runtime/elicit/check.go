package elicit

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Limits of a request. The specification of ask_user sets some; the others keep
// a page readable.
const (
	MaxQuestionsAskUser = 10
	MaxQuestions        = 50
	MaxTitle            = 100  // characters
	MaxQuestionText     = 1000 // characters
	MaxMessage          = 4000 // characters
	MaxOptions          = 200
	MaxLabel            = 1000 // characters of an option, a placeholder or a name
	maxIDBytes          = 200
	maxRequestBytes     = 256 << 10
)

// Timeouts of ask_user in its specification: 5 minutes by default; a caller may
// set 10 seconds to 30 minutes. The ask_user door enforces them; an installation
// may configure a different default, even a shorter one.
const (
	MinWait     = 10 * time.Second
	MaxWait     = 30 * time.Minute
	DefaultWait = 5 * time.Minute
)

// CredentialWait is how long to wait for a sign-in.
const CredentialWait = 10 * time.Minute

// OtherSuffix is the suffix of free-text fields in flat forms: the field
// "<question>__other" accompanies "<question>".
const OtherSuffix = "__other"

// Prepare sets r's missing fields to their defaults and checks the rest. The
// error is a *[Rejection] with every problem. Prepare is idempotent.
func Prepare(r Request) (Request, error) {
	r.Questions = slices.Clone(r.Questions)
	taken := map[string]bool{}
	for _, q := range r.Questions {
		taken[q.ID] = true
	}
	for i := range r.Questions {
		q := &r.Questions[i]
		if kind, ok := ParseKind(string(q.Kind)); ok {
			q.Kind = kind
		}
		for q.ID == "" {
			if id := newQuestionID(); !taken[id] {
				q.ID, taken[id] = id, true
			}
		}
		if !q.Kind.selects() {
			q.Options, q.AllowFreeform = nil, false
		}
	}
	r.fill()
	if problems := r.check(); len(problems) > 0 {
		return r, rejectProblems(InvalidRequest, problems)
	}
	return r, nil
}

// CleanName normalizes the name that a client or other source gives for itself,
// so it can be compared or shown: one line, no control characters, at most 100
// characters.
func CleanName(name string) string {
	const most = 100 // characters
	name = strings.Join(strings.FieldsFunc(name, func(c rune) bool { return unicode.IsSpace(c) || unicode.IsControl(c) }), " ")
	if utf8.RuneCountInString(name) > most {
		name = string([]rune(name)[:most])
	}
	return strings.ToValidUTF8(name, "\ufffd")
}

func (r *Request) fill() {
	s := &r.Source
	s.Kind, s.Name, s.Version, s.Instance = CleanName(s.Kind), CleanName(s.Name), CleanName(s.Version), CleanName(s.Instance)
	s.Owner = CleanName(s.Owner)
	if r.Mode == "" {
		if r.Mode = Form; r.URL != "" {
			r.Mode = URL
		}
	}
	if r.Message == "" {
		if r.Message = r.Title; r.Message == "" && len(r.Questions) > 0 {
			r.Message = r.Questions[0].Message
		}
	}
	if r.Proposal != nil {
		r.Proposal = r.Proposal.fit()
	}
	if r.Priority == "" {
		r.Priority = Normal
	}
	if r.OnTurnEnd == "" {
		if r.OnTurnEnd = Keep; r.Context.TurnID != "" {
			r.OnTurnEnd = Abandon
		}
	}
	if r.WaitMS == 0 {
		r.WaitMS = customaryWait(r.Trigger).Milliseconds()
	}
	if r.WaitMS == 0 {
		r.WaitMS = -1
	}
	if r.Clock == "" {
		r.Clock = FromCreation
	}
}

// customaryWait returns how long an asker waits by default. 0 means forever.
func customaryWait(t Trigger) time.Duration {
	switch t {
	case AskUser:
		return DefaultWait
	case CredentialRequired, A2AAuthRequired:
		return CredentialWait
	}
	return 0
}

// check lists the problems of a request whose defaults are set.
func (r *Request) check() (problems []Problem) {
	add := func(code, format string, args ...any) {
		problems = append(problems, Problem{Code: code, Message: fmt.Sprintf(format, args...)})
	}
	most := MaxQuestions
	if r.Trigger == AskUser {
		most = MaxQuestionsAskUser
		if len(r.Questions) == 0 {
			add("too_few_questions", "questions array must have at least 1 item")
		}
	}
	if len(r.Questions) > most {
		add("too_many_questions", "questions array exceeds maximum of %d", most)
		return problems // one sentence instead of one for each of a thousand questions
	}
	if r.Trigger == "" {
		add("no_trigger", "trigger is required")
	}
	if n := utf8.RuneCountInString(r.Title); n > MaxTitle {
		add("title_too_long", "title exceeds maximum of %d characters", MaxTitle)
	}
	if n := utf8.RuneCountInString(r.Message); n > MaxMessage {
		add("message_too_long", "message exceeds maximum of %d characters", MaxMessage)
	}
	if r.Message == "" && len(r.Questions) == 0 && r.Trigger != AskUser {
		add("no_message", "message is required when there is no title and no question")
	}
	if r.WaitMS > maxWaitMS {
		add("bad_timeout", "timeout must be at most %d milliseconds", int64(maxWaitMS))
	}
	if !slices.Contains(priorities, r.Priority) {
		add("bad_priority", "priority %q is not one of low, normal, high, urgent", brief(string(r.Priority)))
	}
	if r.OnTurnEnd != Abandon && r.OnTurnEnd != Keep {
		add("bad_on_turn_end", "onTurnEnd %q is not abandon or keep", brief(string(r.OnTurnEnd)))
	}
	if r.Clock != FromCreation && r.Clock != FromPresentation {
		add("bad_clock", "clock %q is not creation or presented", brief(string(r.Clock)))
	}
	if r.Audience.size() > maxAudienceBytes {
		add("audience_too_big", "audience exceeds maximum of %d bytes", maxAudienceBytes)
	}
	for _, word := range []string{r.Key, r.Audience.Principal, r.Context.SessionID, r.Context.ConversationID, r.Context.AttemptID, r.Context.TurnID} {
		if strings.ContainsFunc(word, unicode.IsControl) {
			add("bad_id", "id or key %q has control characters", brief(word))
		}
	}
	r.checkMode(add)
	names := r.fieldNames()
	for i := range r.Questions {
		where := ""
		if len(r.Questions) > 1 {
			where = fmt.Sprintf(" (questions[%d])", i)
		}
		r.Questions[i].check(names, func(code, format string, args ...any) {
			problems = append(problems, Problem{r.Questions[i].ID, code, fmt.Sprintf(format, args...) + where})
		})
	}
	if b, err := json.Marshal(r); err != nil {
		add("not_json", "cannot encode the request as JSON: %v", err)
	} else if len(b) > maxRequestBytes {
		add("too_big", "the request is %d bytes long; the maximum is %d", len(b), maxRequestBytes)
	} else if !utf8.Valid(b) {
		add("not_text", "the request is not valid UTF-8")
	}
	return problems
}

// maxWaitMS is a hundred years. Added to any date, it still gives a time that can
// be encoded.
const maxWaitMS = 100 * 365 * 24 * 3600 * 1000

func (r *Request) checkMode(add func(code, format string, args ...any)) {
	switch {
	case r.Mode != Form && r.Mode != URL:
		add("bad_mode", "mode %q is not form or url", brief(string(r.Mode)))
	case r.Mode == Form && r.URL != "":
		add("bad_mode", "a request with a url must have mode url")
	case r.Mode == URL:
		u, err := url.Parse(r.URL)
		if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			add("bad_url", "url %q is not an http or https address", brief(r.URL))
		} else if u.User != nil {
			add("bad_url", "url %q has a user name, which can disguise its real host", brief(r.URL))
		}
	}
}

// fieldNames counts the names that the questions use in a flat form.
func (r *Request) fieldNames() map[string]int {
	names := map[string]int{}
	for _, q := range r.Questions {
		names[q.ID]++
		if q.AllowFreeform {
			names[q.ID+OtherSuffix]++
		}
	}
	return names
}

func (q *Question) check(names map[string]int, add func(code, format string, args ...any)) {
	switch n := utf8.RuneCountInString(q.Message); {
	case n == 0:
		add("no_question", "question text is required")
	case n > MaxQuestionText:
		add("question_too_long", "question text exceeds maximum of %d characters", MaxQuestionText)
	}
	if utf8.RuneCountInString(q.Placeholder) > MaxLabel {
		add("placeholder_too_long", "placeholder exceeds maximum of %d characters", MaxLabel)
	}
	if utf8.RuneCountInString(q.Title) > MaxTitle {
		add("title_too_long", "question title exceeds maximum of %d characters", MaxTitle)
	}
	if names[q.ID] > 1 || q.AllowFreeform && names[q.ID+OtherSuffix] > 1 {
		add("duplicate_id", "question id %q is used twice", brief(q.ID))
	}
	if len(q.ID) > maxIDBytes || strings.ContainsFunc(q.ID, func(c rune) bool { return c < ' ' || c == 0x7f }) {
		add("bad_id", "question id %q is longer than %d bytes or has control characters", brief(q.ID), maxIDBytes)
	}
	if _, ok := valueKinds[q.Kind]; !ok {
		add("bad_kind", "type %q is not one of text, number, integer, boolean, confirm, single-select, select, multi-select", brief(string(q.Kind)))
		return
	}
	if !slices.Contains([]Format{"", Email, URI, Date, DateTime}, q.Format) {
		add("bad_format", "format %q is not one of email, uri, date, date-time", brief(string(q.Format)))
	}
	if q.Min != nil && q.Max != nil && *q.Min > *q.Max {
		add("bad_bounds", "min %v is more than max %v", *q.Min, *q.Max)
	}
	if q.Kind.selects() {
		q.checkOptions(add)
	}
	if q.Default != nil {
		if p := q.problem(&Answer{State: Submitted, Value: q.Default}); p != nil {
			add("bad_default", "the default is not a valid answer: %s", p.Message)
		}
	}
}

func (q *Question) checkOptions(add func(code, format string, args ...any)) {
	if len(q.Options) == 0 {
		add("no_options", "Options required for select/multi-select types")
	}
	if len(q.Options) > MaxOptions {
		add("too_many_options", "options exceed maximum of %d", MaxOptions)
		return
	}
	seen := map[string]bool{}
	for _, o := range q.Options {
		if o.ID == "" || o.Label == "" {
			add("empty_option", "an option is empty")
		}
		if utf8.RuneCountInString(o.Label) > MaxLabel || len(o.ID) > utf8.UTFMax*MaxLabel || utf8.RuneCountInString(o.Description) > MaxMessage {
			add("option_too_long", "option %q exceeds maximum of %d characters, or its description of %d", brief(o.Label), MaxLabel, MaxMessage)
		}
		if seen[o.ID] {
			add("duplicate_option", "option %q appears twice", brief(o.ID))
		}
		seen[o.ID] = true
	}
}
