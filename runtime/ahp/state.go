package ahp

import (
	"encoding/json"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// RootURI names the channel that lists the sessions.
const RootURI = "ahp-root://"

// sessionScheme begins the name of a session's channel.
const sessionScheme = "ahp-session:"

// RootState is the state of [RootURI].
type RootState struct {
	Agents         []struct{} `json:"agents"` // none: deskhand offers no models here
	ActiveSessions int        `json:"activeSessions"`
	Sessions       []Summary  `json:"sessions"` // newest change first
}

// SessionState is the state of one session's channel. It is a value: Apply
// makes another one, and what it points to is shared.
type SessionState struct {
	Summary   Summary    `json:"summary"`
	Lifecycle string     `json:"lifecycle"` // always ready
	Turns     []struct{} `json:"turns"`     // always empty: what was said before is not told
	// ActiveTurn is what the asker is at; nil once its turn has ended.
	ActiveTurn *Turn `json:"activeTurn,omitempty"`
	// InputRequests are the open requests, oldest first. Those that have outlived
	// their turn do not make a session InputNeeded.
	InputRequests []InputRequest `json:"inputRequests,omitempty"`
}

// Summary is a session at a glance.
type Summary struct {
	Resource         string `json:"resource"` // the session's channel
	Provider         string `json:"provider"` // who asks: the name of an agent or command
	Title            string `json:"title"`
	Status           Status `json:"status"`
	CreatedAt        int64  `json:"createdAt"`                  // Unix milliseconds
	ModifiedAt       int64  `json:"modifiedAt"`                 // when a request opened or ended, Unix milliseconds
	WorkingDirectory string `json:"workingDirectory,omitempty"` // a file URI
	Meta             *About `json:"_meta,omitempty"`
}

// About is what deskhand knows of a session beside the protocol.
type About struct {
	ProjectID string `json:"projectId,omitempty"`
	TaskID    string `json:"taskId,omitempty"`
	AttemptID string `json:"attemptId,omitempty"`
	Branch    string `json:"branch,omitempty"`
}

// Status is a set of bits, as the protocol has it.
type Status int

const (
	Idle        Status = 1      // no turn is active
	Failed      Status = 1 << 1 // the turn ended with an error
	InProgress  Status = 1 << 3 // a turn is active
	InputNeeded Status = InProgress | 1<<4
)

// Turn is the turn of a session.
type Turn struct {
	ID            string      `json:"id"`
	UserMessage   UserMessage `json:"userMessage"`
	ResponseParts []struct{}  `json:"responseParts"` // always empty
}

// UserMessage is what began a turn, which deskhand does not know.
type UserMessage struct {
	Text string `json:"text"`
}

// InputRequest is an open request.
type InputRequest struct {
	ID        string            `json:"id"`
	Message   string            `json:"message"`
	URL       string            `json:"url,omitempty"`
	Questions []Question        `json:"questions,omitempty"`
	Answers   map[string]Answer `json:"answers,omitempty"` // by question
	Meta      RequestMeta       `json:"_meta"`
}

// RequestMeta is what the seeded shape of a request has no room for.
type RequestMeta struct {
	Source   elicit.Source   `json:"source"`
	Trigger  elicit.Trigger  `json:"trigger"`
	Title    string          `json:"title,omitempty"`
	Priority elicit.Priority `json:"priority"`
	TurnID   string          `json:"turnId,omitempty"`
	// TurnEnd is when and how the turn ended that the request has outlived, and
	// Standing says it to a person.
	TurnEnd   *elicit.TurnEnd `json:"turnEnd,omitempty"`
	Standing  string          `json:"standing,omitempty"`
	CreatedAt elicit.Time     `json:"createdAt"`
	Deadline  elicit.Time     `json:"deadline,omitzero"`
	// Proposal is what permission is asked for.
	Proposal *elicit.Proposal `json:"proposal,omitempty"`
}

// Question is one question of a request. Which fields count depends on Kind.
type Question struct {
	ID            string          `json:"id"`
	Kind          elicit.Kind     `json:"kind"`
	Title         string          `json:"title,omitempty"`
	Message       string          `json:"message"`
	Required      bool            `json:"required,omitempty"`
	Format        elicit.Format   `json:"format,omitempty"`
	Min           *float64        `json:"min,omitempty"`
	Max           *float64        `json:"max,omitempty"`
	Default       any             `json:"defaultValue,omitempty"` // what Value.value would be
	Options       []elicit.Option `json:"options,omitempty"`
	AllowFreeform bool            `json:"allowFreeformInput,omitempty"`
	Meta          *QuestionMeta   `json:"_meta,omitempty"`
}

// QuestionMeta is how to show a question.
type QuestionMeta struct {
	Placeholder string `json:"placeholder,omitempty"`
	Multiline   bool   `json:"multiline,omitempty"`
}

// Answer is the answer to a question so far.
type Answer struct {
	State    elicit.AnswerState `json:"state"`
	Value    *Value             `json:"value,omitempty"`
	Freeform []string           `json:"freeformValues,omitempty"`
	Meta     *AnswerMeta        `json:"_meta,omitempty"`
}

// AnswerMeta says who gave an answer. It is not read from clients.
type AnswerMeta struct {
	By      string      `json:"by,omitempty"`
	Channel string      `json:"channel,omitempty"`
	At      elicit.Time `json:"at"`
}

// Value is an answer's value. It is written with a value even where there are
// own words alone, as the protocol requires one.
type Value elicit.Value

// MarshalJSON implements [json.Marshaler].
func (v Value) MarshalJSON() ([]byte, error) {
	if v.Kind == elicit.SelectedValue && v.Text == "" {
		return json.Marshal(struct {
			Kind     elicit.ValueKind `json:"kind"`
			Value    string           `json:"value"`
			Freeform []string         `json:"freeformValues,omitempty"`
		}{v.Kind, "", v.Freeform})
	}
	return elicit.Value(v).MarshalJSON()
}

// UnmarshalJSON implements [json.Unmarshaler].
func (v *Value) UnmarshalJSON(b []byte) error { return (*elicit.Value)(v).UnmarshalJSON(b) }
