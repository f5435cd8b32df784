package rules

import (
	"context"
	"crypto/rand"
	"embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// NoRule is the code of faults about a rule that does not exist, or that the caller does not
// know of.
const NoRule = "no_rule"

// Lasts is how long a rule that allows applies unless its person says otherwise.
const Lasts = 8 * time.Hour

// mostLive is the maximum number of rules of one person that apply.
const mostLive = 500

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema that a Register's store must be opened with.
func Schema() store.Schema { return store.NewSchema("rules", migrations) }

// Kind is what a rule does.
type Kind string

const (
	Allow Kind = "allow" // answers a matching call's question with its option that allows once
	Ask   Kind = "ask"   // always ask: no rule answers for a matching call
)

// Rule is a person's decision about future calls. Its JSON is the output of deskhand rules.
type Rule struct {
	ID   string `json:"id"` // "rul_" and 12 characters
	Kind Kind   `json:"kind"`
	// Of is the person who made it.
	Of string `json:"of"`
	// Project is the ID of the project that it is for, and on the command line the name.
	// If empty, it is for each project that the person knows of.
	Project string    `json:"project,omitempty"`
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern"`
	Made    time.Time `json:"made"`
	Expires time.Time `json:"expires,omitzero"` // zero: never
	Uses    int       `json:"uses"`
	Used    time.Time `json:"used,omitzero"`  // the last use; zero: not yet
	Ended   time.Time `json:"ended,omitzero"` // zero: it applies
	EndedBy string    `json:"endedBy,omitempty"`
	owner   bool
}

// State describes whether the rule applies at a time: active, revoked or expired.
func (r Rule) State(now time.Time) string {
	switch {
	case r.EndedBy != "":
		return "revoked"
	case !r.Ended.IsZero() || !r.Expires.IsZero() && !now.Before(r.Expires):
		return "expired"
	}
	return "active"
}

// Use is the record of a rule that allowed a call.
type Use struct {
	ID      string    `json:"id"`
	Of      string    `json:"of"`
	Made    time.Time `json:"made"`
	Tool    string    `json:"tool"`
	Pattern string    `json:"pattern"`
}

// Words describes the rule, as text to put behind "allowed".
func (u Use) Words() string {
	return fmt.Sprintf("by rule %s of %s, made %s: %s", u.ID, u.Of, u.Made.UTC().Format("2006-01-02 15:04 UTC"), strings.TrimSpace(u.Tool+" "+u.Pattern))
}

// Person is what a rule's person may do now.
type Person struct {
	Known    bool // the person was added, and perhaps removed
	Answers  bool // may answer questions; false for a removed person
	Roles    []string
	Since    time.Time // when the person was added
	Boundary access.Boundary
}

// Register keeps the rules of a store. The zero value with DB is a register of the owner of
// an installation without people. Its methods may be called concurrently.
type Register struct {
	DB *store.DB
	// Person returns what a person may do, in a transaction of DB. It may be nil.
	Person func(ctx context.Context, tx *store.Tx, name string) (Person, error)
}

// By is who makes, sees or ends rules.
type By struct {
	Name  string
	Owner bool // the owner of the installation
	Admin bool // may end the rules of others
	access.Boundary
}

// sees reports whether someone knows of a rule.
func (b By) sees(r Rule) bool {
	return b.Owner || r.Of == b.Name || r.Project != "" && b.Sees(r.Project)
}

// New is a rule to make.
type New struct {
	Kind    Kind
	Project string // ID; empty: each project that the person knows of
	Tool    string
	Pattern string
	Lasts   time.Duration // 0: it does not expire
}

// Add makes a rule. Fails with code [BadPattern], [NoRule] for a project that the person does
// not know of, or too_many.
func (g *Register) Add(ctx context.Context, by By, n New) (r Rule, err error) {
	n.Tool = ToolNamed(n.Tool)
	read := Parse
	if n.Kind == Ask {
		read = ParseMark
	}
	p, err := read(n.Tool, n.Pattern)
	if err != nil {
		return r, err
	}
	if n.Project != "" && !by.Owner && !by.Sees(n.Project) {
		return r, fault.New(NoRule, fmt.Sprintf("there is no project %.80q", n.Project), "make a rule for one of your projects")
	}
	if n.Lasts < 0 {
		return r, fault.Misuse("the rule would be over already", "give a time in the future, for example 8h")
	}
	err = g.DB.Update(ctx, func(tx *store.Tx) error {
		r = Rule{ID: "rul_" + strings.ToLower(rand.Text()[:12]), Kind: n.Kind, Of: by.Name, Project: n.Project, Tool: n.Tool, Pattern: p.String(), Made: tx.Now.UTC().Truncate(time.Millisecond), owner: by.Owner}
		if n.Lasts > 0 {
			r.Expires = r.Made.Add(n.Lasts)
		}
		var live int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM rules WHERE ended = 0 AND person = ?", r.Of).Scan(&live); err != nil {
			return fmt.Errorf("count rules: %w", err)
		}
		if live >= mostLive {
			return fault.New("too_many", fmt.Sprintf("%s already has %d rules", r.Of, live), "revoke rules that you no longer need: deskhand rules list")
		}
		owner := 0
		if r.owner {
			owner = 1
		}
		if _, err := tx.Exec(ctx, "INSERT INTO rules (id, kind, person, owner, project, tool, pattern, made, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
			r.ID, r.Kind, r.Of, owner, r.Project, r.Tool, r.Pattern, millis(r.Made), millis(r.Expires)); err != nil {
			return fmt.Errorf("make rule: %w", err)
		}
		return tx.Audit(store.Record{Who: r.Of, Action: "rule.made", Object: r.ID, Detail: string(r.Kind) + " " + r.Tool})
	})
	return r, err
}

