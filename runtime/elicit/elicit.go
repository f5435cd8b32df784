// Package elicit owns questions to people: open requests, the drafts people
// type, their answers, and deadlines.
//
// A [Request] changes by an [Action] alone, and [Reduce] is the one place that
// knows which actions are allowed. A [Hub] keeps requests in the store that all
// deskhand processes share: a request asked through one is seen, drafted and
// answered through any other, and outlives them all. The JSON of the types here
// is what the store holds and what people see of a request; MCP, A2A and the
// others are projections of it that live with their doors.
package elicit

import (
	"encoding/json"
	"fmt"
	"time"
)

// Request is something asked of a person. The zero value of a field that is
// not required means that it is absent.
type Request struct {
	ID  string `json:"id"`  // "elc_" and 26 characters that sort by time
	Rev int64  `json:"rev"` // 1 when asked, and one more for each change

	Mode    Mode    `json:"mode"`    // zero when asked: form, or url if URL is set
	Trigger Trigger `json:"trigger"` // required
	Source  Source  `json:"source"`
	Title   string  `json:"title,omitempty"` // at most 100 characters
	// Message is plain or lightly marked-up text of at most 4,000 characters.
	// Zero when asked: the title, or else the text of the first question.
	Message   string     `json:"message"`
	Questions []Question `json:"questions"` // in the order to show them
	// Proposal is what permission is asked for. Nil: the request is no such one.
	Proposal *Proposal `json:"proposal,omitempty"`
	// URL is an http or https address. [IDInURL] in it becomes the request's id
	// when it is asked.
	URL string `json:"url,omitempty"`
	// Schema is what another protocol asked, byte for byte, for answering in
	// its terms.
	Schema  json.RawMessage `json:"schema,omitempty"`
	Context Context         `json:"context,omitzero"`

	Audience  Audience  `json:"audience,omitzero"`
	Priority  Priority  `json:"priority"`            // zero when asked: normal
	OnTurnEnd OnTurnEnd `json:"onTurnEnd,omitempty"` // zero when asked: abandon if it has a turn, else keep

	// WaitMS is how long the asker waits, in milliseconds. Zero when asked: as
	// is the custom for the trigger; negative: for ever.
	WaitMS int64 `json:"waitMs,omitempty"`
	// Clock says when the wait begins. Zero: at creation.
	Clock     Clock          `json:"clock,omitempty"`
	CreatedAt Time           `json:"createdAt"`
	Deadline  Time           `json:"deadline,omitzero"` // zero: waits
	Presented []Presentation `json:"presented,omitempty"`

	// Asker is the process that waits for the outcome; empty: nobody need wait.
	Asker string `json:"asker,omitempty"`
	// AskerGone says that nobody waits any more. The request stays open, after
	// all others, because a client's impatience should not lose an answer.
	AskerGone bool `json:"askerGone,omitempty"`

	// HandedBack says that the call that asked has ended with the request's ID
	// and without an outcome. Its agent may come back with the ID; until then a
	// repeated question joins this request.
	HandedBack bool `json:"handedBack,omitempty"`

	// TurnEnd says when and how the turn ended that the request has outlived: the
	// agent has finished, and an answer starts a follow-up. Nil: it has not.
	TurnEnd *TurnEnd `json:"turnEnd,omitempty"`

	// Key makes asking again find this request instead.
	Key string `json:"key,omitempty"`

	Answers    map[string]Answer `json:"answers,omitempty"` // by question
	Status     Status            `json:"status"`
	Completion *Completion       `json:"completion,omitempty"` // nil while open
	// EndedFrom is where what a person said came from. Nil: no person ended it, or
	// an earlier release took it.
	EndedFrom *Origin `json:"endedFrom,omitempty"`
	// CollectedAt is when a live call of the asker got the person's answer: see
	// [Request.Undelivered].
	CollectedAt Time `json:"collectedAt,omitzero"`
}

// IDInURL stands in the URL of a request that has no id yet.
const IDInURL = "-request-id-"

// Mode says what the person is to do.
type Mode string

const (
	Form Mode = "form" // answer questions, or just agree
	URL  Mode = "url"  // do something at Request.URL, and answer questions if there are any
)

// Trigger says why somebody asks. The set is open: unknown ones are kept.
type Trigger string

const (
	AskUser            Trigger = "ask_user"
	CLI                Trigger = "cli"
	MCPElicitation     Trigger = "mcp_elicitation"
	CredentialRequired Trigger = "credential_required"
	A2AInputRequired   Trigger = "a2a_input_required"
	A2AAuthRequired    Trigger = "a2a_auth_required"
	ACPElicitation     Trigger = "acp_elicitation"
	ACPPermission      Trigger = "acp_permission"
	TaskGate           Trigger = "task_gate"
	HTTP               Trigger = "http"
)

