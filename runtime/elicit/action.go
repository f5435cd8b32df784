package elicit

import (
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/rules"
)

// Action is the only way to change a request. Type selects which other fields
// are used.
type Action struct {
	Type      ActionType `json:"type"`
	RequestID string     `json:"requestId"`

	Request    *Request          `json:"request,omitempty"`    // Requested
	QuestionID string            `json:"questionId,omitempty"` // AnswerChanged
	Answer     *Answer           `json:"answer,omitempty"`     // AnswerChanged; nil removes the answer
	IfRev      int64             `json:"ifRev,omitempty"`      // AnswerChanged: refuse if the answer changed after this revision; 0 never refuses
	Response   Outcome           `json:"response,omitempty"`   // CompletedBy, AnswerHeld: accept, decline or cancel
	Answers    map[string]Answer `json:"answers,omitempty"`    // CompletedBy, AnswerHeld: merged over the drafts before they are checked
	Final      bool              `json:"final,omitempty"`      // CompletedBy, from the hub: Answers are complete
	Reason     string            `json:"reason,omitempty"`     // CompletedBy, Withdrawn: machine-readable
	Note       string            `json:"note,omitempty"`       // CompletedBy: the person's own sentence
	Deadline   Time              `json:"deadline,omitzero"`    // Extended; if zero, the deadline is removed
	Audience   *Audience         `json:"audience,omitempty"`   // Reassigned
	Routing    *routing.State    `json:"routing,omitempty"`    // Routed
	Asker      string            `json:"asker,omitempty"`      // AskerReturned

	// By is the acting principal, and Roles lists its roles. Channel is how the
	// action arrived (web, terminal, slack), and Client is the page or process
	// that sent it.
	By      string   `json:"by,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Channel string   `json:"channel,omitempty"`
	Client  string   `json:"client,omitempty"`
	// ClientSeq is the client's own number for this action, to recognize it.
	ClientSeq int64 `json:"clientSeq,omitempty"`
	// Origin is set by the hub, for CompletedBy.
	Origin *Origin `json:"origin,omitempty"`
	// Rule is set by the hub, for CompletedBy: the rule that allowed the call.
	Rule  *rules.Use `json:"rule,omitempty"`
	At    Time       `json:"at,omitzero"`     // from the hub: when the store accepted it
	Again bool       `json:"-"`               // CompletedBy, from the hub: the same action may have been applied before
	Rev   int64      `json:"rev,omitempty"`   // from the hub: the revision it produced; 0 if unknown
	Above bool       `json:"above,omitempty"` // Reassigned, Unclaimed, from the hub: By may hand over what others are asked
}

// ActionType is the kind of change an action makes.
type ActionType string

const (
	Requested     ActionType = "requested"     // asks, or replaces the text and keeps drafts
	PresentedTo   ActionType = "presented"     // a person can now see it
	AnswerChanged ActionType = "answerChanged" // one answer changed
	CompletedBy   ActionType = "completed"     // the person is done
	Extended      ActionType = "extended"      // a new deadline
	Reassigned    ActionType = "reassigned"    // someone else may answer: a person hands the request over
	Claimed       ActionType = "claimed"       // a person says that they deal with the request
	Unclaimed     ActionType = "unclaimed"     // that person no longer does
	Withdrawn     ActionType = "withdrawn"     // the asker withdraws it
	AskerLeft     ActionType = "askerLeft"     // no process is waiting for the request any more
	AskerReturned ActionType = "askerReturned" // a process is waiting for the request again
	HandBack      ActionType = "handedBack"    // the asker's call returned the ID without an outcome
	Collected     ActionType = "collected"     // the person's answer has reached the asker
	AnswerHeld    ActionType = "held"          // the person is done, as in CompletedBy, but can take the answer back for HoldTime
	TakenBack     ActionType = "takenBack"     // the person takes back the held answer

	// Only the hub creates these.
	TimeUp         ActionType = "expired"        // the deadline passed
	Routed         ActionType = "routed"         // a step of the routing was taken, or someone else is on call
	HoldOver       ActionType = "holdOver"       // the held answer takes effect, as in CompletedBy
	Outlived       ActionType = "turnEnded"      // the turn ended, and the request stays open
	Removed        ActionType = "removed"        // deleted from the history
	AnswerRedacted ActionType = "answerRedacted" // an AnswerChanged whose content was deleted with the drafts
)

// fromClients lists the actions that Dispatch accepts.
var fromClients = map[ActionType]bool{
	PresentedTo: true, AnswerChanged: true, CompletedBy: true, Extended: true, Reassigned: true, Claimed: true, Unclaimed: true,
	Withdrawn: true, AskerLeft: true, AskerReturned: true, HandBack: true, Collected: true, AnswerHeld: true, TakenBack: true,
}