// End revokes a rule. Revoking it again changes nothing. Only its person, the owner and
// administrators may. Fails with code [NoRule].
func (g *Register) End(ctx context.Context, by By, id string) (r Rule, err error) {
	err = g.DB.Update(ctx, func(tx *store.Tx) error {
		found, err := query(ctx, tx, "WHERE id = ?", id)
		if err != nil {
			return err
		}
		if len(found) == 0 || !by.sees(found[0]) {
			return fault.New(NoRule, fmt.Sprintf("there is no rule %.80q", id), "deskhand rules list shows their IDs")
		}
		if r = found[0]; r.Of != by.Name && !by.Owner && !by.Admin {
			return fault.New("not_yours", fmt.Sprintf("the rule %s is %s's", r.ID, r.Of), "ask "+r.Of+" to revoke it, or somebody with the scope admin")
		}
		if !r.Ended.IsZero() {
			return nil
		}
		r.Ended, r.EndedBy = tx.Now.UTC(), by.Name
		if _, err := tx.Exec(ctx, "UPDATE rules SET ended = ?, ended_by = ? WHERE id = ?", millis(r.Ended), r.EndedBy, r.ID); err != nil {
			return fmt.Errorf("revoke rule: %w", err)
		}
		return tx.Audit(store.Record{Who: by.Name, Action: "rule.revoked", Object: r.ID, Detail: "of " + r.Of})
	})
	return r, err
}

// List returns the rules that someone knows of, the newest first. With all, it also returns
// those that have ended. It is empty, not nil, if there are none.
func (g *Register) List(ctx context.Context, by By, all bool) ([]Rule, error) {
	list := []Rule{}
	err := g.DB.View(ctx, func(tx *store.Tx) error {
		where := "WHERE ended = 0"
		if all {
			where = ""
		}
		found, err := query(ctx, tx, where)
		for _, r := range slices.Backward(found) {
			if by.sees(r) && (all || r.State(tx.Now) == "active") {
				list = append(list, r)
			}
		}
		return err
	})
	return list, err
}

// Apply returns the rule that allows a call in a project, and records its use, or returns nil
// if a person has to be asked. has reports whether a person may answer the call's question.
// It runs in the transaction that asks the question.
func (g *Register) Apply(ctx context.Context, tx *store.Tx, c Call, project, question string, has func(name string, roles []string) bool) (*Use, error) {
	found, err := query(ctx, tx, "WHERE ended = 0 AND tool IN (?, ?)", c.Tool, AnyTool)
	if err != nil {
		return nil, err
	}
	var allowing []Rule
	for _, r := range found {
		if r.State(tx.Now) == "expired" {
			if err := expire(ctx, tx, r); err != nil {
				return nil, err
			}
			continue
		}
		if r.Kind == Allow && (r.Project == "" || r.Project == project) {
			allowing = append(allowing, r)
			continue
		}
		marks, err := g.marks(ctx, tx, r, c, project)
		if err != nil {
			return nil, err
		}
		if marks {
			return nil, nil
		}
	}
	for _, r := range allowing {
		p, err := Parse(r.Tool, r.Pattern)
		if err != nil || !p.Allows(c) {
			continue // it was made by another version, or is for other calls
		}
		may, err := g.may(ctx, tx, r, project, has)
		if err != nil {
			return nil, err
		}
		if !may {
			continue
		}
		if _, err := tx.Exec(ctx, "UPDATE rules SET uses = uses + 1, used = ? WHERE id = ?", millis(tx.Now), r.ID); err != nil {
			return nil, fmt.Errorf("record the use of a rule: %w", err)
		}
		return &Use{r.ID, r.Of, r.Made, r.Tool, r.Pattern},
			tx.Audit(store.Record{Who: "rule " + r.ID, Action: "rule.used", Object: question, Detail: "rule of " + r.Of})
	}
	return nil, nil
}

