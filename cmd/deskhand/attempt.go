package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// notInside lists the commands that a process of an attempt may not run, with
// the reason. They decide for a person or start and end the work of others. This
// stops an agent that tries the obvious; a sandbox stops one that hides where it
// runs.
var notInside = map[string]string{
	"deskhand ask answer":         onlyPeople,
	"deskhand ask decline":        onlyPeople,
	"deskhand ask cancel":         onlyPeople,
	"deskhand ask extend":         onlyPeople,
	"deskhand inbox":              onlyPeople,
	"deskhand connect":            onlyPeople,
	"deskhand disconnect":         onlyPeople,
	"deskhand trust":              onlyPeople,
	"deskhand tasks start":        onlyOutside,
	"deskhand tasks say":          onlyOutside,
	"deskhand tasks stop":         onlyOutside,
	"deskhand tasks rm":           onlyOutside,
	"deskhand tasks gc":           onlyOutside,
	"deskhand tasks set":          onlyOutside,
	"deskhand tasks project add":  onlyOutside,
	"deskhand serve --tools work": onlyOutside,
	"deskhand serve --http":       onlyPeople, // it has the inbox
}

const (
	onlyPeople  = "a person does this"
	onlyOutside = "a person, or an agent outside of attempts, does this"
)

// ownAttempt returns the id of the attempt that this process belongs to; empty:
// none.
func ownAttempt() string { return env("DESKHAND_ATTEMPT_ID") }

// allowedHere refuses a command that a process of an attempt may not run.
func allowedHere(cmd *cobra.Command, a *app) error {
	if ownAttempt() == "" {
		return nil
	}
	doing := cmd.CommandPath()
	if doing == "deskhand serve" {
		groups, _ := a.groups() // serve itself says what is wrong with them
		switch {
		case cmd.Flags().Changed("http"):
			doing += " --http"
		case slices.Contains(groups, "work"):
			doing += " --tools work"
		}
	}
	reason, refused := notInside[doing]
	if !refused {
		return nil
	}
	return fault.New("inside_attempt", fmt.Sprintf("%q is refused inside an attempt: %s", doing, reason),
		"ask a person with deskhand ask, or note further work with deskhand tasks add")
}

// ownQuestion refuses the question of another attempt, or of nobody's attempt, to
// a process of an attempt.
func ownQuestion(r *elicit.Request) error {
	if own := ownAttempt(); own != "" && r.Context.AttemptID != own {
		return fault.New("inside_attempt", fmt.Sprintf("question %s does not belong to this attempt", r.ID), "deskhand ask list shows the questions of this attempt")
	}
	return nil
}
