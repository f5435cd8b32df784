package tasks

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/usage"
)

// Amount is an amount of money or tokens. The zero value of a field means none.
type Amount struct {
	Cost   int64 // millionths of a US dollar
	Tokens int64 // read and written
}

// String returns the amount in words: "$5.00", or "2000000 tokens".
func (a Amount) String() string {
	switch {
	case a.Cost > 0 && a.Tokens > 0:
		return fmt.Sprintf("%s and %d tokens", Dollars(a.Cost), a.Tokens)
	case a.Tokens > 0:
		return fmt.Sprintf("%d tokens", a.Tokens)
	}
	return Dollars(a.Cost)
}

func (a Amount) plus(b Amount) Amount { return Amount{a.Cost + b.Cost, a.Tokens + b.Tokens} }

// ParseAmount parses an amount of US dollars, as "$5" or "5usd", or of tokens, as "2M",
// "500k" or "300000". It returns a fault with code "misuse" for any other text, and for
// nothing.
func ParseAmount(text string) (a Amount, err error) {
	bad := fault.Misuse(fmt.Sprintf("%q is not an amount", brief(text)), "write US dollars as $5 or 5usd, and tokens as 2M, 500k or 300000")
	plain := strings.ToLower(strings.ReplaceAll(strings.TrimSpace(text), " ", ""))
	number, dollars := strings.CutPrefix(plain, "$")
	if !dollars {
		number, dollars = strings.CutSuffix(plain, "usd")
	}
	factor := 1.0
	if !dollars {
		number = strings.TrimSuffix(number, "tokens")
		for suffix, f := range map[string]float64{"k": 1e3, "m": 1e6} {
			if n, ok := strings.CutSuffix(number, suffix); ok {
				number, factor = n, f
			}
		}
	}
	n, err := strconv.ParseFloat(number, 64)
	if err != nil || !(n > 0) || n*factor > 1e12 {
		return a, bad
	}
	if dollars {
		a.Cost = usage.Micros(n)
	} else {
		a.Tokens = int64(n * factor)
	}
	if a == (Amount{}) {
		return a, bad
	}
	return a, nil
}

// Scope is what a budget limits.
type Scope string

// Values of Scope.
const (
	OfAttempt Scope = "attempt"
	OfProject Scope = "project" // since it was created
	OfDay     Scope = "day"     // all projects of the store, by the day in local time on which a run started
)

// Budgets limits what agents may consume before a person is asked. Missing scopes and
// projects have no limit.
type Budgets struct {
	Limits map[Scope]Amount
	// Projects overrides the limit of a project, by its name.
	Projects map[string]Amount
}

// ParseBudgets parses budgets, each as SCOPE=AMOUNT: attempt=$5, project=$100, day=2M,
// or project.NAME=$50. A scope may have an amount of money and one of tokens. Its errors
// are faults with code "misuse".
func ParseBudgets(list []string) (b Budgets, err error) {
	b = Budgets{map[Scope]Amount{}, map[string]Amount{}}
	for _, one := range list {
		name, text, ok := strings.Cut(one, "=")
		a, err := ParseAmount(text)
		if !ok || err != nil {
			return b, fault.Misuse(fmt.Sprintf("%q is not a budget", brief(one)), "write it as attempt=$5, project=$100, project.NAME=$50 or day=2M: US dollars as $5 or 5usd, tokens as 2M or 500k")
		}
		project, named := strings.CutPrefix(name, "project.")
		switch scope := Scope(name); {
		case named && project != "":
			b.Projects[project] = b.Projects[project].plus(a)
		case scope == OfAttempt, scope == OfProject, scope == OfDay:
			b.Limits[scope] = b.Limits[scope].plus(a)
		default:
			return b, fault.Misuse(fmt.Sprintf("there is no budget for %q", brief(name)), "use attempt, project, project.NAME or day")
		}
	}
	return b, nil
}

