package main

import (
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// notInside maps each command that is refused inside an attempt to the reason. These
// commands make decisions for a person, move a person's branches, or start and stop the
// work of other agents. This table stops agents that simply run such a command. Only a
// sandbox stops agents that hide that they run inside an attempt. Every command is in
// notInside or in mayInside.
var notInside = map[string]string{
	"deskhand ask answer":         onlyPeople,
	"deskhand ask decline":        onlyPeople,
	"deskhand ask cancel":         onlyPeople,
	"deskhand ask extend":         onlyPeople,
	"deskhand ask take":           onlyPeople,
	"deskhand ask hand":           onlyPeople,
	"deskhand inbox":              onlyPeople,
	"deskhand people rota":        onlyPeople,
	"deskhand people rota set":    onlyPeople,
	"deskhand people rota list":   onlyPeople,
	"deskhand people rota show":   onlyPeople,
	"deskhand people rota remove": onlyPeople,
	"deskhand people add":         onlyPeople,
	"deskhand people set":         onlyPeople,
	"deskhand people list":        onlyPeople,
	"deskhand outbox list":        onlyPeople,
	"deskhand outbox retry":       onlyPeople,
	"deskhand outbox drop":        onlyPeople,
	"deskhand people invite":      onlyPeople,
	"deskhand people sign-out":    onlyPeople,
	"deskhand people remove":      onlyPeople,
	"deskhand token create":       onlyPeople,
	"deskhand token list":         onlyPeople,
	"deskhand token revoke":       onlyPeople,
	"deskhand rules add":          onlyPeople,
	"deskhand rules list":         onlyPeople,
	"deskhand rules remove":       onlyPeople,
	"deskhand audit":              onlyPeople,
	"deskhand audit prune":        onlyPeople,
	"deskhand store backup":       onlyPeople, // it has everything that people and agents wrote
	"deskhand store restore":      onlyPeople,
	"deskhand store copy":         onlyPeople,
	"deskhand gaps":               onlyPeople, // it prints other people's questions
	"deskhand connect":            onlyPeople,
	"deskhand disconnect":         onlyPeople,
	"deskhand trust":              onlyPeople,
	"deskhand init":               onlyPeople, // it determines which programs agents start
	"deskhand doctor":             onlyOutside,
	"deskhand tasks land":         onlyPeople,
	"deskhand tasks undo":         onlyPeople,
	"deskhand tasks apply":        onlyPeople,
	"deskhand tasks checkout":     onlyPeople,
	"deskhand tasks release":      onlyPeople,
	"deskhand tasks pick":         onlyPeople,
	"deskhand tasks discard":      onlyPeople,
	"deskhand tasks project set":  onlyPeople,
	"deskhand tasks project mv":   onlyPeople,
	"deskhand tasks project rm":   onlyPeople,
	"deskhand tasks pr":           onlyPeople,
	"deskhand tasks update":       onlyOutside,
	"deskhand tasks commit":       onlyOutside,
	"deskhand tasks run":          onlyOutside,
	"deskhand tasks import":       onlyOutside,
	"deskhand work":               onlyPeople,
	"deskhand runner":             onlyOutside,
	"deskhand add":                onlyOutside,
	"deskhand push":               onlyOutside,
	"deskhand phrases":            onlyOutside, // it spends money, starts agents and reads other people's questions
	"deskhand update":             onlyOutside,
	"deskhand remove":             onlyOutside,
	"deskhand sync":               onlyOutside,
	"deskhand tasks runner":       onlyOutside, // deskhand starts it without the attempt's variables
	"deskhand tasks start":        onlyOutside,
	"deskhand tasks say":          onlyOutside,
	"deskhand tasks stop":         onlyOutside,
	"deskhand tasks dev":          onlyOutside,
	"deskhand tasks rm":           onlyOutside,
	"deskhand tasks gc":           onlyOutside,
	"deskhand tasks set":          onlyOutside,
	"deskhand tasks project add":  onlyOutside,
	"deskhand serve --tools work": onlyOutside,
	"deskhand serve --tools land": onlyPeople,
	"deskhand serve --http":       onlyPeople, // it serves the inbox
}

// mayInside lists the commands that are allowed inside an attempt. They read, ask
// questions, note further work, or write the agent's files.
var mayInside = []string{
	"deskhand", "deskhand help", "deskhand version", "deskhand health", "deskhand completion", "deskhand man-pages", "deskhand config", "deskhand connections",
	"deskhand index", "deskhand serve", "deskhand search", "deskhand get", "deskhand docs", "deskhand list", "deskhand show", "deskhand eval", "deskhand train", "deskhand train ranker", "deskhand demo",
	"deskhand ask", "deskhand ask list", "deskhand ask show", "deskhand ask wait", "deskhand people", "deskhand token", "deskhand outbox", "deskhand store", "deskhand rules", // the last five only group commands
	"deskhand tasks", "deskhand tasks add", "deskhand tasks ls", "deskhand tasks show", "deskhand tasks logs", "deskhand tasks messages",
	"deskhand tasks diff", "deskhand tasks cat", "deskhand tasks executors", "deskhand tasks sandbox", "deskhand tasks usage", "deskhand tasks export",
	"deskhand tasks project", "deskhand tasks project ls", "deskhand tasks project show",
}

const (
	onlyPeople  = "only a person may do this"
	onlyOutside = "only a person, or an agent outside attempts, may do this"
)

// allowedHere returns an error for a command that is not allowed inside an
// attempt.
func allowedHere(cmd *cobra.Command, a *app) error {
	if settings.OwnAttempt() == "" {
		return nil
	}
	doing := cmd.CommandPath()
	if doing == "deskhand serve" {
		groups, _ := a.settings.Groups() // the command serve reports errors in the groups
		switch {
		case cmd.Flags().Changed("http"):
			doing += " --http"
		case slices.Contains(groups, "work"):
			doing += " --tools work"
		case slices.Contains(groups, "land"):
			doing += " --tools land"
		}
	}
	reason, refused := notInside[doing]
	if !refused && slices.Contains(mayInside, doing) {
		return nil
	}
	return fault.New("inside_attempt", fmt.Sprintf("%q is refused inside an attempt: %s", doing, reason),
		"ask a person with \"deskhand ask\", or record further work with \"deskhand tasks add\"")
}

// ownQuestion returns an error if this process runs in an attempt and the
// question does not belong to that attempt.
func ownQuestion(r *elicit.Request) error {
	if own := settings.OwnAttempt(); own != "" && r.Context.AttemptID != own {
		return fault.New("inside_attempt", fmt.Sprintf("question %s does not belong to this attempt", r.ID), "list this attempt's questions: deskhand ask list")
	}
	return nil
}
