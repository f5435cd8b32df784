package ahp

import (
	"encoding/json"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// RootURI names the channel that lists the sessions.
const RootURI = "ahp-root://"

// sessionScheme is the URI scheme of a session's channel.
const sessionScheme = "ahp-session:"

// RootState is the state of [RootURI].
type RootState struct {
	Agents         []struct{} `json:"agents"` // always empty: deskhand offers no models here
	ActiveSessions int        `json:"activeSessions"`
	Sessions       []Summary  `json:"sessions"` // most recently changed first
}

// SessionState is the state of one session's channel. Apply does not modify it:
// it returns a new state, which may share data with the old one.
type SessionState struct {
	Summary   Summary    `json:"summary"`
	Lifecycle string     `json:"lifecycle"` // always "ready"
	Turns     []struct{} `json:"turns"`     // always empty: earlier turns are not sent
	// ActiveTurn is the asker's current turn, or nil after it has ended.
	ActiveTurn *Turn `json:"activeTurn,omitempty"`
	// InputRequests lists the open requests, oldest first. Requests that
	// outlived their turn do not set InputNeeded.
	InputRequests []InputRequest `json:"inputRequests,omitempty"`
}

// Summary is a session's entry in the list.
type Summary struct {
	Resource         string `json:"resource"` // the session's channel URI
	Provider         string `json:"provider"` // the asker: the name of an agent or command
	Title            string `json:"title"`
	Status           Status `json:"status"`
	CreatedAt        int64  `json:"createdAt"`                  // Unix milliseconds
	ModifiedAt       int64  `json:"modifiedAt"`                 // Unix milliseconds; when a request last opened or ended
	WorkingDirectory string `json:"workingDirectory,omitempty"` // a file URI
	Meta             *About `json:"_meta,omitempty"`
}

// About holds deskhand's own data about a session, which the protocol has no
// fields for.
type About struct {
	ProjectID string `json:"projectId,omitempty"`
	TaskID    string `json:"taskId,omitempty"`
	AttemptID string `json:"attemptId,omitempty"`
	Branch    string `json:"branch,omitempty"`
}

// Status is the protocol's bit set of session states.
type Status int

const (
	Idle        Status = 1      // no turn is active
	Failed      Status = 1 << 1 // the turn ended with an error
	InProgress  Status = 1 << 3 // a turn is active
	InputNeeded Status = InProgress | 1<<4
)

// Turn is a session's turn.
type Turn struct {
	ID            string      `json:"id"`
	UserMessage   UserMessage `json:"userMessage"`
	ResponseParts []struct{}  `json:"responseParts"` // always empty
}

// UserMessage is the message that started a turn. deskhand does not have the
// original message, so Text is the session's title.
type UserMessage struct {
	Text string `json:"text"`
}

// InputRequest is an open request.
type InputRequest struct {
	ID        string            `json:"id"`
	Message   string            `json:"message"`
	URL       string            `json:"url,omitempty"`
	Questions []Question        `json:"questions,omitempty"`
	Answers   map[string]Answer `json:"answers,omitempty"` // by question ID
	Meta      RequestMeta       `json:"_meta"`
}

// RequestMeta holds the data of a request that the protocol has no fields for.
type RequestMeta struct {
	Source   elicit.Source   `json:"source"`
	Trigger  elicit.Trigger  `json:"trigger"`
	Title    string          `json:"title,omitempty"`
	Priority elicit.Priority `json:"priority"`
	TurnID   string          `json:"turnId,omitempty"`
	// TurnEnd describes when and how the asker's turn ended, if the request
	// outlived it. Standing says the same in a sentence for people.
	TurnEnd   *elicit.TurnEnd `json:"turnEnd,omitempty"`
	Standing  string          `json:"standing,omitempty"`
	CreatedAt elicit.Time     `json:"createdAt"`
	Deadline  elicit.Time     `json:"deadline,omitzero"`
	// Proposal is the action that needs permission, or nil if the request is
	// not about one.
	Proposal *elicit.Proposal `json:"proposal,omitempty"`
}

// Question is one question of a request. Kind selects which fields are used.
type Question struct {
	ID            string          `json:"id"`
	Kind          elicit.Kind     `json:"kind"`
	Title         string          `json:"title,omitempty"`
	Message       string          `json:"message"`
	Required      bool            `json:"required,omitempty"`
	Format        elicit.Format   `json:"format,omitempty"`
	Min           *float64        `json:"min,omitempty"`
	Max           *float64        `json:"max,omitempty"`
	Default       any             `json:"defaultValue,omitempty"` // same form as a Value's value
	Options       []elicit.Option `json:"options,omitempty"`
	AllowFreeform bool            `json:"allowFreeformInput,omitempty"`
	Meta          *QuestionMeta   `json:"_meta,omitempty"`
}

// QuestionMeta holds hints for displaying a question.
type QuestionMeta struct {
	Placeholder string `json:"placeholder,omitempty"`
	Multiline   bool   `json:"multiline,omitempty"`
}

// Answer is the current answer to a question.
type Answer struct {
	State    elicit.AnswerState `json:"state"`
	Value    *Value             `json:"value,omitempty"`
	Freeform []string           `json:"freeformValues,omitempty"`
	Meta     *AnswerMeta        `json:"_meta,omitempty"`
}

// AnswerMeta records who gave an answer. Values from clients are ignored.
type AnswerMeta struct {
	By      string      `json:"by,omitempty"`
	Channel string      `json:"channel,omitempty"`
	At      elicit.Time `json:"at"`
}

// Value is an answer's value. The protocol requires a value, so MarshalJSON
// writes an empty one if the answer is only free text.
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