// Spent is the state of one budget.
type Spent struct {
	Scope Scope
	// Limit is the budget, and Allowed what it is together with the amounts that people
	// have added. Used counts only what is known.
	Limit, Allowed, Used Amount

	key string // of the allowances
}

// Over reports whether the budget is used up.
func (s Spent) Over() bool {
	return s.Allowed.Cost > 0 && s.Used.Cost >= s.Allowed.Cost || s.Allowed.Tokens > 0 && s.Used.Tokens >= s.Allowed.Tokens
}

// Words describes the budget: "the attempt has used $5.02 of its budget of $5.00".
func (s Spent) Words() string {
	who := map[Scope]string{OfAttempt: "the attempt has", OfProject: "the project has", OfDay: "all agents have today"}[s.Scope]
	used, allowed := s.relevant()
	return fmt.Sprintf("%s used %s of the budget of %s", who, used, allowed)
}

// relevant returns the used and the allowed amount in the unit that is over, or else in
// all units of the budget.
func (s Spent) relevant() (used, allowed Amount) {
	used, allowed = s.Used, s.Allowed
	if allowed.Cost == 0 || s.Over() && used.Cost < allowed.Cost {
		used.Cost, allowed.Cost = 0, 0
	}
	if allowed.Tokens == 0 || s.Over() && allowed.Cost > 0 {
		used.Tokens, allowed.Tokens = 0, 0
	}
	return used, allowed
}

// Budgets returns the state of each budget that applies to an attempt. Fault: not_found.
func (m *Manager) Budgets(ctx context.Context, attemptID string) (list []Spent, err error) {
	err = m.db.View(ctx, func(tx *store.Tx) error {
		c, err := readContext(ctx, tx, attemptID)
		if err != nil {
			return err
		}
		list, err = m.spent(ctx, tx, attemptID, c.Project)
		return err
	})
	return list, err
}

// spent reads the state of the budgets that apply to an attempt.
func (m *Manager) spent(ctx context.Context, tx *store.Tx, attemptID string, p Project) (list []Spent, err error) {
	now := tx.Now.Local()
	day := time.Date(now.Year(), now.Month(), now.Day(), 0, 0, 0, 0, time.Local)
	b := m.options.Budgets
	ofProject := b.Limits[OfProject]
	if own, ok := b.Projects[p.Name]; ok {
		ofProject = own
	}
	for _, one := range []struct {
		scope Scope
		limit Amount
		key   string
		where string
		arg   any
	}{
		{OfAttempt, b.Limits[OfAttempt], attemptID, "attempt_id = ?", attemptID},
		{OfProject, ofProject, p.ID, "project_id = ?", p.ID},
		{OfDay, b.Limits[OfDay], day.Format(time.DateOnly), "started_at >= ?", millis(day)},
	} {
		if one.limit == (Amount{}) {
			continue
		}
		s := Spent{Scope: one.scope, Limit: one.limit, key: one.key}
		err := tx.QueryRow(ctx, "SELECT COALESCE(SUM(cost), 0), COALESCE(SUM(tokens_in + tokens_out), 0) FROM run_usage WHERE "+one.where, one.arg).Scan(&s.Used.Cost, &s.Used.Tokens)
		var more Amount
		if err == nil {
			err = tx.QueryRow(ctx, "SELECT COALESCE(SUM(cost), 0), COALESCE(SUM(tokens), 0) FROM allowances WHERE scope = ? AND scope_key = ?", one.scope, one.key).Scan(&more.Cost, &more.Tokens)
		}
		if err != nil {
			return nil, fmt.Errorf("read a budget: %w", err)
		}
		s.Allowed = s.Limit
		if s.Limit.Cost > 0 {
			s.Allowed.Cost += more.Cost
		}
		if s.Limit.Tokens > 0 {
			s.Allowed.Tokens += more.Tokens
		}
		list = append(list, s)
	}
	return list, nil
}
