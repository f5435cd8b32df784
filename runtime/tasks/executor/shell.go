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

// mostMessage is where a message of a shell agent ends and the next begins.
const mostMessage = 8 << 10

func (*shell) drive(r *Run, stdout io.Reader) (result Result) {
	r.tell()
	var text strings.Builder
	index := int64(-1)
	eachLine(&rawTee{stdout, r.spec.Log}, func(line []byte) {
		said := strings.ToValidUTF8(strings.TrimRight(string(line), "\r"), "\uFFFD")
		if said == "" || text.Len()+len(said) > mostMessage {
			text.Reset()
			index = -1
		}
		if said == "" {
			return
		}
		if text.Len() > 0 {
			text.WriteString("\n")
		}
		text.WriteString(said)
		result.Summary = text.String()
		if index < 0 {
			index = r.spec.Log.Append(logs.Say(result.Summary))
		} else {
			r.spec.Log.Replace(index, logs.Say(result.Summary))
		}
	})
	return result
}
