package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
	asktools "github.com/deskhand/deskhand/runtime/tools/ask"
)

func askListCommand(a *app) *cobra.Command {
	var all, asJSON bool
	limit := 100
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the questions that wait for a person",
		Args:  arguments(0, 0, "no arguments"),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := within("limit", limit, 1, 1000); err != nil {
				return err
			}
			return managing(a.askList(cmd.Context(), all, limit, asJSON))
		},
	}
	cmd.Flags().BoolVar(&all, "all", false, "the history too, newest first")
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "number of questions, 1 to 1000")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print an array of requests")
	return cmd
}

func (a *app) askList(ctx context.Context, all bool, limit int, asJSON bool) error {
	list, err := a.listed(ctx, all, limit)
	if err != nil {
		return err
	}
	if list.More {
		defer a.tell(fmt.Sprintf("only %d are listed, --limit takes up to 1000", limit))
	}
	if asJSON {
		return a.json(append([]elicit.Request{}, list.Requests...)) // [] and not null
	}
	if len(list.Requests) == 0 {
		a.tell("no question waits for an answer")
		return nil
	}
	paint := painter(a.stdout)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "ID\tSTATE\tASKED\tBY\tQUESTION")
	for _, r := range list.Requests {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", r.ID, stateOf(r), age(r.CreatedAt.Time), paint.plain(r.Source.Name), paint.plain(heading(r)+noteOf(r)))
	}
	return w.Flush()
}

// listed are the questions of the store, or of the own attempt.
func (a *app) listed(ctx context.Context, all bool, limit int) (elicit.List, error) {
	if attempt := attemptDoor(); attempt != nil {
		return attempt.List(ctx, all, limit)
	}
	hub, stop, err := a.hub(ctx)
	if err != nil {
		return elicit.List{}, err
	}
	defer stop()
	filter := elicit.Filter{Limit: limit, AttemptID: ownAttempt()}
	if all {
		filter.Statuses = []elicit.Status{elicit.Open, elicit.ExpiredOpen, elicit.Completed}
	}
	return settled(ctx, hub, filter)
}

// settled lists requests after those have ended whose agents died.
func settled(ctx context.Context, hub *elicit.Hub, f elicit.Filter) (elicit.List, error) {
	list, err := hub.List(ctx, f)
	if err != nil {
		return list, err
	}
	of := func(r elicit.Request) bool { return r.Status != elicit.Completed && r.Context.AttemptID != "" }
	i := slices.IndexFunc(list.Requests, of)
	if i < 0 {
		return list, nil
	}
	if _, err := hub.Settled(ctx, list.Requests[i].ID); err != nil && fault.Of(err) == nil {
		return list, err
	}
	return hub.List(ctx, f)
}

// noteOf is what the person added to an answer, to stand behind a question.
func noteOf(r elicit.Request) string {
	if r.Completion == nil || r.Completion.Note == "" {
		return ""
	}
	return " (note: " + textutil.Shorten(oneLine(r.Completion.Note), 60) + ")"
}

// stateOf is a word for how far a request is.
func stateOf(r elicit.Request) string {
	switch {
	case r.TurnEnd != nil && r.Status != elicit.Completed:
		return "open, agent finished"
	case r.Status == elicit.Open:
		return "open"
	case r.Status == elicit.ExpiredOpen:
		return "expired"
	}
	return outcomeWords[r.Completion.Outcome]
}

var outcomeWords = map[elicit.Outcome]string{
	elicit.Accept: "answered", elicit.Decline: "declined", elicit.Cancel: "cancelled", elicit.Abandoned: "withdrawn", elicit.Timeout: "expired",
}

// heading is the first line of what is asked, shortened.
func heading(r elicit.Request) string {
	first, _, _ := strings.Cut(strings.TrimSpace(cmp.Or(r.Title, r.Message)), "\n")
	return textutil.Shorten(first, 60)
}

