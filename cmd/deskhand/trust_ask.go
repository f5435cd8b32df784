package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
)

// tellsOfTrust lists the commands that already print the ignored settings of a
// project file.
var tellsOfTrust = map[string]bool{"deskhand trust": true, "deskhand config": true}

// agreement asks at the terminal whether to trust a project file with ignored settings.
// If there is no terminal, it prints one line that lists the ignored settings.
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
		a.Tell(p.Line()) // the file has changed in the meantime
	}
	return nil
}

// canAgree reports whether the user of this command's terminal is a person rather
// than an attempt's agent.
func (a *app) canAgree() bool {
	stdin, ok := a.Stdin.(*os.File)
	return ok && settings.Attended() && settings.OwnAttempt() == "" && console.OnTerminal(a.Stdin) && console.OnTerminal(a.Stderr) && console.InForeground(stdin)
}

// agree shows a file at the terminal, asks whether to trust it, and records the answer.
// If the user interrupts it, it returns an error and records nothing.
func (a *app) agree(ctx context.Context, p *settings.Project) (bool, error) {
	fmt.Fprint(a.Stderr, p.Introduction(a.seen(p.Path())))
	agreed, err := a.Yes(ctx, fmt.Sprintf("Trust %s with %s?", a.seen(p.Path()), p.Needs()))
	if err != nil {
		return false, err
	}
	return agreed, a.settings.Decide(p, agreed)
}

// seen returns a path on one line, with invisible characters escaped.
func (a *app) seen(path string) string {
	return console.PainterFor(a.Stderr).Plain(settings.VisibleLine(path))
}
