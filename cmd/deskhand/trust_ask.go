package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/trust"
)

// tellsOfTrust are the commands that show on their own what is left out of a
// project's file.
var tellsOfTrust = map[string]bool{"deskhand trust": true, "deskhand config": true}

// agreement asks about settings of a project's file that do not count yet, at a
// terminal, and otherwise says in one line that they are left out.
func (a *app) agreement(cmd *cobra.Command) error {
	p := a.settings.project
	if p == nil || len(p.out) == 0 || tellsOfTrust[cmd.CommandPath()] {
		return nil
	}
	if p.owner != "" || p.refused || !a.canAgree() {
		a.tell(p.line())
		return nil
	}
	agreed, err := a.agree(cmd.Context(), p)
	if err != nil {
		return err
	}
	if err := a.settings.load(cmd, func(string) {}); err != nil {
		return err
	}
	if p = a.settings.project; p != nil && len(p.out) > 0 && (agreed || !p.refused) {
		a.tell(p.line()) // it was changed meanwhile
	}
	return nil
}

// canAgree reports whether a person sits at this command's terminal, and no
// agent of an attempt.
func (a *app) canAgree() bool {
	stdin, ok := a.stdin.(*os.File)
	return ok && attended() && ownAttempt() == "" && onTerminal(a.stdin) && onTerminal(a.stderr) && inForeground(stdin)
}

// agree shows a file at the terminal, asks about it and keeps what was said. An
// interrupt is an error and no answer.
func (a *app) agree(ctx context.Context, p *projectFile) (bool, error) {
	a.showTrust(p)
	agreed, err := a.yes(ctx, fmt.Sprintf("Trust %s with %s?", a.seen(p.path), names(p.needs)))
	if err != nil {
		return false, err
	}
	return agreed, a.keepTrust(p, agreed)
}

// keepTrust remembers what was said of exactly the bytes that were shown.
func (a *app) keepTrust(p *projectFile, agreed bool) error {
	err := a.settings.records.Put(trust.Record{Path: p.place, Digest: p.sum, Agreed: agreed, At: time.Now().UTC().Truncate(time.Second)})
	if err != nil {
		return fmt.Errorf("remember trust: %w", err)
	}
	return nil
}

// showTrust prints the settings of a file that need trust, whole.
func (a *app) showTrust(p *projectFile) {
	said := "has settings that can run programs, reach a network or weaken a check"
	if p.changed {
		said = "has changed since you trusted it, and " + said
	}
	fmt.Fprintf(a.stderr, "%s %s:\n\n", a.seen(p.path), said)
	for _, g := range p.needs {
		for line := range strings.Lines(g.text) {
			fmt.Fprint(a.stderr, "  ", line)
		}
	}
	fmt.Fprint(a.stderr, "\nPrograms that they name may change without this file. ")
}

// seen is a path on one line, with what is unseen written out.
func (a *app) seen(path string) string { return painter(a.stderr).plain(visibleLine(path)) }
