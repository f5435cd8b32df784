package main

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Inside an attempt the program answers nothing, starts and ends no work, opens
// no door, and shows no question of somebody else.
func TestAttackApprovalsInsideAnAttempt(t *testing.T) {
	t.Setenv("CI", "")
	t.Setenv("DESKHAND_STATE", filepath.Join(t.TempDir(), "state"))
	asks := func(text string) string {
		t.Helper()
		return strings.Fields(done(t, t.TempDir(), "ask", text, "--detach"))[0]
	}
	theirs := asks("Somebody else?")
	t.Setenv("DESKHAND_ATTEMPT_ID", "01a20000-0000-7000-8000-000000000001")
	mine := asks("May I deploy?")
	const refused, foreign = "refused inside an attempt", "does not belong to this attempt"
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"answers its own question":         {[]string{"ask", "answer", mine, "yes"}, refused},
		"answers another's question":       {[]string{"ask", "answer", theirs, "yes"}, refused},
		"declines":                         {[]string{"ask", "decline", mine}, refused},
		"cancels":                          {[]string{"ask", "cancel", mine}, refused},
		"takes more time":                  {[]string{"ask", "extend", mine, "10m"}, refused},
		"reads another's question":         {[]string{"ask", "show", theirs}, foreign},
		"waits for another's answer":       {[]string{"ask", "wait", theirs}, foreign},
		"opens the inbox":                  {[]string{"inbox"}, refused},
		"starts an attempt":                {[]string{"tasks", "start", "x", "--executor", "fake"}, refused},
		"takes folders away":               {[]string{"tasks", "gc"}, refused},
		"deletes a task":                   {[]string{"tasks", "rm", "x"}, refused},
		"stops an attempt":                 {[]string{"tasks", "stop", "x"}, refused},
		"serves the tools of work":         {[]string{"serve", "--tools", "docs,work"}, refused},
		"serves over HTTP":                 {[]string{"serve", "--tools", "ask", "--http=127.0.0.1:0"}, refused},
		"connects with a person's account": {[]string{"connect", "linear"}, refused},
		"trusts the project's file":        {[]string{"trust"}, refused},
		"lands its work":                   {[]string{"tasks", "land", "x"}, refused},
		"takes a landing back":             {[]string{"tasks", "undo", "x"}, refused},
		"brings a branch up to date":       {[]string{"tasks", "update", "x"}, refused},
		"commits on another's branch":      {[]string{"tasks", "commit", "x"}, refused},
		"changes the person's checkout":    {[]string{"tasks", "apply", "x"}, refused},
		"switches the person's branch":     {[]string{"tasks", "checkout", "x"}, refused},
		"switches the person's back":       {[]string{"tasks", "release", "x"}, refused},
		"picks an attempt":                 {[]string{"tasks", "pick", "x", "--yes"}, refused},
		"discards an attempt":              {[]string{"tasks", "discard", "x", "--yes"}, refused},
		"runs another agent":               {[]string{"tasks", "run", "do it", "--agent", "fake"}, refused},
		"takes other agents' queued work":  {[]string{"runner"}, refused},
		"imports tasks":                    {[]string{"tasks", "import", "x.md"}, refused},
		"tells another agent more":         {[]string{"tasks", "say", "x", "more"}, refused},
		"changes a project's setup script": {[]string{"tasks", "project", "set", "x", "--setup", "sh"}, refused},
		"renames a project":                {[]string{"tasks", "project", "mv", "x", "y"}, refused},
		"takes a project away":             {[]string{"tasks", "project", "rm", "x"}, refused},
	} {
		t.Run(name, func(t *testing.T) {
			if r := deskhand(t, t.TempDir(), c.args...); r.code == 0 || !strings.Contains(r.stderr, c.says) || !strings.Contains(r.stderr, "\nhint: ") {
				t.Errorf("deskhand %s: exit %d, %q; want it %s, and a hint", strings.Join(c.args, " "), r.code, r.stderr, c.says)
			}
		})
	}
	t.Run("lists what others ask", func(t *testing.T) {
		if list := done(t, t.TempDir(), "ask", "list"); !strings.Contains(list, mine) || strings.Contains(list, theirs) {
			t.Errorf("ask list = %s, want its own question only", list)
		}
	})
}

// A new command is refused inside an attempt until somebody has decided.
func TestEachCommandIsDecidedForAttempts(t *testing.T) {
	decided(t, (&app{}).root())
}

func decided(t *testing.T, cmd *cobra.Command) {
	path := cmd.CommandPath()
	if _, refused := notInside[path]; refused == slices.Contains(mayInside, path) {
		t.Errorf("%q is in both or none of notInside and mayInside", path)
	}
	for _, sub := range cmd.Commands() {
		decided(t, sub)
	}
}
