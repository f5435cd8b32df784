package executor

import (
	"io"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// shell is a command that prints text: what it says without a pause of lines in
// between is one message.
type shell struct{}

var shellKind = kind{
	name:  "shell",
	check: lacksCommand,
	can:   func(c Config) Info { return Info{FollowUp: c.resumes()} },
	start: program(func(*launch) (driver, error) { return &shell{}, nil }),
}

// maxMessage is where a message of a shell agent ends and the next begins.
const maxMessage = 8 << 10

func (*shell) drive(r *Run, stdout io.Reader) (result Result) {
	r.sendPrompt()
	var text strings.Builder
	index, shown := int64(-1), 0 // of the message, and how much of it is in the log
	show := func() {
		if text.Len() == shown {
			return
		}
		if shown, result.Summary = text.Len(), text.String(); index < 0 {
			index = r.spec.Log.Append(logs.Say(result.Summary))
		} else {
			r.spec.Log.Replace(index, logs.Say(result.Summary))
		}
	}
	eachLine(&pausing{&rawTee{stdout, r.spec.Log}, show}, func(line []byte) {
		said := strings.ToValidUTF8(strings.TrimRight(string(line), "\r"), "\uFFFD")
		if said == "" || text.Len()+len(said) > maxMessage {
			show()
			text.Reset()
			index, shown = -1, 0
		}
		if said == "" {
			return
		}
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		text.WriteString(said)
	})
	show()
	return result
}

// pausing does something each time before it is read from: what was read is
// used up then, and more may be long in coming.
type pausing struct {
	from io.Reader
	do   func()
}

func (p *pausing) Read(b []byte) (int, error) {
	p.do()
	return p.from.Read(b)
}
