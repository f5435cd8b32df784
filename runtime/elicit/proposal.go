package elicit

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/rules"
)

// Proposal is an action for which an agent asks permission. It is read from the
// agent's tool call. The agent's own words are in the request's Message. A
// surface either shows Text in full, or states that it does not and offers no way
// to allow the action.
type Proposal struct {
	// Action is one of command, edit, delete, move, read, search, fetch and tool.
	Action string `json:"action"`
	// Text is the command, the paths and diffs, the address or the arguments:
	// at most [MaxProposal] bytes, escaped by [Visible].
	Text string `json:"text"`
	// Marks lists notable properties of the action, for example "network" or
	// "outside the folder".
	Marks []string `json:"marks,omitempty"`
	// Call is the tool call that a rule can match, or nil if no rule can.
	Call *rules.Call `json:"call,omitempty"`
}

// Warning returns the marks as one line for people, or "" if there are none.
func (p *Proposal) Warning() string {
	if len(p.Marks) == 0 {
		return ""
	}
	return "Check carefully: " + strings.Join(p.Marks, ", ")
}

// MaxProposal is the maximum length of a proposal in bytes. A longer one is
// truncated, and its last line states how much is missing.
const MaxProposal = 64 << 10

// maxCall is the maximum size of a call that rules are for, in bytes.
const maxCall = 16 << 10

// fit returns a copy that can be stored and shown.
func (p *Proposal) fit() *Proposal {
	fitted := Proposal{Action: CleanName(p.Action), Text: Visible(p.Text)}
	if c := p.Call; c != nil && len(c.Command)+len(c.Arguments) <= maxCall && rules.Possible(*c) {
		fitted.Call = c
	}
	for _, mark := range p.Marks {
		fitted.Marks = append(fitted.Marks, CleanName(mark))
	}
	const room = 100 // for the last line
	if n := len(fitted.Text); n > MaxProposal {
		kept := strings.ToValidUTF8(fitted.Text[:MaxProposal-room], "")
		fitted.Text = fmt.Sprintf("%s\n[%d more bytes are not shown. Reject this if you need to see them.]", kept, n-len(kept))
	}
	return &fitted
}

// Visible escapes characters that a reader cannot see, or sees in a different
// order than a program does: control characters except line ends and tabs,
// characters that change the text direction, and zero-width characters.
func Visible(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if !strings.ContainsFunc(text, unseen) {
		return text
	}
	var b strings.Builder
	for _, c := range text {
		if unseen(c) {
			fmt.Fprintf(&b, `\u{%x}`, c)
		} else {
			b.WriteRune(c)
		}
	}
	return b.String()
}

// unseen reports whether c is a control character or in class Cf, which includes
// direction marks and zero-width characters.
func unseen(c rune) bool {
	return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029')
}
