package elicit

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema that a Hub's store must be opened with.
func Schema() store.Schema { return store.NewSchema("elicit", migrations) }

// readRequest returns the request, or nil if there is none that the caller knows of.
func readRequest(ctx context.Context, tx *store.Tx, id string) (*Request, error) {
	requests, err := queryRequests(ctx, tx, "WHERE id = ?", id)
	if err != nil || len(requests) == 0 || !inside(access.Of(ctx), &requests[0]) {
		return nil, err
	}
	return &requests[0], nil
}

// queryRequests reads the requests that the clauses select.
func queryRequests(ctx context.Context, tx *store.Tx, clauses string, args ...any) ([]Request, error) {
	rows, err := tx.Query(ctx, "SELECT data, person FROM requests "+clauses, args...)
	if err != nil {
		return nil, fmt.Errorf("read requests: %w", err)
	}
	defer rows.Close()
	var requests []Request
	for rows.Next() {
		var data []byte
		var person string
		if err := rows.Scan(&data, &person); err != nil {
			return nil, fmt.Errorf("read request: %w", err)
		}
		r, err := decodeRequest(data, person)
		if err != nil {
			return nil, err
		}
		requests = append(requests, r)
	}
	return requests, rows.Err()
}

// decodeRequest decodes a row. person is its column, which changes when the name is given to
// another person: see [Hub.Retire].
func decodeRequest(data []byte, person string) (r Request, err error) {
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("decode request: %w", err)
	}
	if was := r.Source.Person; was != person && was != "" {
		if before, ok := strings.CutSuffix(r.Source.Owner, was); ok { // the caller's principal, which has the name
			r.Source.Owner = before + person
		}
		r.Source.Person = person
	}
	return r, nil
}

