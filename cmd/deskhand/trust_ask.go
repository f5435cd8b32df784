package main

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
)

// tellsOfTrust are the commands that show on their own what is left out of a
// project's file.
var tellsOfTrust = map[string]bool{"deskhand trust": true, "deskhand config": true}

// agreement asks about settings of a project's file that do not count yet, at a
// terminal, and otherwise says in one line that they are left out.
func (a *app) agreement(cmd *cobra.Command) error {
	p := a.settings.Project()
	if p == nil || !p.LeftOut() || tellsOfTrust[cmd.CommandPath()] {
		return nil
	}
	if !p.CanBeTrusted() || !a.canAgree() {
		a.Tell(p.Line())
		return nil
	}
	agreed, err := a.agree(cmd.Context(), p)
	if err != nil {
		return err
	}
	if err := a.settings.Load(cmd.Flags(), func(string) {}); err != nil {
		return err
	}
	if p = a.settings.Project(); p != nil && p.LeftOut() && (agreed || p.CanBeTrusted() || p.Foreign() != "") {
		a.Tell(p.Line()) // it was changed meanwhile
	}
	return nil
}

// canAgree reports whether a person sits at this command's terminal, and no
// agent of an attempt.
func (a *app) canAgree() bool {
	stdin, ok := a.Stdin.(*os.File)
	return ok && settings.Attended() && settings.OwnAttempt() == "" && console.OnTerminal(a.Stdin) && console.OnTerminal(a.Stderr) && console.InForeground(stdin)
}

// agree shows a file at the terminal, asks about it and keeps what was said. An
// interrupt is an error and no answer.
func (a *app) agree(ctx context.Context, p *settings.Project) (bool, error) {
	a.showTrust(p)
	agreed, err := a.Yes(ctx, fmt.Sprintf("Trust %s with %s?", a.seen(p.Path()), p.Needs()))
	if err != nil {
		return false, err
	}
	return agreed, a.settings.Decide(p, agreed)
}

// showTrust prints the settings of a file that need trust, whole.
func (a *app) showTrust(p *settings.Project) {
	said := "has settings that can run programs, reach a network or weaken a check"
	if p.Changed() {
		said = "has changed since you trusted it, and " + said
	}
	fmt.Fprintf(a.Stderr, "%s %s:\n\n", a.seen(p.Path()), said)
	for line := range strings.Lines(p.Shown()) {
		fmt.Fprint(a.Stderr, "  ", line)
	}
	fmt.Fprint(a.Stderr, "\nPrograms that they name may change without this file. ")
}

// seen is a path on one line, with what is unseen written out.
func (a *app) seen(path string) string {
	return console.PainterFor(a.Stderr).Plain(settings.VisibleLine(path))
}
