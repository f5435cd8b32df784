// Package elicit manages questions to people: open requests, the drafts people
// type, their answers, and deadlines.
//
// A [Request] changes only through an [Action], and only [Reduce] decides which
// actions are allowed. A [Hub] keeps requests in the store that all deskhand
// processes share. Any process can show, draft and answer a request that another
// process asked, and requests outlive all processes. The store and the pages use
// the JSON of the types in this package; MCP, A2A and other protocols convert it in
// their own packages.
package elicit

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/rules"
)

// Request consists of one or more questions to a person. An optional field with its
// zero value is absent.
type Request struct {
	ID  string `json:"id"`  // "elc_" and 26 characters that sort by time
	Rev int64  `json:"rev"` // 1 when asked; each change adds one

	Mode    Mode    `json:"mode"`    // default: form, or url if URL is set
	Trigger Trigger `json:"trigger"` // required
	Source  Source  `json:"source"`
	Title   string  `json:"title,omitempty"` // at most 100 characters
	// Message is plain or lightly marked-up text of at most 4,000 characters. If
	// empty, it becomes the title, or the text of the first question if there is no
	// title.
	Message   string     `json:"message"`
	Questions []Question `json:"questions"` // in the order to show them
	// Proposal is the action that needs permission, or nil if the request does not
	// ask for permission.
	Proposal *Proposal `json:"proposal,omitempty"`
	// URL is an http or https address. When the request is asked, [IDInURL] in it
	// is replaced with the request's ID.
	URL string `json:"url,omitempty"`
	// Schema is the original form from another protocol, byte for byte, so the
	// answer can use that protocol's terms.
	Schema  json.RawMessage `json:"schema,omitempty"`
	Context Context         `json:"context,omitzero"`

	Audience  Audience  `json:"audience,omitzero"`
	Priority  Priority  `json:"priority"`            // default: normal
	OnTurnEnd OnTurnEnd `json:"onTurnEnd,omitempty"` // default: abandon if it has a turn, otherwise keep

	// WaitMS is how long the asker waits, in milliseconds. If zero, it is the
	// trigger's default; a negative value means forever.
	WaitMS int64 `json:"waitMs,omitempty"`
	// Clock is when the wait begins. If empty, it begins at creation.
	Clock     Clock          `json:"clock,omitempty"`
	CreatedAt Time           `json:"createdAt"`
	Deadline  Time           `json:"deadline,omitzero"` // zero if it waits forever
	Presented []Presentation `json:"presented,omitempty"`

	// Asker is the process that is waiting for the outcome; empty if none is
	// waiting.
	Asker string `json:"asker,omitempty"`
	// AskerGone reports whether the asker has stopped waiting. The request stays
	// open, sorted after all others, so an impatient client does not lose the
	// answer.
	AskerGone bool `json:"askerGone,omitempty"`

	// HandedBack reports whether the asking call returned the request's ID
	// without an outcome. The agent may come back with the ID; until then a
	// repeated question joins this request.
	HandedBack bool `json:"handedBack,omitempty"`

	// TurnEnd records when and how the asker's turn ended, if the request outlived
	// it; an answer then starts a follow-up. It is nil if the turn has not ended.
	TurnEnd *TurnEnd `json:"turnEnd,omitempty"`

	// Key identifies the request: asking again with the same key returns this
	// request.
	Key string `json:"key,omitempty"`

	Answers map[string]Answer `json:"answers,omitempty"` // by question ID
	Status  Status            `json:"status"`
	// Routing says whom the request is with and what happens if nobody answers. It is
	// nil if there is no rota and no policy, and nobody has taken the request.
	Routing    *routing.State `json:"routing,omitempty"`
	Completion *Completion    `json:"completion,omitempty"` // nil while open
	// Held is an answer that its person can still take back, or nil. Askers do not
	// see it.
	Held *Held `json:"held,omitempty"`
	// EndedFrom is where the person's answer, decline or cancel came from. It is
	// nil if no person ended the request, or if an earlier release recorded the
	// end.
	EndedFrom *Origin `json:"endedFrom,omitempty"`
	// ruled reports whether a rule may answer: only a runner asks this way, see
	// [Hub.AskByRule].
	ruled bool
	// CollectedAt is when a live call of the asker received the answer. See
	// [Request.Undelivered].
	CollectedAt Time `json:"collectedAt,omitzero"`
}

// IDInURL is a placeholder in the URL of a request without an ID.
const IDInURL = "-request-id-"

// Mode determines what the person has to do.
type Mode string

const (
	Form Mode = "form" // answer questions, or just agree
	URL  Mode = "url"  // open Request.URL, and answer questions if there are any
)

// Trigger is the cause of the request. Other values are allowed and kept.
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

// Source identifies the asker. People always see it.
type Source struct {
	Kind    string `json:"kind,omitempty"` // mcp, cli, http, attempt, upstream
	Name    string `json:"name,omitempty"`
	Version string `json:"version,omitempty"`
	// Instance is the connection or process that asked. It is temporary and
	// does not decide who owns the request.
	Instance string `json:"instance,omitempty"`
	// Owner is the asker's token or principal. If empty, it is the user of this
	// machine.
	Owner string `json:"owner,omitempty"`
	// Person is the person with a name that the asker works for. If empty, it has the
	// installation's own secret, or needed none. The hub sets it.
	Person string `json:"person,omitempty"`
}

