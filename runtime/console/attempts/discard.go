package attempts

import (
	"context"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// Discard deletes an attempt. It first asks at the terminal, unless yes is set.
func (c *Command) Discard(ctx context.Context, prefix string, yes, dryRun bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	would, err := c.Manager.Discard(ctx, id, true)
	if err != nil || dryRun {
		return c.discarded([]tasks.Discarded{would}, true, err)
	}
	if err := c.Confirmed(ctx, fmt.Sprintf("Delete attempt %s with its folder, logs and branch %s?", brief(contract.UUID(id)), would.Branch), yes); err != nil {
		return err
	}
	done, err := c.Manager.Discard(ctx, id, false)
	return c.discarded([]tasks.Discarded{done}, false, err)
}

// discarded prints what was deleted.
func (c *Command) discarded(all []tasks.Discarded, dryRun bool, err error) error {
	if err != nil {
		return err
	}
	if c.AsJSON {
		return c.JSON(discardsOf(all, dryRun)[0])
	}
	return c.Line("%s", strings.TrimSuffix(discardLines(all, dryRun), "\n"))
}

type discardReport struct {
	AttemptID contract.UUID `json:"attempt_id"`
	Branch    string        `json:"workspace_branch"`
	DryRun    bool          `json:"dry_run"`
	Kept      []string      `json:"kept_refs"`
}

func discardsOf(all []tasks.Discarded, dryRun bool) (reports []discardReport) {
	for _, d := range all {
		reports = append(reports, discardReport{contract.UUID(d.AttemptID), d.Branch, dryRun, append([]string{}, d.Kept...)})
	}
	return reports
}

func discardLines(all []tasks.Discarded, dryRun bool) string {
	word := map[bool]string{false: "discarded", true: "would be discarded"}[dryRun]
	var text strings.Builder
	for _, d := range all {
		fmt.Fprintf(&text, "%s  %s\n", brief(contract.UUID(d.AttemptID)), word)
		if dryRun {
			fmt.Fprintf(&text, "  its folder, its logs and branch %s would be deleted\n", d.Branch)
		}
		for _, k := range d.Kept {
			fmt.Fprintf(&text, "  commits kept: %s\n", k)
		}
	}
	return text.String()
}

// Pick lands an attempt and discards the task's other attempts. It first asks,
// unless yes is set.
func (c *Command) Pick(ctx context.Context, prefix string, q tasks.LandRequest, yes bool) error {
	id, err := c.find(ctx, tasks.KindAttempt, prefix)
	if f := fault.Of(err); f != nil && f.Code == tasks.NotFound { // a task ID does not select one of its attempts
		err = fault.New(f.Code, f.Message, "pass one of the task's attempts; list them: deskhand tasks show TASK")
	}
	if err != nil {
		return err
	}
	c.Knows("attempt", id)
	q.AttemptID = id
	dry := q
	dry.DryRun = true
	var done tasks.Landed
	var others []tasks.Discarded
	err = c.allowing(ctx, &dry.Secrets, q.DryRun, func() (err error) {
		done, others, err = c.Manager.Pick(ctx, dry)
		return err
	})
	if err != nil {
		return err
	}
	q.Secrets = dry.Secrets
	if !q.DryRun {
		if err := c.Confirmed(ctx, fmt.Sprintf("Land attempt %s and discard %d others?", brief(contract.UUID(id)), len(others)), yes || len(others) == 0); err != nil {
			return err
		}
		err := c.allowing(ctx, &q.Secrets, false, func() (err error) {
			done, others, err = c.Manager.Pick(ctx, q)
			return err
		})
		if err != nil {
			return err
		}
	}
	if c.AsJSON {
		return c.JSON(struct {
			Landed    landed          `json:"landed"`
			Discarded []discardReport `json:"discarded"`
		}{landedOf(done, q.DryRun, nil), append([]discardReport{}, discardsOf(others, q.DryRun)...)})
	}
	if err := c.landing(done, q.DryRun, "landed", nil); err != nil || len(others) == 0 {
		return err
	}
	return c.Line("%s", strings.TrimSuffix(discardLines(others, q.DryRun), "\n"))
}
