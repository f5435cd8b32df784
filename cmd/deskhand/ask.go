package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/askline"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/elicit/askdoor"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

func askCommand(a *app) *cobra.Command {
	var f askFlags
	cmd := &cobra.Command{
		Use:   "ask [QUESTION]",
		Short: "Ask a person a question and print the answer",
		Example: "  deskhand ask --confirm 'Deploy to production?' && ./deploy\n" +
			"  region=$(deskhand ask 'Which region?' -o 'Frankfurt=eu-central-1' -o 'Oregon=us-west-2')\n" +
			"  deskhand ask --questions questions.json --timeout 10m",
		Args: arguments(0, 1000, "a question"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := meantCommand(cmd, args); err != nil {
				return err
			}
			return askline.Asking(a.ask(cmd.Context(), cmd.Flags(), &f, strings.Join(args, " ")))
		},
	}
	f.declare(cmd.Flags())
	for _, sub := range []func(*app) *cobra.Command{
		askListCommand, askShowCommand, askAnswerCommand, askDeclineCommand, askCancelCommand, askExtendCommand, askTakeCommand, askHandCommand, askWaitCommand,
	} {
		cmd.AddCommand(sub(a))
	}
	return cmd
}

// meantCommand returns an error if the question looks like a misspelled command.
func meantCommand(cmd *cobra.Command, args []string) error {
	if len(args) == 0 || len(args) == 2 && !strings.HasPrefix(args[1], "elc_") || len(args) > 2 {
		return nil
	}
	var known []string
	for _, sub := range cmd.Commands() {
		known = append(known, sub.Name())
	}
	if near := textutil.Nearest(args[0], known); near != "" {
		return misuse(fmt.Sprintf("%q looks like the command %s, misspelled", args[0], near),
			"run: deskhand ask "+near+"; or ask a question of several words")
	}
	return nil
}

func (a *app) ask(ctx context.Context, flags *pflag.FlagSet, f *askFlags, question string) error {
	f.Changed = flags.Changed
	f.Exclusive = func(names ...string) error { return settings.Exclusive(flags, names...) }
	all := a.installation(nil)
	defer all.Close()
	return askline.Place{
		Console: &a.Console, Attempt: attemptDoor(), Device: a.device, Surroundings: settings.Surroundings,
		Source: elicit.Source{Kind: "cli", Name: "deskhand ask", Version: buildVersion()},
		People: func() (askline.People, error) {
			p, err := a.settings.People()
			return askline.People{Wait: p.Wait, WaitSet: p.WaitSet, Attended: p.Attended, Inbox: p.HasInbox()}, err
		},
		Hub: all.AttendedHub,
		Link: func(ctx context.Context, hub *elicit.Hub, path string) string {
			return all.InboxLink(ctx, hub, path, console.OnTerminal(a.Stderr))
		},
	}.Ask(ctx, &f.Line, f.Way, question)
}

// attemptDoor returns a client for the server of the attempt that this process runs in,
// or nil if there is none. The server can open the store even if a sandbox hides it
// from this process.
func attemptDoor() *askdoor.Client {
	if url := settings.Env("DESKHAND_URL"); settings.OwnAttempt() != "" && url != "" {
		return &askdoor.Client{Address: url, Token: settings.Env("DESKHAND_TOKEN")}
	}
	return nil
}