// Context identifies what the request belongs to, for example an attempt. Unknown
// keys are kept unchanged.
type Context struct {
	ProjectID      string
	Project        string // project name
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

// Audience is who may answer. The zero value allows everyone.
type Audience struct {
	Principal string   `json:"principal,omitempty"`
	Roles     []string `json:"roles,omitempty"` // any one of them
	// Rota allows those who are on call in it. If nobody is, it allows everyone.
	Rota string `json:"rota,omitempty"`
}

// everyone reports whether the audience is everyone.
func (who Audience) everyone() bool {
	return who.Principal == "" && len(who.Roles) == 0 && who.Rota == ""
}

// AudienceOf returns the audience of a person's name, role:NAME or rota:NAME, as people
// write it. An empty text or "everyone" is everyone.
func AudienceOf(to string) Audience {
	if role, ok := strings.CutPrefix(to, "role:"); ok {
		return Audience{Roles: []string{role}}
	}
	if rota, ok := strings.CutPrefix(to, "rota:"); ok {
		return Audience{Rota: rota}
	}
	if to == "everyone" {
		to = ""
	}
	return Audience{Principal: to}
}

// Priority orders the inbox.
type Priority string

const (
	Low    Priority = "low"
	Normal Priority = "normal"
	High   Priority = "high"
	Urgent Priority = "urgent"
)

// priorities lists the priorities by rank, which the store sorts by.
var priorities = []Priority{Low, Normal, High, Urgent}

// OnTurnEnd determines what happens to a request whose turn ends first.
type OnTurnEnd string

const (
	Abandon OnTurnEnd = "abandon"
	Keep    OnTurnEnd = "keep"
)

// Clock is when the time until the deadline starts.
type Clock string

const (
	FromCreation     Clock = "creation"
	FromPresentation Clock = "presented" // until then there is no deadline
)

// Presentation records that a person could see the request.
type Presentation struct {
	Channel string `json:"channel"`
	Client  string `json:"client,omitempty"`
	At      Time   `json:"at"`
}

// Status is a request's state.
type Status string

const (
	Open Status = "open"
	// ExpiredOpen is the state after the deadline: the asker received a timeout,
	// but a late answer is still accepted.
	ExpiredOpen Status = "expired-open"
	Completed   Status = "completed"
)

// Completion records how a request ended.
type Completion struct {
	Outcome Outcome `json:"outcome"`
	Reason  string  `json:"reason,omitempty"` // machine-readable
	Note    string  `json:"note,omitempty"`   // the person's own sentence
	By      string  `json:"by,omitempty"`
	Channel string  `json:"channel,omitempty"`
	Client  string  `json:"client,omitempty"` // the page or process that By used
	At      Time    `json:"at"`
	Late    bool    `json:"late,omitempty"` // the person answered after the asker received a timeout
	// Rule is the rule that allowed the call. It is nil if a person decided; then By is
	// not [ByRule].
	Rule *rules.Use `json:"rule,omitempty"`
}

// Outcome is one of five distinct results. A "no" is an answer, so it is an
// Accept.
type Outcome string

const (
	Accept    Outcome = "accept"    // the person answered
	Decline   Outcome = "decline"   // the person refused to answer
	Cancel    Outcome = "cancel"    // the person closed the request
	Timeout   Outcome = "timeout"   // no answer in time
	Abandoned Outcome = "abandoned" // the asker withdrew it, or nobody could be asked
)

// NoElicitation is the reason for withdrawing a request because its conversation
// cannot show requests.
const NoElicitation = "no_elicitation"

// Ended reports whether the asker has an outcome: an answer or a timeout.
func (r *Request) Ended() bool { return r.Status != Open }

// Accepted reports whether a person answered.
func (r *Request) Accepted() bool {
	return r.Status == Completed && r.Completion.Outcome == Accept
}

// Undelivered reports whether a person ended the request, by an answer, a decline
// or a cancel, and no live call of the asker has received the outcome yet.
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

// Question returns the question whose ID is id.
func (r *Request) Question(id string) (*Question, bool) {
	for i := range r.Questions {
		if r.Questions[i].ID == id {
			return &r.Questions[i], true
		}
	}
	return nil, false
}

// ForAsker returns the request as its asker may see it: without drafts and
// answers that can still be taken back.
func (r Request) ForAsker() Request {
	if r.Held = nil; !r.Accepted() {
		r.Answers = nil
	}
	return r
}

// Time is a time whose JSON is RFC 3339 in UTC, with milliseconds.
type Time struct{ time.Time }

const timeFormat = "2006-01-02T15:04:05.000Z"

// At returns t in UTC, truncated to milliseconds.
func At(t time.Time) Time { return Time{t.UTC().Truncate(time.Millisecond)} }

// MarshalJSON implements [json.Marshaler].
func (t Time) MarshalJSON() ([]byte, error) {
	if y := t.UTC().Year(); y < 0 || y > 9999 {
		return nil, fmt.Errorf("the year %d cannot be encoded", y)
	}
	return []byte(`"` + t.UTC().Format(timeFormat) + `"`), nil
}

// UnmarshalJSON implements [json.Unmarshaler]; it accepts any RFC 3339 time.
func (t *Time) UnmarshalJSON(b []byte) error {
	var parsed time.Time
	if err := json.Unmarshal(b, &parsed); err != nil {
		return err
	}
	*t = At(parsed)
	return nil
}