// Source is who asks; it is always shown to the person.
type Source struct {
	Kind    string `json:"kind,omitempty"` // mcp, cli, http, attempt, upstream
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// Instance is the connection or process that asked. It ends and changes:
	// it never decides whose request this is.
	Instance string `json:"instance,omitempty"`
	// Owner is the token or principal that the asker came with. Empty: whoever
	// uses the machine.
	Owner string `json:"owner,omitempty"`
}

// Context is what the request belongs to. Other keys are kept as they are.
type Context struct {
	ProjectID      string
	Project        string // its name
	TaskID         string
	AttemptID      string
	SessionID      string
	TurnID         string
	ToolCallID     string
	ToolName       string
	CWD            string
	Branch         string
	Upstream       string
	ConversationID string
	Traceparent    string
	Other          map[string]json.RawMessage
}

// Audience is who may answer. The zero value is anybody.
type Audience struct {
	Principal string   `json:"principal,omitempty"`
	Roles     []string `json:"roles,omitempty"` // any one of them
}

// Priority orders the inbox.
type Priority string

const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
	Urgent Priority = "urgent"
)

// priorities are in the order of rank, which the store sorts by.
var priorities = []Priority{Low, Normal, High, Urgent}

// OnTurnEnd says what becomes of a request whose turn ends first.
type OnTurnEnd string

const (
	Abandon OnTurnEnd = "abandon"
	Keep    OnTurnEnd = "keep"
)

// Clock is what a deadline counts from.
type Clock string

const (
	FromCreation     Clock = "creation"
	FromPresentation Clock = "presented" // until then there is no deadline
)

// Presentation is a fact: somebody could see the request.
type Presentation struct {
	Channel string `json:"channel"`
	Client  string `json:"client,omitempty"`
	At      Time   `json:"at"`
}

// Status is where a request is in its life.
type Status string

const (
	Open Status = "open"
	// ExpiredOpen is after the deadline: the asker was told so, and a late
	// answer is still welcome.
	ExpiredOpen Status = "expired-open"
	Completed   Status = "completed"
)

// Completion is how a request ended.
type Completion struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"` // a word for programs
	Note    string  `json:"note,omitempty"`   // a sentence of the person
	By      string  `json:"by,omitempty"`
	Channel string  `json:"channel,omitempty"`
	Client  string  `json:"client,omitempty"` // the page or process of By
	At      Time    `json:"at"`
	Late    bool    `json:"late,omitempty"` // after the asker was told that nobody answered
}

// Outcome is one of five facts that are never mixed up. "No" is an answer, and
// so an Accept.
type Outcome string

const (
	Accept    Outcome = "accept"    // the person answered
	Decline   Outcome = "decline"   // the person will not answer
	Cancel    Outcome = "cancel"    // the person closed it
	Timeout   Outcome = "timeout"   // nobody answered in time
	Abandoned Outcome = "abandoned" // the asker took it back, or nobody could be asked
)

// NoElicitation is the reason of a request that was taken back because the
// conversation which it came up in shows no requests.
const NoElicitation = "no_elicitation"

// Ended says that the asker has an outcome: an answer, or that time is up.
func (r *Request) Ended() bool { return r.Status != Open }

// Accepted says that a person answered.
func (r *Request) Accepted() bool {
	return r.Status == Completed && r.Completion.Outcome == Accept
}

// Undelivered reports whether a person ended the request, by an answer, a
// decline or a cancel, and no live call of the asker has got that yet.
func (r *Request) Undelivered() bool {
	if r.Status != Completed || !r.CollectedAt.IsZero() {
		return false
	}
	switch r.Completion.Outcome {
	case Accept, Decline, Cancel:
		return true
	}
	return false
}

// Question finds a question by its id.
func (r *Request) Question(id string) (*Question, bool) {
	for i := range r.Questions {
		if r.Questions[i].ID == id {
			return &r.Questions[i], true
		}
	}
	return nil, false
}

// ForAsker is the request as the one who asked may see it: what people typed
// and did not send is not in it.
func (r Request) ForAsker() Request {
	if !r.Accepted() {
		r.Answers = nil
	}
	return r
}

// Time is a time that is written as RFC 3339 in UTC, with milliseconds.
type Time struct{ time.Time }

const timeFormat = "2006-01-02T15:04:05.000Z"

// At cuts t to what is written.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("the year %d cannot be written", y)
	}
	return []byte(`"` + t.UTC().Format(timeFormat) + `"`), nil
}

// UnmarshalJSON implements [json.Unmarshaler]; it takes any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	var parsed time.Time
	if err := json.Unmarshal(b, &parsed); err != nil {
		return err
	}
	*t = At(parsed)
	return nil
}
