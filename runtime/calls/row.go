package calls

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema that a Runner's store must be opened with.
func Schema() store.Schema { return store.NewSchema("calls", migrations) }

// topic is the topic of the events in the feed. Their key is the call's ID.
const topic = "calls"

// The states of a row.
const (
	isRunning   = "running"
	isEnded     = "ended"
	isCancelled = "cancelled"
	isLost      = "lost"
)

// maxOutcome is the maximum size of a stored outcome, in bytes.
const maxOutcome = 16 << 20

// outcome describes how a call ended. At most one of Fault and Lost is set.
type outcome struct {
	Text       []string        `json:"text,omitempty"`
	Structured json.RawMessage `json:"structured,omitempty"`
	Content    json.RawMessage `json:"content,omitempty"`
	Refused    bool            `json:"refused,omitempty"`
	Meta       map[string]any  `json:"meta,omitempty"`
	Envelope   bool            `json:"envelope,omitempty"`
	Fault      *fault.Fault    `json:"fault,omitempty"`
	Lost       string          `json:"-"` // why there will never be an answer
}

func outcomeOf(r contract.Result) (o outcome, err error) {
	o = outcome{Text: r.Text, Content: r.Content, Refused: r.Refused, Meta: r.Meta}
	if r.Structured != nil {
		if o.Structured, err = json.Marshal(r.Structured); err != nil {
			return o, fmt.Errorf("encode answer: %w", err)
		}
	}
	return o, nil
}

func (o outcome) result() (contract.Result, error) {
	r := contract.Result{Text: o.Text, Content: o.Content, Refused: o.Refused, Meta: o.Meta}
	if o.Structured != nil {
		r.Structured = o.Structured
	}
	if o.Fault != nil {
		return r, o.Fault
	}
	return r, nil
}

// handOver returns the response to the request that started the call: the
// outcome if the call has ended, otherwise the call's ID, after writing its row
// to the store.
func (c *running) handOver(ctx context.Context) (contract.Pending, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case <-c.ended:
		if c.outcome.Lost != "" {
			return contract.Pending{}, fault.New("lost", c.outcome.Lost, "")
		}
		result, err := c.outcome.result()
		return contract.Pending{Result: result}, err
	default:
	}
	now := time.Time{}
	err := c.runner.db.Update(ctx, func(tx *store.Tx) error {
		now = tx.Now
		if _, err := tx.Exec(ctx, "DELETE FROM calls WHERE state <> ? AND updated_at < ?", isRunning, now.Add(-c.runner.options.Retention).UnixMilli()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `INSERT INTO calls (id, tool, state, owner, lease, created_at, updated_at, message, asks, outcome)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, '')`, c.id, c.tool.Name, isRunning, c.runner.owner, now.Add(leaseTime).UnixMilli(),
			c.created.UnixMilli(), now.UnixMilli(), c.message, c.askedFor())
		return err
	})
	if err != nil {
		c.cancel()
		return contract.Pending{}, fmt.Errorf("store call of %s: %w", c.tool.Name, err)
	}
	c.row = true
	return contract.Pending{ID: c.id, Message: c.message, Created: c.created, Updated: now, Poll: pollEvery}, nil
}

// pollEvery is the interval at which a client should poll.
const pollEvery = time.Second

func (c *running) askedFor() string {
	raw, _ := json.Marshal(append([]string{}, c.asks...)) // strings never fail to marshal
	return string(raw)
}

// write updates the call's row, if it has one. The caller must hold c.mu. A
// failed write is logged and does not end the call.
func (c *running) write(ctx context.Context) {
	if !c.row {
		return
	}
	err := c.runner.db.UpdateFast(ctx, func(tx *store.Tx) error {
		done, err := tx.Exec(ctx, "UPDATE calls SET updated_at = ?, message = ?, asks = ? WHERE id = ? AND state = ?",
			tx.Now.UnixMilli(), c.message, c.askedFor(), c.id, isRunning)
		if err != nil {
			return err
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return err
		}
		_, err = tx.AppendLatest(ctx, topic, c.id, []byte(isRunning))
		return err
	})
	if err != nil {
		c.runner.options.Log.Warn("cannot store a call's state", "call_id", c.id, "error", err)
	}
}

func (c *running) waitFor(ctx context.Context, request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks = append(c.asks, request)
	select {
	case <-c.asked:
	default:
		close(c.asked)
	}
	c.write(ctx)
}

func (c *running) waitNoMore(ctx context.Context, request string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asks = slices.DeleteFunc(c.asks, func(id string) bool { return id == request })
	c.write(ctx)
}

// endTime is the timeout for writing a call's outcome.
const endTime = 30 * time.Second

// end stores the outcome. A row that is no longer running stays unchanged: the
// call has been cancelled or marked as lost.
func (c *running) end(o outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	o.Envelope = c.tool.Envelope
	c.outcome = o
	close(c.ended)
	if !c.row {
		return
	}
	raw, err := json.Marshal(o)
	if err == nil && len(raw) > maxOutcome {
		o.Lost = fmt.Sprintf("the answer has %d bytes; at most %d bytes can be stored", len(raw), maxOutcome)
	}
	if err != nil {
		o = c.broken(err)
	}
	state, message := isEnded, ""
	if o.Lost != "" {
		state, message, raw = isLost, o.Lost, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), endTime)
	defer cancel()
	err = c.runner.db.Update(ctx, func(tx *store.Tx) error {
		return endRow(ctx, tx, c.id, state, message, string(raw))
	})
	if err != nil { // the call counts as lost when its lease expires
		c.runner.options.Log.Error("cannot store a call's outcome", "call_id", c.id, "tool", c.tool.Name, "error", err)
	}
}

// endRow ends a call's row if it is running.
func endRow(ctx context.Context, tx *store.Tx, id, state, message, outcome string) error {
	done, err := tx.Exec(ctx, "UPDATE calls SET state = ?, updated_at = ?, message = ?, asks = '[]', outcome = ? WHERE id = ? AND state = ?",
		state, tx.Now.UnixMilli(), message, outcome, id, isRunning)
	if err != nil {
		return fmt.Errorf("end call: %w", err)
	}
	if n, err := done.RowsAffected(); err != nil || n == 0 {
		return err
	}
	_, err = tx.AppendLatest(ctx, topic, id, []byte(state))
	return err
}

// row is a call's row in the store.
type row struct {
	id, state, message string
	lease              time.Time
	created, updated   time.Time
	asks               []string
	outcome            string
}

func readRow(ctx context.Context, tx *store.Tx, id string) (r row, err error) {
	var lease, created, updated int64
	var asks string
	r.id = id
	err = tx.QueryRow(ctx, "SELECT state, message, lease, created_at, updated_at, asks, outcome FROM calls WHERE id = ?", id).
		Scan(&r.state, &r.message, &lease, &created, &updated, &asks, &r.outcome)
	if errors.Is(err, sql.ErrNoRows) {
		return r, contract.NoCall()
	}
	if err == nil {
		err = json.Unmarshal([]byte(asks), &r.asks)
	}
	if err != nil {
		return r, fmt.Errorf("read call: %w", err)
	}
	r.lease, r.created, r.updated = time.UnixMilli(lease), time.UnixMilli(created), time.UnixMilli(updated)
	return r, nil
}
