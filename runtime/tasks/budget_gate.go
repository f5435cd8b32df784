package tasks

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// An agent begins no turn while a budget is used up. If a budget is used up during a
// turn, the agent is interrupted. In both cases a person decides whether it continues.
// What a person allows is stored, so the question comes once for each amount.

// overBudget returns a budget that is used up, or nil.
func (r *run) overBudget(ctx context.Context) (over *Spent, err error) {
	b := r.m.options.Budgets
	if len(b.Limits)+len(b.Projects) == 0 {
		return nil, nil
	}
	err = r.m.db.View(ctx, func(tx *store.Tx) error {
		over = nil
		list, err := r.m.spent(ctx, tx, r.attemptID, r.project)
		for i := range list {
			if over == nil && list[i].Over() {
				over = &list[i]
			}
		}
		return err
	})
	return over, err
}

// checkBudget interrupts the current turn if a budget is used up. The heartbeat calls it
// after it has stored the agent's usage.
func (r *run) checkBudget(ctx context.Context) {
	over, err := r.overBudget(ctx)
	if err != nil && ctx.Err() == nil {
		r.m.options.Log.Warn("cannot read the budgets", "attempt_id", r.attemptID, "error", err)
	}
	if over != nil {
		wake(r.budgetUsed)
	}
}

// awaitTurn waits until the agent exits. It reports whether it had to interrupt the
// agent because a budget is used up.
func (r *run) awaitTurn(done <-chan struct{}, c controls) (paused bool) {
	select {
	case <-done:
		return false
	case <-r.ctx.Done():
		r.await(done, c)
		return false
	case <-r.budgetUsed:
	}
	r.log.Append(logs.System("a budget is used up, so the agent is interrupted"))
	r.endGently(done, c)
	return true
}

// gate asks a person before a turn begins while a budget is used up. It returns nil if
// the agent may work, and otherwise how the process ends.
func (r *run) gate() *ending {
	for {
		over, err := r.overBudget(r.ctx)
		if err != nil {
			e := failed("cannot read the budgets: " + err.Error())
			return &e
		}
		if over == nil {
			select { // a signal of the turn that has ended
			case <-r.budgetUsed:
			default:
			}
			return nil
		}
		if why := r.askForMore(*over); why != "" {
			e := failed("over budget: " + over.Words() + "; " + why)
			r.log.Append(logs.Failed(e.Failure))
			return &e
		}
	}
}

// goOn is the ID of the question; stopHere and allowMore are the IDs of its options.
const goOn, stopHere, allowMore = "go_on", "stop", "allow"

// askForMore asks a person to allow more, and stores what was allowed. If the agent must
// stop, it returns the reason.
func (r *run) askForMore(over Spent) (why string) {
	if r.m.options.Ask == nil {
		return "no person can be asked"
	}
	r.log.Append(logs.System(over.Words() + "; asking a person whether the agent may continue"))
	ctx, cancel := context.WithCancelCause(r.ctx)
	defer cancel(nil)
	go r.settle(ctx, cancel)
	q := over.Question()
	for range mostAsked {
		a, err := r.ask(ctx, q)
		switch {
		case context.Cause(ctx) == executor.ErrSettled && (err != nil || a.Outcome == "cancel"):
			return ""
		case err != nil:
			return "no person could be asked: " + errorText(err)
		case a.Pending:
			return "nobody answered in time"
		}
		more, problem, why := over.decided(a)
		if why == "" && problem == "" {
			if err := r.grant(over, more); err != nil {
				return err.Error()
			}
		}
		if a.Used != nil {
			a.Used(r.ctx) // only now: if the runner dies before, its successor finds the answer
		}
		if problem == "" {
			return why
		}
		q.Message = problem + ".\n\n" + over.Question().Message
	}
	return "no amount could be understood"
}

// decided returns what a person allows, or why the agent must stop, or the problem with an
// amount that the person wrote.
func (s Spent) decided(a executor.Answer) (more Amount, problem, why string) {
	if a.Outcome != "accept" {
		return more, "", "a person did not allow more"
	}
	choice, own := chosen(a)
	switch {
	case choice == stopHere && own == "":
		return more, "", "a person stopped the agent"
	case own == "":
		return s.step(), "", ""
	}
	more, err := ParseAmount(own)
	switch {
	case err != nil:
		problem = errorText(err)
	case more.Cost > 0 && s.Allowed.Cost == 0 || more.Tokens > 0 && s.Allowed.Tokens == 0:
		problem = "This budget counts " + s.Allowed.String() + ", not " + more.String()
	}
	return more, problem, ""
}

// mostAsked is how often a person is asked who writes something that is no amount.
const mostAsked = 10

// settle ends the question when another attempt's answer has made it unnecessary.
func (r *run) settle(ctx context.Context, cancel context.CancelCauseFunc) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if over, err := r.overBudget(ctx); err == nil && over == nil {
			cancel(executor.ErrSettled)
		}
	}
}

// chosen returns the ID of the chosen option, and the person's own amount.
func chosen(a executor.Answer) (choice, own string) {
	choice, _ = a.Values[goOn].(string)
	if choice == "" {
		choice = a.Option
	}
	switch other := a.Values[goOn+"__other"].(type) {
	case []string:
		own = strings.Join(other, " ")
	case string:
		own = other
	}
	if own == "" && choice != stopHere && choice != allowMore {
		choice, own = "", choice
		if own == "" {
			own = a.Text
		}
	}
	return choice, strings.TrimSpace(own)
}

// step is what one press allows: as much as the budget, in addition to what was used.
func (s Spent) step() Amount {
	used, allowed := s.relevant()
	step := s.Limit.plus(Amount{max(0, used.Cost-allowed.Cost), max(0, used.Tokens-allowed.Tokens)})
	if allowed.Cost == 0 {
		step.Cost = 0
	}
	if allowed.Tokens == 0 {
		step.Tokens = 0
	}
	return step
}

// Question returns the question whether the agent may continue, in deskhand's own form.
func (s Spent) Question() executor.Question {
	type option struct {
		ID    string `json:"id"`
		Label string `json:"label"`
	}
	words := strings.ToUpper(s.Words()[:1]) + s.Words()[1:]
	fields, err := json.Marshal([]map[string]any{{
		"id": goOn, "kind": "single-select", "required": true, "allowFreeform": true,
		"message": "May the agent continue? You can also write another amount, for example $2.50 or 500k tokens.",
		"options": []option{{allowMore, "Allow " + s.step().String() + " more"}, {stopHere, "Stop"}},
	}})
	if err != nil {
		panic(err) // plain data
	}
	return executor.Question{Trigger: "task_gate", Title: "Over budget: may the agent continue?", Message: words + ".", Fields: fields,
		Options: []executor.Option{{ID: allowMore, Label: "Allow " + s.step().String() + " more"}, {ID: stopHere, Label: "Stop"}}}
}

// grant stores what a person has allowed.
func (r *run) grant(over Spent, more Amount) error {
	err := r.m.db.Update(r.ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(r.ctx, "INSERT INTO allowances (id, scope, scope_key, process_id, cost, tokens, created_at) VALUES ("+marks(7)+")",
			newID(), over.Scope, over.key, r.p.ID, more.Cost, more.Tokens, millis(tx.Now))
		if err == nil {
			err = tx.Audit(store.Record{Who: "attempt " + r.p.AttemptID, Action: "budget.allowed", Object: r.p.AttemptID, Detail: more.String() + " more, as a person answered"})
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("store what a person allowed: %w", err)
	}
	r.log.Append(logs.System("a person allowed " + more.String() + " more"))
	return nil
}
