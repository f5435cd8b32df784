package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
)

// fake drives the scripted agent: see [FakeMain]. In a line of the agent's
// stdout, the text after fakeMark is an event. Everything else is ordinary
// output.
type fake struct{}

var fakeKind = kind{
	name:  "fake",
	check: func(Config) string { return "" },
	can:   func(Config) Info { return Info{MCP: true, FollowUp: true, Approvals: true} },
	start: program(func(l *launch) (driver, error) {
		if len(l.args) == 0 {
			self, err := os.Executable()
			if err != nil {
				return nil, fmt.Errorf("find this program: %w", err)
			}
			l.args = append([]string{self}, FakeArgs...)
		}
		return &fake{}, nil
	}),
}

const fakeMark = 0x1e // the ASCII record separator, which does not occur in ordinary text

// fakeStart is the first message to the scripted agent.
type fakeStart struct {
	Prompt string `json:"prompt"`
	Resume string `json:"resume,omitempty"`
}

// fakeEvent is a message from the scripted agent.
type fakeEvent struct {
	Session string      `json:"session,omitempty"`
	Entry   *logs.Entry `json:"entry,omitempty"`
	// Replace is the number, counted from 1, of the event whose entry this one
	// replaces. 0 means a new entry.
	Replace int           `json:"replace,omitempty"`
	Ask     *Question     `json:"ask,omitempty"`
	Summary string        `json:"summary,omitempty"`
	Usage   *usage.Report `json:"usage,omitempty"`
	Failure string        `json:"failure,omitempty"`
}

func (f *fake) drive(r *Run, stdout io.Reader) (result Result) {
	out := json.NewEncoder(r.stdin)
	if err := out.Encode(fakeStart{r.spec.Prompt, r.spec.Resume}); err != nil {
		r.spec.Log.Append(logs.Failed("cannot write to the agent: " + err.Error()))
	}
	var indexes []int64
	t := r.talk()
	eachLine(stdout, func(line []byte) {
		printed, event, marked := bytes.Cut(line, []byte{fakeMark})
		var e fakeEvent
		if !marked || json.Unmarshal(event, &e) != nil {
			r.spec.Log.Raw(logs.Stdout, append(line, '\n'))
			return
		}
		r.spec.Log.Raw(logs.Stdout, printed) // incomplete line of output
		if e.Session != "" {
			result.AgentSession = e.Session
			r.session(e.Session)
		}
		if e.Entry != nil && e.Replace > 0 && e.Replace <= len(indexes) {
			r.spec.Log.Replace(indexes[e.Replace-1], *e.Entry)
		} else if e.Entry != nil {
			indexes = append(indexes, r.spec.Log.Append(*e.Entry))
		}
		if e.Summary != "" {
			result.Summary = e.Summary
		}
		if e.Usage != nil {
			t.usage(*e.Usage)
			result.Usage = t.result.Usage
		}
		if e.Failure != "" {
			result.Failure = e.Failure
		}
		if e.Ask != nil {
			if err := out.Encode(r.ask(r.ctx, *e.Ask)); err != nil && r.ctx.Err() == nil {
				r.spec.Log.Append(logs.Failed("cannot write to the agent: " + err.Error()))
			}
		}
	})
	return result
}
