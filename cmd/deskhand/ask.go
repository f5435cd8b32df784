package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/surface/terminal"
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
			return asking(a.ask(cmd.Context(), cmd.Flags(), &f, strings.Join(args, " ")))
		},
	}
	f.declare(cmd.Flags())
	for _, sub := range []func(*app) *cobra.Command{
		askListCommand, askShowCommand, askAnswerCommand, askDeclineCommand, askCancelCommand, askExtendCommand, askWaitCommand,
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
	if f.unreachable != "fail" && f.unreachable != "wait" {
		return misuse(fmt.Sprintf("unknown --unreachable %q", f.unreachable), "use fail or wait")
	}
	r, err := f.request(flags, question, a.Stdin)
	if err != nil {
		return err
	}
	form, err := console.FormOf(f.output, len(r.Questions))
	if err != nil {
		return err
	}
	assumed, err := f.assumed(r)
	if err != nil {
		return err
	}
	if attempt := attemptDoor(); attempt != nil {
		return a.askThrough(ctx, attempt, f, r, waiter{a, attempt, form, f.Confirm}, assumed)
	}
	people, err := a.settings.People()
	if err != nil {
		return err
	}
	var device *terminal.Device
	if !f.noTTY && !f.detach && (f.To == "" || f.To == elicit.Local) {
		if device = a.device(); device != nil {
			defer device.Close()
		}
	}
	if !f.bounded && (device == nil || people.WaitSet) {
		r.WaitMS = people.Wait.Milliseconds()
	}
	open := func(ctx context.Context) (*elicit.Hub, func(), error) { return a.hub(ctx) }
	if people.HasInbox() && !f.noInbox && !f.detach {
		open = a.attendedHub
	}
	hub, stop, err := open(ctx)
	if err != nil {
		return err
	}
	defer stop()
	q := quest{waiter{a, hub, form, f.Confirm}, hub, f, device, people.Attended && !f.noInbox}
	reached, err := q.reachable(ctx)
	switch {
	case err != nil:
		return err
	case !reached && assumed != nil:
		return q.assume(ctx, r, assumed)
	case !reached && f.unreachable == "fail":
		return q.nobody(ctx, r)
	}
	if f.detach {
		return q.detach(ctx, r)
	}
	return q.ask(ctx, r)
}

// quest is one run of deskhand ask.
type quest struct {
	waiter
	hub    *elicit.Hub
	flags  *askFlags
	device *terminal.Device // the person's terminal, or nil if there is none
	inbox  bool             // a person may open the inbox
}

// reachable reports whether a person could answer.
func (q *quest) reachable(ctx context.Context) (bool, error) {
	if q.device != nil || q.inbox {
		return true, nil
	}
	up, err := q.hub.Reach(ctx)
	return len(up) > 0, err
}

// nobody prints the outcome of a question that could not be asked, and returns an error
// with its exit code.
func (q *quest) nobody(_ context.Context, r elicit.Request) error {
	if q.form == "full" {
		r.Completion = &elicit.Completion{Outcome: elicit.Abandoned, Reason: "unreachable", At: elicit.At(time.Now())}
	}
	if err := q.Answer(r, q.form); err != nil {
		return err
	}
	return fault.New(elicit.NoSurface, "no person can be reached from here",
		"run \"deskhand inbox\" on this store and ask again, or use --unreachable wait; with --assume, a script continues without a person")
}

// assumed reads the answers given with --assume. It returns nil if there are none.
func (f *askFlags) assumed(r elicit.Request) (map[string]elicit.Answer, error) {
	if len(f.assume) == 0 {
		return nil, nil
	}
	answers, err := console.ReadAnswers(&r, f.assume)
	if err != nil {
		return nil, err
	}
	if r.Answers = answers; f.Confirm && yes(r) {
		return nil, misuse("--assume says yes to --confirm", "only a person can say yes: assume no, or omit --confirm")
	}
	return answers, nil
}

// assume records the answers from --assume. They are attributed to
// "assumed", not to a person.
func (q *quest) assume(ctx context.Context, r elicit.Request, answers map[string]elicit.Answer) error {
	r, err := q.hub.Open(ctx, r)
	if err != nil {
		return err
	}
	if !r.Ended() {
		c, err := q.hub.Dispatch(ctx, elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers,
			By: "assumed", Roles: r.Audience.Roles, Channel: "cli"})
		if err != nil {
			return err
		}
		q.Tell("no one could be asked, so this is the assumed answer")
		r = *c.Request
	}
	return q.finish(r, r, nil)
}

// detach opens the question and prints its ID.
func (q *quest) detach(ctx context.Context, r elicit.Request) error {
	return q.id(q.hub.Open(ctx, r))
}

// id prints the ID of an opened question.
func (q *quest) id(r elicit.Request, err error) error {
	if err == nil {
		_, err = fmt.Fprintln(q.Stdout, r.ID)
	}
	return err
}

// ask puts a question to a person and waits until the question ends.
func (q *quest) ask(ctx context.Context, r elicit.Request) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var surface elicit.Surface = announcer{q.app}
	if q.device != nil {
		surface = &terminal.Form{Device: q.device, Plain: console.Linewise(q.flags.plain), Interrupt: stop}
	}
	began := time.Now()
	asked, err := q.hub.Ask(ctx, r, surface)
	if err == nil && asked.Status == elicit.ExpiredOpen && asked.Completion.At.Before(began) {
		// An earlier command with the same key got no answer in time. This
		// command waits for the answer again.
		q.Tell("already asked as " + asked.ID + "; waiting for a late answer")
		return q.late(ctx, asked, surface, time.Duration(r.WaitMS)*time.Millisecond)
	}
	return q.finish(asked, asked, err)
}

// late offers a request whose deadline has passed, and waits for a late answer.
func (q *quest) late(ctx context.Context, r elicit.Request, surface elicit.Surface, timeout time.Duration) error {
	defer q.hub.Offer(ctx, r, surface)()
	return q.wait(ctx, r, timeout)
}

// inboxComes is the time that a command waits for the inbox in the same process to
// start. After that, it prints where a person can answer.
const inboxComes = 500 * time.Millisecond

// inboxLink returns a page's address. If stderr is a terminal, only a person sees the
// link, and the address contains a one-time sign-in code.
func (a *app) inboxLink(address, path string) string {
	if !console.OnTerminal(a.Stderr) {
		return address + path
	}
	in, err := a.installation(nil).Visitors()
	if err != nil {
		return address + path
	}
	return in.LoginLink(address, path)
}

// announcer is the surface of a command without a terminal. It prints where a
// person can answer.
type announcer struct{ *app }

// Offer implements [elicit.Surface].
func (a announcer) Offer(ctx context.Context, h *elicit.Hub, r elicit.Request) {
	where := "\"deskhand inbox\""
	if address := installation.AwaitInbox(ctx, h, inboxComes); address != "" {
		where += " or " + a.inboxLink(address, "/inbox/"+r.ID)
	}
	a.Tell("asked as " + r.ID + "; answer it in " + where)
	<-ctx.Done()
}
