package elicit

import (
	"fmt"
	"strings"
	"unicode"
)

// Proposal is what an agent wants to do and asks permission for. It was read
// from the tool call; what the agent says about it is the request's Message. A
// surface shows Text whole, or says that it does not and lets nobody allow it
// from there.
type Proposal struct {
	// Action is command, edit, delete, move, read, search, fetch or tool.
	Action string `json:"action"`
	// Text is the command, the paths and differences, the address, the arguments,
	// at most [MaxProposal] bytes, as [Visible] writes them.
	Text string `json:"text"`
	// Marks names what stands out, as "network" or "outside the folder".
	Marks []string `json:"marks,omitempty"`
}

// Warning says what stands out, on one line; empty: nothing does.
func (p *Proposal) Warning() string {
	if len(p.Marks) == 0 {
		return ""
	}
	return "Look twice: " + strings.Join(p.Marks, ", ")
}

// MaxProposal is the length of a proposal in bytes. Of a longer one the beginning
// is shown, and the last line says how much is missing.
const MaxProposal = 64 << 10

// fit makes a proposal one that can be kept and shown.
func (p *Proposal) fit() *Proposal {
	fitted := Proposal{Action: CleanName(p.Action), Text: Visible(p.Text)}
	for _, mark := range p.Marks {
		fitted.Marks = append(fitted.Marks, CleanName(mark))
	}
	const room = 100 // for the last line
	if n := len(fitted.Text); n > MaxProposal {
		kept := strings.ToValidUTF8(fitted.Text[:MaxProposal-room], "")
		fitted.Text = fmt.Sprintf("%s\n[%d bytes more are not shown. Reject this if you have to see them.]", kept, n-len(kept))
	}
	return &fitted
}

// Visible writes out what a reader would not see, or see in another order than a
// program does: control characters other than line ends and tabs, characters
// that turn the direction of text, and those without a width.
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

// unseen reports whether c is a control character, or one of the class Cf, to
// which marks of direction and characters without a width belong.
func unseen(c rune) bool {
	return c != '\n' && c != '\t' && (unicode.IsControl(c) || unicode.Is(unicode.Cf, c) || c == '\u2028' || c == '\u2029')
}
