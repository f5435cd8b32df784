package executor

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/rules"
)

const yesNo = `"options":[{"kind":"allow_always","name":"Always","optionId":"a"},{"kind":"allow_once","name":"Yes","optionId":"y"},{"kind":"reject_once","name":"No","optionId":"n"}]`

// A rule gets the command of the call, and nothing that the agent says about it.
func TestAttackApprovalsARuleGetsOnlyTheCall(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("rules for commands need a shell that deskhand can read: run this on another system")
	}
	dir := t.TempDir()
	bash := func(args string) string {
		return yesNo + `,"toolCall":{"toolCallId":"t1","title":"git status","kind":"execute","rawInput":` + args + `}`
	}
	named := func(kind, meta string) string {
		return yesNo + `,"toolCall":{"toolCallId":"t1","title":"mcp__linear__list","kind":"` + kind + `","rawInput":{"team":"OPS"}` + meta + `}`
	}
	const meta = `,"_meta":{"claudeCode":{"toolName":"mcp__linear__list"}}`
	command := &rules.Call{Tool: rules.Command, Command: "git status", Allow: "y"}
	for name, c := range map[string]struct {
		prompt string
		want   *rules.Call
	}{
		"a command":                            {bash(`{"command":"git status","description":"rm","timeout":5}`), command},
		"words":                                {bash(`{"command":["git","status"]}`), command},
		"a shell's script":                     {bash(`{"command":["/bin/bash","-lc","git status"],"call_id":"c","cwd":"` + dir + `"}`), command},
		"a title that lies":                    {bash(`{"command":"rm -rf /"}`), &rules.Call{Tool: rules.Command, Command: "rm -rf /", Allow: "y"}},
		"only a title":                         {bash(`{}`), nil},
		"another folder":                       {bash(`{"command":"git status","cwd":"/etc"}`), nil},
		"out of the agent's sandbox":           {bash(`{"command":"git status","dangerouslyDisableSandbox":true}`), nil},
		"more rights":                          {bash(`{"command":"git status","with_escalated_permissions":true}`), nil},
		"an environment":                       {bash(`{"command":"git status","env":{"PATH":"."}}`), nil},
		"two commands":                         {bash(`{"command":"git status","cmd":"rm x"}`), nil},
		"a command twice":                      {bash(`{"command":"git status","command":"rm x"}`), &rules.Call{Tool: rules.Command, Command: "rm x", Allow: "y"}},
		"a command twice, in another case":     {bash(`{"command":"git status","Command":"rm x"}`), nil},
		"text":                                 {bash(`"git status"`), nil},
		"a tool that the program names":        {named("other", meta), &rules.Call{Tool: "mcp__linear__list", Arguments: []byte(`{"team":"OPS"}`), Allow: "y"}},
		"a tool that only a title names":       {named("other", ""), nil},
		"an edit":                              {named("edit", meta), nil},
		"a command named as a tool":            {named("execute", meta), nil},
		"a fetch":                              {named("fetch", meta), nil},
		"a tool with the name of all commands": {strings.ReplaceAll(named("other", meta), "mcp__linear__list", "command"), &rules.Call{}},
		"no option that allows once":           {strings.Replace(bash(`{"command":"git status"}`), "allow_once", "allow_always", 1), nil},
		"two options with one ID":              {strings.Replace(bash(`{"command":"git status"}`), `"optionId":"a"`, `"optionId":"y"`, 1), nil},
		"an option without an ID":              {strings.Replace(bash(`{"command":"git status"}`), `"optionId":"y"`, `"optionId":""`, 1), nil},
		"a label that lies":                    {strings.Replace(bash(`{"command":"git status"}`), `"name":"Always"`, `"name":"Allow once"`, 1), command},
	} {
		t.Run(name, func(t *testing.T) {
			var got *rules.Call
			run(t, doubles(t), "double", Spec{Dir: dir, Prompt: "permits " + c.prompt, Ask: func(_ context.Context, q Question) (Answer, error) {
				got = q.Proposal.Call
				return Answer{Outcome: "decline"}, nil
			}})
			if c.want != nil && c.want.Tool == "" { // the tool "command" stands for shells only
				if got != nil && got.Tool == rules.Command && got.Command != "" {
					t.Errorf("the call is %+v", got)
				}
				return
			}
			if fmt.Sprintf("%+v", got) != fmt.Sprintf("%+v", c.want) && (got == nil || c.want == nil || got.Tool != c.want.Tool || got.Command != c.want.Command || got.Allow != c.want.Allow || string(got.Arguments) != string(c.want.Arguments)) {
				t.Errorf("the call is %+v, want %+v", got, c.want)
			}
		})
	}
}

// The log and the agent's reply say that a rule allowed the call.
func TestARuleThatAllowsIsInTheLogAndInTheReply(t *testing.T) {
	const words = "by rule rul_abc of ada, made 2026-01-02 03:04 UTC: command git status"
	result, log := run(t, doubles(t), "double", Spec{Dir: t.TempDir(), Prompt: "permits " + yesNo + `,"toolCall":{"toolCallId":"t1","title":"x","kind":"execute","rawInput":{"command":"git status"}}`,
		Ask: func(_ context.Context, q Question) (Answer, error) {
			return Answer{Outcome: "accept", Option: "y", Rule: words}, nil
		}})
	if want := `{"_meta":{"deskhand":{"allowed":"` + words + `"}},"outcome":{"optionId":"y","outcome":"selected"}}`; result.Summary != want {
		t.Errorf("the agent got %s, want %s", result.Summary, want)
	}
	if !strings.Contains(log.text(), "allowed "+words) {
		t.Errorf("the log has no trace of the rule:\n%s", log.text())
	}
}
