package executor

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/tasks/executor/fakeagent"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
	"github.com/deskhand/deskhand/runtime/usage"
)

// fake drives the scripted agent of package fakeagent.
type fake struct {
	calls map[int]int64 // number of a call -> index of its entry
	said  string        // last message
}

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
			l.args = append([]string{self}, fakeagent.Args...)
		}
		return &fake{calls: map[int]int64{}}, nil
	}),
}

func (f *fake) drive(r *Run, stdout io.Reader) Result {
	t := r.talk()
	send := func(v any) {
		if err := json.NewEncoder(r.stdin).Encode(v); err != nil && r.ctx.Err() == nil {
			t.log.Append(logs.Failed("cannot write to the agent: " + err.Error()))
		}
	}
	send(fakeagent.Start{Prompt: r.spec.Prompt, Resume: r.spec.Resume})
	eachLine(stdout, func(line []byte) {
		printed, event, marked := bytes.Cut(line, []byte{fakeagent.Mark})
		var e fakeagent.Event
		if !marked || json.Unmarshal(event, &e) != nil {
			t.log.Raw(logs.Stdout, append(line, '\n'))
			return
		}
		t.log.Raw(logs.Stdout, printed) // incomplete line of output
		f.event(r, t, e, send)
	})
	return t.result
}

// event records an event, and answers a question with send.
func (f *fake) event(r *Run, t *talk, e fakeagent.Event, send func(any)) {
	switch {
	case e.Session != "":
		t.begin(e.Session)
	case e.Say != "":
		t.log.Append(logs.Say(e.Say))
		f.said = e.Say
	case e.Think != "":
		t.log.Append(logs.Think(e.Think))
	case e.Note != "":
		t.log.Append(logs.System(e.Note))
	case e.Error != "":
		t.log.Append(logs.Failed(e.Error))
	case e.Fail != "":
		t.log.Append(logs.Failed(e.Fail))
		t.result.Failure = e.Fail
	case e.Call != nil:
		entry := logs.Tool(e.Call.Tool, e.Call.On, e.Call.Status, fakeAction(e.Call))
		if index, known := f.calls[e.Call.Number]; known {
			t.log.Replace(index, entry)
		} else {
			f.calls[e.Call.Number] = t.log.Append(entry)
		}
	case e.Spent != nil:
		u := usage.Report{Models: []usage.Model{{Name: "fake", Tokens: usage.Tokens{In: e.Spent.In, Out: e.Spent.Out}}}, Cost: usage.Micros(e.Spent.Cost), Coverage: usage.Part}
		if e.Spent.Over {
			u.Coverage, t.result.Summary = usage.Full, f.said
		}
		t.usage(u)
	case e.Ask != "":
		send(fakeAnswer(r.ask(r.ctx, Question{Title: e.Ask})))
	case e.Permit != "":
		a := r.ask(r.ctx, fakePermission(e.Permit, r.spec.Dir))
		if a.Option != "allow" {
			a.Outcome = "decline"
		}
		send(fakeAnswer(a))
	}
}

// fakeAction describes a call of the agent.
func fakeAction(c *fakeagent.Call) logs.Action {
	switch {
	case c.Tool == "write":
		return logs.Action{Action: "file_edit", Path: c.On, Changes: []logs.FileEdit{{Action: "write", Content: c.Text}}}
	case c.Tool != "run":
		return logs.Action{Action: "other", Description: c.On}
	case c.Status == "created":
		return logs.Action{Action: "command_run", Command: c.On}
	}
	result := logs.CommandResult{Output: logs.Clip(c.Text)}
	if c.Ended {
		result.Exit = &logs.Exit{Type: "exit_code", Code: c.Exit}
	}
	return logs.Action{Action: "command_run", Command: c.On, Result: result}
}

// fakePermission returns the question whether the agent may run a command in dir.
func fakePermission(command, dir string) Question {
	p := Proposal{Action: "command", Text: command}
	p.Marks = marksOf(p, nil, dir)
	options := []Option{{"allow", "Allow", "allow_once"}, {"reject", "Reject", "reject_once"}}
	p.Call = withOption(&rules.Call{Tool: rules.Command, Command: command}, options)
	return Question{Permission: true, Title: "Allow " + p.heading("permit") + "?", Proposal: &p, Tool: "permit", Options: options}
}

func fakeAnswer(a Answer) fakeagent.Answer {
	if a.Text == "" {
		a.Text = a.Option
	}
	return fakeagent.Answer{Outcome: a.Outcome, Text: a.Text, Rule: a.Rule, Pending: a.Pending}
}
