package store

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
)

// Record is a row of the audit log: who did what to what, when, from where, and with what
// outcome. It holds neither secrets nor answers.
type Record struct {
	Seq int64     `json:"seq"` // from 1
	At  time.Time `json:"at"`
	// Who is a person's name, "local" for the owner of the installation, "agents" for a
	// program with the agents' token, "attempt ID" for an agent in an attempt, or
	// "stranger".
	Who   string `json:"who"`
	Token string `json:"token,omitempty"` // ID of the named token
	Host  string `json:"host"`
	// Way is how the caller proved who it is, see [access.Caller], or the command that the
	// caller ran.
	Way     string `json:"way"`
	Address string `json:"address,omitempty"`
	Action  string `json:"action"` // for example "question.answered"
	Object  string `json:"object,omitempty"`
	Outcome string `json:"outcome"` // "ok" unless the action has several
	Detail  string `json:"detail,omitempty"`
}

// Outcomes of records.
const (
	Done    = "ok"
	Refused = "refused"
)

// longestDetail is the maximum size of a record's object and detail in bytes.
const longestDetail = 500

var hostname = sync.OnceValue(func() string { name, _ := os.Hostname(); return name })

// SetActor sets who uses this process's store and with which command, for records of what
// no request asks for. It must be called before anything else uses the store.
func (db *DB) SetActor(who, way string) { db.actor = Record{Who: who, Way: way} }

// from fills in who made the change, from the request of ctx or else from the process.
func (r Record) from(ctx context.Context, actor Record) Record {
	c, of := access.Of(ctx), actor
	if access.Known(ctx) {
		of = Record{Who: c.Name, Token: c.Token, Way: cmp.Or(c.How, "http"), Address: c.Address}
		if of.Who == "" {
			of.Who = [...]string{"stranger", "agents", "local"}[c.Level]
		}
	}
	if r.Who == "" {
		r.Who = cmp.Or(of.Who, "local")
	}
	r.Token, r.Way, r.Address, r.Host = cmp.Or(r.Token, of.Token), cmp.Or(r.Way, of.Way), cmp.Or(r.Address, of.Address), hostname()
	r.Outcome = cmp.Or(r.Outcome, Done)
	r.Object, r.Detail = clip(r.Object), clip(r.Detail)
	return r
}

// clip returns s without the characters that end a line or that PostgreSQL refuses, and
// not longer than longestDetail.
func clip(s string) string {
	s = strings.Map(func(c rune) rune {
		if c < ' ' {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > longestDetail {
		s = strings.ToValidUTF8(s[:longestDetail], "")
	}
	return s
}

// The subquery is safe because only one transaction writes at a time.
const insertAudit = `INSERT INTO audit (seq, at, who, token, host, way, address, action, object, outcome, detail)
	VALUES ((SELECT COALESCE(MAX(seq), 0) + 1 FROM audit), ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

func (r Record) args(at time.Time) []any {
	return []any{at.UnixMilli(), r.Who, r.Token, r.Host, r.Way, r.Address, r.Action, r.Object, r.Outcome, r.Detail}
}

// Audit adds a record to the audit log, within the transaction of the change. What is empty
// of Who, Token, Way and Address is filled in from the request that the context of the
// Update belongs to, or else from the process. Seq, At and Host are ignored.
func (tx *Tx) Audit(r Record) error {
	if _, err := tx.Exec(tx.ctx, insertAudit, r.from(tx.ctx, tx.db.actor).args(tx.Now)...); err != nil {
		return fmt.Errorf("write audit log: %w", err)
	}
	return nil
}

// Audit adds a record of something that is not in the store, for example a wrong key.
func (db *DB) Audit(ctx context.Context, r Record) error {
	return db.Update(ctx, func(tx *Tx) error { return tx.Audit(r) })
}

// Audited returns the statement that adds a record, for a [Plan] that is made at the given
// time.
func (db *DB) Audited(ctx context.Context, r Record, at time.Time) Statement {
	return Statement{Query: insertAudit, Args: r.from(ctx, db.actor).args(at), Rows: 1}
}

// AuditFilter selects records.
type AuditFilter struct {
	After int64     // only records with a higher Seq
	Since time.Time // zero: all
	Who   string    // in upper or lower case; empty: all
	Limit int       // at most this many, the oldest first; 0: all
}

// AuditLog returns records, the oldest first.
func (db *DB) AuditLog(ctx context.Context, f AuditFilter) (all []Record, err error) {
	query := "SELECT seq, at, who, token, host, way, address, action, object, outcome, detail FROM audit WHERE seq > ? AND at >= ?"
	since := int64(0)
	if !f.Since.IsZero() {
		since = f.Since.UnixMilli()
	}
	args := []any{f.After, since}
	if f.Who != "" {
		query, args = query+" AND LOWER(who) = LOWER(?)", append(args, f.Who)
	}
	if f.Limit > 0 {
		query, args = query+" ORDER BY seq LIMIT ?", append(args, f.Limit)
	} else {
		query += " ORDER BY seq"
	}
	return all, db.View(ctx, func(tx *Tx) error {
		rows, err := tx.Query(ctx, query, args...)
		if err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
		defer rows.Close()
		for rows.Next() {
			var r Record
			var at int64
			if err := rows.Scan(&r.Seq, &at, &r.Who, &r.Token, &r.Host, &r.Way, &r.Address, &r.Action, &r.Object, &r.Outcome, &r.Detail); err != nil {
				return fmt.Errorf("read audit log: %w", err)
			}
			r.At = time.UnixMilli(at).UTC()
			all = append(all, r)
		}
		return rows.Err()
	})
}

// PruneAudit deletes the records that are older than the given time, and adds a record of
// that.
func (db *DB) PruneAudit(ctx context.Context, before time.Time) (removed int64, err error) {
	err = db.Update(ctx, func(tx *Tx) error {
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM audit WHERE at < ?", before.UnixMilli()).Scan(&removed); err != nil {
			return fmt.Errorf("read audit log: %w", err)
		}
		// The record is written first, so that the numbers continue.
		if err := tx.Audit(Record{Action: "audit.pruned", Detail: fmt.Sprintf("%d records before %s", removed, before.UTC().Format(time.RFC3339))}); err != nil {
			return err
		}
		if err := tx.openAudit(ctx, before.UnixMilli()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "DELETE FROM audit WHERE at < ? AND seq < (SELECT MAX(seq) FROM audit)", before.UnixMilli())
		if err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM audit_pruning")
		}
		if err != nil {
			return fmt.Errorf("prune audit log: %w", err)
		}
		return nil
	})
	return removed, err
}

// openAudit allows this transaction to delete records that are older than before.
func (tx *Tx) openAudit(ctx context.Context, before int64) error {
	if _, err := tx.Exec(ctx, "INSERT INTO audit_pruning (before) VALUES (?)", before); err != nil {
		return fmt.Errorf("open audit log: %w", err)
	}
	return nil
}

// ReplaceAll allows this transaction to delete the whole audit log, because another store
// takes the place of this one. The transaction must also empty the table audit_pruning.
func (tx *Tx) ReplaceAll(ctx context.Context) error { return tx.openAudit(ctx, math.MaxInt64) }
