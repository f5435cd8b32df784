package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
)

// landed is the JSON output of land, update and undo.
type landed struct {
	AttemptID contract.UUID `json:"attempt_id"`
	Branch    string        `json:"workspace_branch"`
	Target    string        `json:"target_branch"`
	How       worktree.How  `json:"how"`
	DryRun    bool          `json:"dry_run"`
	Moves     []landedMove  `json:"moves"`
	Message   string        `json:"message,omitempty"`
	Secrets   []string      `json:"secrets,omitempty"`
}

type landedMove struct {
	Repo   string `json:"repo"`
	Branch string `json:"branch"`
	Before string `json:"before"`
	After  string `json:"after"`
	Dir    string `json:"checked_out_in,omitempty"`
}

// Land merges an attempt's work into its target branch. If the work contains text that
// looks like a secret, it asks at the terminal.
func (c *Command) Land(ctx context.Context, prefix string, q tasks.LandRequest) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	q.AttemptID = id
	var done tasks.Landed
	err = c.allowing(ctx, &q.Secrets, q.DryRun, func() (err error) {
		done, err = c.Manager.Land(ctx, q)
		return err
	})
	if err != nil {
		return err
	}
	if q.Message != "" && done.Message == "" {
		c.Tell(fmt.Sprintf("the message is not used: --%s keeps the messages of the attempt's commits", q.How))
	}
	return c.landing(done, q.DryRun, "landed", nil)
}

// Update merges the target branch into an attempt's branch.
func (c *Command) Update(ctx context.Context, prefix string, how worktree.How, dryRun bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	done, err := c.Manager.Update(ctx, tasks.UpdateRequest{AttemptID: id, How: how, DryRun: dryRun})
	if err != nil {
		return err
	}
	return c.landing(done, dryRun, "updated", nil)
}

// Undo reverts an attempt's landing.
func (c *Command) Undo(ctx context.Context, prefix string, dryRun bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	done, err := c.Manager.Undo(ctx, id, dryRun)
	if err != nil {
		return err
	}
	return c.landing(done, dryRun, "undone", worktree.Move.Back)
}

// allowing calls the function do. If do fails because of text that looks like a secret,
// allowing shows that text at the terminal and asks whether to continue. If the person
// says yes, it records the text that the person has seen in allowed, and calls do again.
// Otherwise, it returns the original error.
func (c *Command) allowing(ctx context.Context, allowed *tasks.Allowance, dryRun bool, do func() error) error {
	for {
		err := do()
		f := fault.Of(err)
		if f == nil || f.Code != tasks.LandHeld || dryRun || !console.OnTerminal(c.Stdin) {
			return err
		}
		agreed, broken := c.Yes(ctx, console.PainterFor(c.Stderr).Plain(f.Message)+". Continue anyway?")
		if broken != nil {
			return broken
		}
		if !agreed {
			return err
		}
		allowed.Named, _ = f.Details["found"].([]string)
	}
}

// landedOf returns the output for a landing. The function turn converts each
// move; if it is nil, moves are unchanged.
func landedOf(done tasks.Landed, dryRun bool, turn func(worktree.Move) worktree.Move) landed {
	out := landed{AttemptID: contract.UUID(done.AttemptID), Branch: done.Branch, Target: done.Target, How: done.How, DryRun: dryRun, Moves: []landedMove{}, Message: done.Message, Secrets: done.Secrets}
	for _, m := range done.Moves {
		if turn != nil {
			m = turn(m)
		}
		out.Moves = append(out.Moves, landedMove{m.Name, m.Branch, m.Before, m.After, m.Dir})
	}
	return out
}

// landing prints the moved branches.
func (c *Command) landing(done tasks.Landed, dryRun bool, word string, turn func(worktree.Move) worktree.Move) error {
	out := landedOf(done, dryRun, turn)
	if c.AsJSON {
		return c.JSON(out)
	}
	c.tellSecrets(out.Secrets)
	if dryRun {
		word = "would be " + word
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s", brief(out.AttemptID), word)
	for _, m := range out.Moves {
		fmt.Fprintf(&text, "\n  %s  %s  %.12s -> %.12s", m.Repo, m.Branch, m.Before, m.After)
		if m.Dir != "" {
			fmt.Fprintf(&text, "  with its files in %s", m.Dir)
		}
	}
	if dryRun && out.Message != "" {
		fmt.Fprintf(&text, "\n\n%s", out.Message)
	}
	return c.Line("%s", text.String())
}

// tellSecrets prints on stderr the allowed text that looks like a secret.
func (c *Command) tellSecrets(found []string) {
	for _, what := range found {
		c.Tell("allowed: " + what)
	}
}

// Apply copies an attempt's changes into the person's checkout, without committing them.
func (c *Command) Apply(ctx context.Context, prefix string, dryRun bool, secrets tasks.Allowance) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	var done tasks.Applied
	err = c.allowing(ctx, &secrets, dryRun, func() (err error) {
		done, err = c.Manager.Apply(ctx, id, dryRun, secrets)
		return err
	})
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.JSON(struct {
			AttemptID contract.UUID `json:"attempt_id"`
			Branch    string        `json:"workspace_branch"`
			DryRun    bool          `json:"dry_run"`
			Dirs      []string      `json:"dirs"`
			Secrets   []string      `json:"secrets,omitempty"`
		}{contract.UUID(done.AttemptID), done.Branch, dryRun, append([]string{}, done.Dirs...), done.Secrets})
	}
	c.tellSecrets(done.Secrets)
	word := map[bool]string{false: "its changes are in", true: "its changes would be in"}[dryRun]
	return c.Line("%s  %s %s", brief(contract.UUID(done.AttemptID)), word, strings.Join(done.Dirs, ", "))
}
