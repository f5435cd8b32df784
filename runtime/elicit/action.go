package elicit

// Action is the one way in which a request changes. Type says which other
// fields count.
type Action struct {
	Type      ActionType `json:"type"`
	RequestID string     `json:"requestId"`

	Request    *Request          `json:"request,omitempty"`    // Requested
	QuestionID string            `json:"questionId,omitempty"` // AnswerChanged
	Answer     *Answer           `json:"answer,omitempty"`     // AnswerChanged; nil takes the answer out
	IfRev      int64             `json:"ifRev,omitempty"`      // AnswerChanged: refuse if the answer changed after this revision; 0: never
	Response   Outcome           `json:"response,omitempty"`   // CompletedBy: accept, decline or cancel
	Answers    map[string]Answer `json:"answers,omitempty"`    // CompletedBy: merged over the drafts before they are checked
	Final      bool              `json:"final,omitempty"`      // CompletedBy, from the hub: Answers are all there are
	Reason     string            `json:"reason,omitempty"`     // CompletedBy, Withdrawn: a word for programs
	Note       string            `json:"note,omitempty"`       // CompletedBy: a sentence of the person
	Deadline   Time              `json:"deadline,omitzero"`    // Extended; zero: none
	Audience   *Audience         `json:"audience,omitempty"`   // Reassigned
	Asker      string            `json:"asker,omitempty"`      // AskerReturned

	// By is the principal who acts, Roles what that one is, Channel the way it
	// came (web, terminal, slack), Client the page or process.
	By      string   `json:"by,omitempty"`
	Roles   []string `json:"roles,omitempty"`
	Channel string   `json:"channel,omitempty"`
	Client  string   `json:"client,omitempty"`
	// ClientSeq is the client's own number of this action, to know it again.
	ClientSeq int64 `json:"clientSeq,omitempty"`
	// Origin is from the hub, for CompletedBy.
	Origin *Origin `json:"origin,omitempty"`
	At     Time    `json:"at,omitzero"`   // from the hub: when the store took it
	Again  bool    `json:"-"`             // CompletedBy, from the hub: this very action may have been taken before
	Rev    int64   `json:"rev,omitempty"` // from the hub: the revision that it made; 0: not known
}

// ActionType is what an action does.
type ActionType string

const (
	Requested     ActionType = "requested"     // asks, or asks better: drafts stay
	PresentedTo   ActionType = "presented"     // somebody can see it
	AnswerChanged ActionType = "answerChanged" // one answer
	CompletedBy   ActionType = "completed"     // the person is done
	Extended      ActionType = "extended"      // a new deadline
	Reassigned    ActionType = "reassigned"    // somebody else may answer
	Withdrawn     ActionType = "withdrawn"     // the asker takes it back
	AskerLeft     ActionType = "askerLeft"     // nobody waits any more
	AskerReturned ActionType = "askerReturned" // somebody waits again
	HandBack      ActionType = "handedBack"    // the asker's call ended with the id, without an outcome
	Collected     ActionType = "collected"     // the person's answer reached the asker

	// These are the hub's own.
	TimeUp         ActionType = "expired"        // the deadline passed
	Outlived       ActionType = "turnEnded"      // the turn ended, and the request stays
	Removed        ActionType = "removed"        // taken out of the history
	AnswerRedacted ActionType = "answerRedacted" // an AnswerChanged whose content was dropped with the drafts
)

// fromClients are the actions that Dispatch takes.
var fromClients = map[ActionType]bool{
	PresentedTo: true, AnswerChanged: true, CompletedBy: true, Extended: true, Reassigned: true,
	Withdrawn: true, AskerLeft: true, AskerReturned: true, HandBack: true, Collected: true,
}