// writeRequest replaces old with next. Either may be nil.
func writeRequest(ctx context.Context, tx *store.Tx, old, next *Request) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write request: %w", err)
		}
	}()
	if next == nil {
		if _, err = tx.Exec(ctx, "DELETE FROM request_notices WHERE request = ?", old.ID); err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM requests WHERE id = ?", old.ID)
		}
		return err
	}
	data, err := json.Marshal(next)
	if err != nil {
		return err
	}
	if old != nil {
		change := changeOf(next, data)
		_, err = tx.Exec(ctx, change.Query, change.Args...)
		return err
	}
	c := next.Context
	_, err = tx.Exec(ctx, `INSERT INTO requests (status, rank, asker, asker_gone, deadline, ended_at, uncollected, held, route, data,
		id, asked, source, session, conversation, attempt, turn, once, digest, project, person)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		append(next.columns(data), next.ID, tx.Seq+1, next.Source.Name, c.SessionID, c.ConversationID, c.AttemptID, c.TurnID,
			sql.NullString{String: onceKey(*next), Valid: next.Key != ""}, digest(*next), c.ProjectID, next.Source.Person)...)
	return err
}

// columns returns the values of the columns that change with a request. data is the
// request as JSON.
func (r *Request) columns(data []byte) []any {
	return []any{r.Status, slices.Index(priorities, r.Priority), r.Asker, bit(r.AskerGone), milliseconds(r.Deadline),
		milliseconds(r.endedAt()), bit(r.Undelivered()), milliseconds(r.heldUntil()), milliseconds(r.routeAt()), string(data)}
}

// changeOf returns the statement that replaces a request's row by next.
func changeOf(next *Request, data []byte) store.Statement {
	return store.Statement{Query: `UPDATE requests SET status = ?, rank = ?, asker = ?, asker_gone = ?, deadline = ?,
		ended_at = ?, uncollected = ?, held = ?, route = ?, data = ? WHERE id = ?`, Args: append(next.columns(data), next.ID), Rows: 1}
}

func (r *Request) endedAt() Time {
	if r.Completion == nil {
		return Time{}
	}
	return r.Completion.At
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// milliseconds returns t in Unix milliseconds, or NULL for the zero time.
func milliseconds(t Time) sql.NullInt64 {
	return sql.NullInt64{Int64: t.UnixMilli(), Valid: !t.IsZero()}
}

// onceKey returns a key that is unique for each trigger, so different ways of
// asking do not collide.
func onceKey(r Request) string { return string(r.Trigger) + "/" + r.Key }

// digest returns the same string for requests that ask the same question from the
// same source. It does not include question IDs, because they may have been
// generated.
func digest(r Request) string {
	h := sha256.New()
	parts := []string{r.Source.Kind, r.Source.Name, r.Title, r.Message, r.URL}
	if r.Source.Owner != "" { // requests from earlier releases have no owner
		parts = append(parts, r.Source.Owner)
	}
	for _, part := range parts {
		fmt.Fprintf(h, "%q\n", part)
	}
	for _, q := range r.Questions {
		fmt.Fprintf(h, "%q %s\n", q.Message, q.Kind)
		for _, o := range q.Options {
			fmt.Fprintf(h, "  %q %q\n", o.ID, o.Label)
		}
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Filter selects requests. The zero value selects the requests that are waiting
// for a person: open requests, and expired requests whose asker is still waiting
// or may come back.
type Filter struct {
	// Statuses to list. If nil: Open, and ExpiredOpen unless its asker is gone.
	Statuses []Status
	// If not empty, these must match.
	Source, SessionID, ConversationID, AttemptID, TurnID string
	// Undelivered selects only requests that a person ended and whose outcome no
	// live call of the asker has received.
	Undelivered bool
	// OfAttempts selects only requests that belong to an attempt.
	OfAttempts bool
	// Limit is the page size, at most 1,000. If 0, it is 100.
	Limit int
	// Offset is the number of requests to skip, for the next page.
	Offset int
}

// List is a page of requests.
type List struct {
	Requests []Request
	More     bool // another page follows
	// Seq is the feed position of this state. Watch from there.
	Seq int64
}

const mostListed = 1000

// query converts a filter to clauses. Requests that are waiting for a person come
// in the order in which to answer them: open before expired, then requests whose
// asker is waiting before those whose asker left, then by urgency, then oldest
// first. History is newest first.
func (f Filter) query(c access.Caller) (clauses string, args []any) {
	order := "asked DESC"
	if f.Statuses == nil {
		order = "status DESC, asker_gone, rank DESC, asked"
	}
	where, args := f.where(c)
	return where + " ORDER BY " + order + " LIMIT ? OFFSET ?", append(args, f.limit()+1, max(f.Offset, 0))
}

// where returns the WHERE clause of a filter, without paging.
func (f Filter) where(c access.Caller) (clause string, args []any) {
	var where []string
	if f.Statuses == nil {
		f.Statuses = []Status{Open, ExpiredOpen}
		where = append(where, "(status = '"+string(Open)+"' OR asker_gone = 0)")
	}
	status := "status"
	if slices.Contains(f.Statuses, Completed) {
		status = "status || ''" // prevents the use of the index: nearly all rows have this status, so all rows would be read and sorted for one page
	}
	where = append(where, status+" IN (?"+strings.Repeat(", ?", max(len(f.Statuses)-1, 0))+")")
	for _, s := range f.Statuses {
		args = append(args, s)
	}
	if len(f.Statuses) == 0 {
		args = append(args, "")
	}
	if f.Undelivered {
		where = append(where, "uncollected = 1")
	}
	if f.OfAttempts {
		where = append(where, "attempt <> ''")
	}
	for _, one := range []struct{ column, value string }{
		{"source", f.Source}, {"session", f.SessionID}, {"conversation", f.ConversationID}, {"attempt", f.AttemptID}, {"turn", f.TurnID},
	} {
		if one.value != "" {
			where, args = append(where, one.column+" = ?"), append(args, one.value)
		}
	}
	if condition, more := insideRows(c); condition != "" {
		where, args = append(where, condition), append(args, more...)
	}
	return "WHERE " + strings.Join(where, " AND "), args
}

func (f Filter) limit() int {
	if f.Limit <= 0 {
		return 100
	}
	return min(f.Limit, mostListed)
}

func listRequests(ctx context.Context, tx *store.Tx, f Filter) (List, error) {
	clauses, args := f.query(access.Of(ctx))
	requests, err := queryRequests(ctx, tx, clauses, args...)
	list := List{Requests: requests, Seq: tx.Seq}
	if len(requests) > f.limit() {
		list.Requests, list.More = requests[:f.limit()], true
	}
	return list, err
}

func countRequests(ctx context.Context, tx *store.Tx, f Filter) (n int, err error) {
	clause, args := f.where(access.Of(ctx))
	if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM requests "+clause, args...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	return n, nil
}

// requestIDs reads the IDs that the clauses select.
func requestIDs(ctx context.Context, tx *store.Tx, clauses string, args ...any) (ids []string, err error) {
	rows, err := tx.Query(ctx, "SELECT id FROM requests "+clauses, args...)
	if err != nil {
		return nil, fmt.Errorf("read request ids: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var id string
		if err := rows.Scan(&id); err != nil {
			return nil, fmt.Errorf("read request id: %w", err)
		}
		ids = append(ids, id)
	}
	return ids, rows.Err()
}

// askedSince returns the number of requests that a source has opened since the
// given time, according to their IDs.
func askedSince(ctx context.Context, tx *store.Tx, s Source, since time.Time) (n int, err error) {
	if err = tx.QueryRow(ctx, "SELECT COUNT(*) FROM requests WHERE id >= ? AND source = ?", idAt(since, [10]byte{}), s.Name).Scan(&n); err != nil {
		return 0, fmt.Errorf("count requests: %w", err)
	}
	return n, nil
}

// nextDeadline returns the earliest deadline of open requests, or zero if there is
// none.
func nextDeadline(ctx context.Context, tx *store.Tx) (time.Time, error) {
	return earliest(ctx, tx, "SELECT MIN(deadline) FROM requests WHERE status = ?", Open)
}

// earliest reads a time in milliseconds, or zero if there is none.
func earliest(ctx context.Context, tx *store.Tx, query string, args ...any) (time.Time, error) {
	var at sql.NullInt64
	err := tx.QueryRow(ctx, query, args...).Scan(&at)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return time.Time{}, fmt.Errorf("read deadlines: %w", err)
	}
	if !at.Valid {
		return time.Time{}, nil
	}
	return time.UnixMilli(at.Int64), nil
}
