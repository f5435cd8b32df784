package main

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/attempts"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// commandInHint matches a command of deskhand in a hint, with what follows it.
var commandInHint = regexp.MustCompile(`deskhand ([a-z]+(?: [a-z]+)*)`)

// Every code and case of the room of tasks has a hint in commands, there is no
// other, and the commands that they name are there.
func TestEveryFaultOfTasksHasAHintInCommands(t *testing.T) {
	values := strings.Fields("hint attempt task project repo folder machine path rule branch remote")
	root := commandTree()
	keys := slices.Concat(tasks.Codes, tasks.Cases)
	for _, key := range keys {
		if workHints[key] == "" {
			t.Errorf("no hint for %s", key)
		}
	}
	for key, text := range workHints {
		if !slices.Contains(keys, key) {
			t.Errorf("the room has no %s", key)
		}
		for _, name := range fault.Names(text) {
			if !slices.Contains(values, name) {
				t.Errorf("%s: no fault has the value %s", key, name)
			}
		}
		for _, m := range commandInHint.FindAllStringSubmatch(text, -1) {
			if m[1] == "there" { // start deskhand there
				continue
			}
			found, _, err := root.Find(strings.Fields(m[1]))
			if err != nil || found == root || found.Name() == "tasks" || !found.Runnable() {
				t.Errorf("%s: there is no command deskhand %s", key, m[1])
			}
		}
	}
}

// The tools' own names are no part of what a command says.
func TestHintsOfCommandsNameNoTool(t *testing.T) {
	for key, text := range workHints {
		if tool := regexp.MustCompile(`\b[a-z]+_[a-z_]+\b`).FindString(placeholder.ReplaceAllString(text, "")); tool != "" {
			t.Errorf("%s names %s: %s", key, tool, text)
		}
	}
}

var placeholder = regexp.MustCompile(`\{[a-z_]+\}`)

// A hint has the id of what it is about: that of the fault, or else that of the
// command, as tables show ids.
func TestHintsOfCommandsHaveTheID(t *testing.T) {
	const id, other = "0197f3a4-5b6c-7d8e-9f00-112233445566", "0197f3a4-9999-7d8e-9f00-112233999999"
	b := attempts.New(&console.Console{}, attempts.Options{Hints: workHints})
	running := fault.New(tasks.AttemptRunning, "attempt is running", "stop it first")
	for _, c := range []struct {
		about, want string
		fault       *fault.Fault
	}{
		{"", "wait until it ends, or stop it first: deskhand tasks stop ATTEMPT", running},
		{other, "wait until it ends, or stop it first: deskhand tasks stop 999999", running},
		{other, "wait until it ends, or stop it first: deskhand tasks stop 445566", running.WithCase("", "attempt", id)},
		{other, "send it with --queue when the agent has finished, or stop the agent first: deskhand tasks stop 445566", running.WithCase(tasks.RunningFollowUp, "attempt", id)},
		{other, "land with --merge, --squash or --rebase, or update the branch first: deskhand tasks update 999999", fault.New(worktree.NotFastForward, "m", "h")},
		{other, "use that version, or another state folder", fault.New("store_newer", "m", "use that version, or another state folder")},
		{other, "fix limit and retry", fault.New("invalid_argument", "limit is out of range", "").With("field", "limit")},
	} {
		b.Knows("attempt", c.about)
		once := b.Worded(c.fault)
		if got := fault.Of(once).Hint; got != c.want {
			t.Errorf("hint of %s %s about %q: %q, want %q", c.fault.Code, c.fault.Case, c.about, got, c.want)
		}
		if c.fault.Hint != running.Hint && c.fault.Code == tasks.AttemptRunning {
			t.Errorf("wording changed the fault: %+v", c.fault)
		}
		if twice := fault.Of(b.Worded(once)).Hint; twice != c.want {
			t.Errorf("worded twice: %q, want %q", twice, c.want)
		}
	}
}