// marks reports whether a rule says that a person is always asked for a call. It counts even
// if its person was removed since: only people take it back.
func (g *Register) marks(ctx context.Context, tx *store.Tx, r Rule, c Call, project string) (bool, error) {
	if r.Kind != Ask || r.Project != "" && r.Project != project {
		return false, nil
	}
	if p, err := ParseMark(r.Tool, r.Pattern); err == nil && !p.Marks(c) {
		return false, nil
	}
	if r.Project != "" || g.Person == nil {
		return true, nil
	}
	now, err := g.Person(ctx, tx, r.Of)
	return !now.Known || now.Boundary.Sees(project) || !now.Answers, err
}

// may reports whether a rule's person could answer the question now, with the person's own
// hands.
func (g *Register) may(ctx context.Context, tx *store.Tx, r Rule, project string, has func(string, []string) bool) (bool, error) {
	var now Person
	if g.Person != nil {
		var err error
		if now, err = g.Person(ctx, tx, r.Of); err != nil {
			return false, err
		}
	}
	switch {
	case !now.Known && !r.owner:
		return false, nil
	case now.Known && (!now.Answers || !now.Boundary.Sees(project) || r.Made.Before(now.Since)):
		return false, nil // one who was removed and added again has to decide again
	}
	return has(r.Of, now.Roles), nil
}

// expire records that a rule's time is over.
func expire(ctx context.Context, tx *store.Tx, r Rule) error {
	if _, err := tx.Exec(ctx, "UPDATE rules SET ended = ? WHERE id = ? AND ended = 0", millis(r.Expires), r.ID); err != nil {
		return fmt.Errorf("expire rule: %w", err)
	}
	return tx.Audit(store.Record{Who: "rule " + r.ID, Action: "rule.expired", Object: r.ID, Detail: "of " + r.Of})
}

// Sweep records which rules have expired.
func (g *Register) Sweep(ctx context.Context) error {
	var due []Rule
	find := func(tx *store.Tx) (err error) {
		due, err = query(ctx, tx, "WHERE ended = 0 AND expires > 0 AND expires <= ?", millis(tx.Now))
		return err
	}
	if err := g.DB.View(ctx, find); err != nil || len(due) == 0 {
		return err
	}
	return g.DB.Update(ctx, func(tx *store.Tx) error {
		if err := find(tx); err != nil { // another process may have been faster
			return err
		}
		for _, r := range due {
			if err := expire(ctx, tx, r); err != nil {
				return err
			}
		}
		return nil
	})
}

func query(ctx context.Context, tx *store.Tx, where string, args ...any) (all []Rule, err error) {
	rows, err := tx.Query(ctx, "SELECT id, kind, person, owner, project, tool, pattern, made, expires, uses, used, ended, ended_by FROM rules "+where+" ORDER BY made, id", args...)
	if err != nil {
		return nil, fmt.Errorf("read rules: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var r Rule
		var owner, made, expires, used, ended int64
		if err := rows.Scan(&r.ID, &r.Kind, &r.Of, &owner, &r.Project, &r.Tool, &r.Pattern, &made, &expires, &r.Uses, &used, &ended, &r.EndedBy); err != nil {
			return nil, fmt.Errorf("read rule: %w", err)
		}
		r.owner, r.Made, r.Expires, r.Used, r.Ended = owner == 1, at(made), at(expires), at(used), at(ended)
		all = append(all, r)
	}
	return all, rows.Err()
}

func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func at(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// ParseLasts reads how long a rule applies: a duration such as 8h or 3d, or never for a rule
// that does not expire, which is 0. Empty is [Lasts].
func ParseLasts(text string) (time.Duration, error) {
	switch text = strings.TrimSpace(text); text {
	case "":
		return Lasts, nil
	case "never":
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if days, isDays := strings.CutSuffix(text, "d"); isDays {
		if n, failed := strconv.Atoi(days); failed == nil && n > 0 && n <= 3650 {
			d, err = time.Duration(n)*24*time.Hour, nil
		}
	}
	if err != nil || d <= 0 {
		return 0, fault.Misuse(fmt.Sprintf("%.40q is not a time that a rule can last", text), "use a duration such as 8h or 3d, or never for a rule that does not expire")
	}
	return d, nil
}