func age(t time.Time) string {
	switch d := time.Since(t); {
	case d < time.Minute:
		return fmt.Sprintf("%ds ago", int(max(d, 0).Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm ago", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh ago", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd ago", int(d.Hours()/24))
	}
}

func askShowCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show ID",
		ValidArgsFunction: a.completeQuestions,
		Short:             "Show one question, with drafts and answers",
		Args:              arguments(1, 1, "an id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			show := func(_ *elicit.Hub, r elicit.Request) error {
				if asJSON {
					return a.json(r)
				}
				return a.show(r)
			}
			if attempt := attemptDoor(); attempt != nil {
				r, err := attempt.Settled(cmd.Context(), args[0])
				if err == nil {
					err = show(nil, r)
				}
				return managing(err)
			}
			return managing(a.withRequest(cmd.Context(), args[0], show))
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the request")
	return cmd
}

// withRequest opens the store and reads a request.
func (a *app) withRequest(ctx context.Context, id string, do func(*elicit.Hub, elicit.Request) error) error {
	return a.withQuestion(ctx, id, func(_ *installation.App, hub *elicit.Hub, r elicit.Request) error { return do(hub, r) })
}

// withQuestion is withRequest for who needs more than the hub.
func (a *app) withQuestion(ctx context.Context, id string, do func(*installation.App, *elicit.Hub, elicit.Request) error) error {
	all := a.installation(nil)
	defer all.Close()
	hub, err := all.Hub(ctx)
	if err != nil {
		return err
	}
	r, err := hub.Settled(ctx, id)
	if err != nil {
		return err
	}
	if err := ownQuestion(&r); err != nil {
		return err
	}
	return do(all, hub, r)
}

// show prints a request for people.
func (a *app) show(r elicit.Request) error {
	paint := painter(a.stdout)
	var b strings.Builder
	fmt.Fprintf(&b, "%s  %s, asked %s by %s\n", paint.bold(r.ID), stateOf(r), age(r.CreatedAt.Time), paint.plain(r.Source.Name))
	if !r.Deadline.IsZero() && r.Status == elicit.Open {
		fmt.Fprintf(&b, "until %s\n", r.Deadline.Local().Format(time.DateTime))
	}
	if standing := r.Standing(); standing != "" {
		fmt.Fprintf(&b, "%s\n", standing)
	}
	if c := r.Completion; c != nil && r.Status == elicit.Completed {
		fmt.Fprintf(&b, "%s, %s\n", paint.plain(by(stateOf(r), c)), age(c.At.Time))
	}
	if o := r.EndedFrom; o != nil {
		fmt.Fprintf(&b, "from %s\n", paint.plain(o.Words()))
	}
	if r.Title != "" {
		fmt.Fprintf(&b, "\n%s\n", paint.bold(r.Title))
	}
	if p := r.Proposal; p != nil {
		if warning := p.Warning(); warning != "" {
			fmt.Fprintf(&b, "\n%s\n", paint.bold(warning))
		}
		fmt.Fprintf(&b, "\n    %s\n", strings.ReplaceAll(paint.plain(p.Text), "\n", "\n    "))
	}
	if len(r.Questions) == 0 || r.Message != r.Title && r.Message != r.Questions[0].Message {
		fmt.Fprintf(&b, "\n%s\n", paint.plain(r.Message))
	}
	if r.URL != "" {
		fmt.Fprintf(&b, "\n%s\n", paint.path(r.URL))
	}
	for i, q := range r.Questions {
		fmt.Fprintf(&b, "\n#%d %s  %s\n", i+1, paint.plain(q.Asks()), paint.dim(describe(q)))
		for _, o := range q.Options {
			fmt.Fprintf(&b, "   - %s\n", paint.plain(strings.Join(strings.Fields(optionLine(o)), " ")))
		}
		if answer, ok := r.Answers[q.ID]; ok {
			fmt.Fprintf(&b, "   %s: %s\n", answer.State, paint.plain(strings.Join(asktools.AnswerOf(&q, answer).Texts(), ", ")))
		}
	}
	_, err := a.stdout.Write([]byte(b.String()))
	return err
}

// describe is what a question wants.
func describe(q elicit.Question) string {
	text := q.ID + ", " + string(q.Kind)
	if !q.Required {
		text += ", may be skipped"
	}
	if q.AllowFreeform {
		text += ", or own words as " + q.ID + elicit.OtherSuffix
	}
	return text
}

func optionLine(o elicit.Option) string {
	text := o.Label
	if o.ID != o.Label {
		text += " (" + o.ID + ")"
	}
	if o.Description != "" {
		text += ": " + o.Description
	}
	if o.Recommended {
		text += " [recommended]"
	}
	return text
}
