package executor

import (
	"io"
	"strings"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// shell drives a command that prints text. Lines that follow each other without
// a blank line form one message.
type shell struct{}

var shellKind = kind{
	name:  "shell",
	check: lacksCommand,
	can:   func(c Config) Info { return Info{FollowUp: c.resumes()} },
	start: program(func(*launch) (driver, error) { return &shell{}, nil }),
}

// maxMessage is the maximum size, in bytes, of a shell agent's message. Longer
// text continues in another message.
const maxMessage = 8 << 10

func (*shell) drive(r *Run, stdout io.Reader) (result Result) {
	r.sendPrompt()
	var text strings.Builder
	index, shown := int64(-1), 0 // index of the message, and number of its bytes that are already in the log
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

// pausing calls do before each read. At that time, all earlier input has been
// processed, and the next input may take long.
type pausing struct {
	from io.Reader
	do   func()
}

func (p *pausing) Read(b []byte) (int, error) {
	p.do()
	return p.from.Read(b)
}
