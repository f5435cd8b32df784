// Package outbox stores messages that are to be sent to people by e-mail, chats, push
// services and other ways, until they are sent.
//
// A message is stored once, whichever process stores it: its ID is a digest of what makes it
// unique, and receivers that know IDs can recognize a message that arrives twice. Of all
// processes that can send it, one claims it for a short time. If that process dies, another
// one sends the message again. A message is therefore sent at least once.
//
// A failed try is repeated with growing pauses. A message that was refused for good, or that
// could not be sent for a day, is dead: it stays in the list until a person retries or drops
// it, or until it is old.
package outbox

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the tables of this package for [store.Open].
func Schema() store.Schema { return store.NewSchema("outbox", migrations) }

// topic is the feed topic that wakes the processes that send.
const topic = "outbox"

// Codes of faults.
const (
	NoMessage   = "no_message"   // no message has this ID
	AmbiguousID = "ambiguous_id" // several messages have IDs that begin so
	NotDead     = "not_dead"     // a message that was sent or dropped cannot be sent again
	Full        = "outbox_full"  // too many messages wait
)

// State is how far a message is.
type State string

// States of a message.
const (
	Waiting State = "waiting" // to be sent, perhaps again
	Sent    State = "sent"
	Dead    State = "dead"    // given up
	Dropped State = "dropped" // no longer needed: its question ended, or a person dropped it
)

// Limits of the outbox.
const (
	maxWaiting = 10_000
	maxDead    = 1_000 // the oldest beyond are deleted
	maxBody    = 64 << 10
	maxError   = 300
	keepEnded  = 7 * 24 * time.Hour
	keepDead   = 30 * 24 * time.Hour
)

// Message is one message to one receiver. Its JSON is the output of deskhand outbox list.
type Message struct {
	ID  string `json:"id"`
	Way string `json:"way"`
	// To is a person, or the host of an address.
	To      string    `json:"to"`
	Request string    `json:"request,omitempty"`
	Reason  string    `json:"reason"`
	State   State     `json:"state"`
	Tries   int       `json:"tries"`
	Created time.Time `json:"created"`
	Due     time.Time `json:"due,omitzero"` // the next try; zero if there is none
	Ended   time.Time `json:"ended,omitzero"`
	Error   string    `json:"error,omitempty"`

	// Target identifies the receiver's address among those of the way. It is not the
	// address.
	Target string `json:"-"`
	Body   []byte `json:"-"`
	// Remote is the ID that the receiving service gave the message that this one is
	// about, or "" if it gave none.
	Remote string `json:"-"`

	holder string
}

// New is a message to store.
type New struct {
	// Once makes the message unique: a second message with the same text is not stored.
	Once                             string
	Way, Target, To, Request, Reason string
	Body                             []byte
	Due                              time.Time // zero: now
	// Done stores the message as dropped, so that it is not sent later.
	Done bool
}

const idPrefix = "msg_"

// ID returns the ID of a message, given its [New.Once].
func ID(once string) string {
	sum := sha256.Sum256([]byte(once))
	return idPrefix + hex.EncodeToString(sum[:10])
}

// Box is the outbox of a store opened with [Schema]. Its methods may be called concurrently.
type Box struct{ db *store.DB }

// In returns the outbox of a store.
func In(db *store.DB) *Box { return &Box{db} }

// Put stores messages, and returns how many are new. Fails with code [Full].
func (b *Box) Put(ctx context.Context, all ...New) (added int, err error) {
	if len(all) == 0 {
		return 0, nil
	}
	if known, err := b.known(ctx, all); err != nil || known {
		return 0, err
	}
	err = b.db.Update(ctx, func(tx *store.Tx) (err error) {
		added, err = put(ctx, tx, all)
		return err
	})
	if err != nil {
		return 0, err
	}
	return added, nil
}

// known reports whether all messages are stored. Several processes store the same messages;
// those that come late do not queue with the writers.
func (b *Box) known(ctx context.Context, all []New) (known bool, err error) {
	err = b.db.View(ctx, func(tx *store.Tx) error {
		for _, m := range all {
			var n int
			if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM outbox WHERE id = ?", ID(m.Once)).Scan(&n); err != nil {
				return fmt.Errorf("read message: %w", err)
			}
			if n == 0 {
				return nil
			}
		}
		known = true
		return nil
	})
	return known, err
}

func put(ctx context.Context, tx *store.Tx, all []New) (added int, err error) {
	var waiting int
	if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM outbox WHERE state = ?", Waiting).Scan(&waiting); err != nil {
		return 0, fmt.Errorf("count messages: %w", err)
	}
	for _, m := range all {
		state, ended := Waiting, int64(0)
		if m.Done {
			state, ended = Dropped, tx.Now.UnixMilli()
		}
		if waiting+added >= maxWaiting {
			return 0, fault.New(Full, fmt.Sprintf("%d messages wait to be sent", waiting), "list them with \"deskhand outbox list\", and drop those that cannot be sent")
		}
		if len(m.Body) > maxBody {
			return 0, fmt.Errorf("a message by %s has %d bytes; the maximum is %d", m.Way, len(m.Body), maxBody)
		}
		due := tx.Now
		if m.Due.After(due) {
			due = m.Due
		}
		result, err := tx.Exec(ctx, `INSERT INTO outbox (id, way, target, shown, request, reason, body, state, created, since, due, ended)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING`,
			ID(m.Once), m.Way, m.Target, m.To, m.Request, m.Reason, string(m.Body), state, tx.Now.UnixMilli(), due.UnixMilli(), due.UnixMilli(), ended)
		if err != nil {
			return 0, fmt.Errorf("store message: %w", err)
		}
		n, err := result.RowsAffected()
		if err != nil {
			return 0, fmt.Errorf("store message: %w", err)
		}
		added += int(n)
	}
	if added > 0 {
		return added, wake(ctx, tx)
	}
	return 0, nil
}

// wake tells all processes that there is something to send.
func wake(ctx context.Context, tx *store.Tx) error {
	_, err := tx.AppendLatest(ctx, topic, "wake", nil)
	return err
}

const columns = "id, way, target, shown, request, reason, body, state, tries, created, due, ended, error, remote, holder"

func scan(row interface{ Scan(...any) error }) (m Message, err error) {
	var created, due, ended int64
	var body string
	err = row.Scan(&m.ID, &m.Way, &m.Target, &m.To, &m.Request, &m.Reason, &body, &m.State, &m.Tries, &created, &due, &ended, &m.Error, &m.Remote, &m.holder)
	if err != nil {
		return m, fmt.Errorf("read message: %w", err)
	}
	m.Body, m.Created = []byte(body), time.UnixMilli(created).UTC()
	if m.State == Waiting {
		m.Due = time.UnixMilli(due).UTC()
	}
	if ended != 0 {
		m.Ended = time.UnixMilli(ended).UTC()
	}
	return m, nil
}

func query(ctx context.Context, tx *store.Tx, clauses string, args ...any) (all []Message, err error) {
	rows, err := tx.Query(ctx, "SELECT "+columns+" FROM outbox "+clauses, args...)
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		m, err := scan(rows)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, rows.Err()
}

// maxListed is the maximum number of messages in a list.
const maxListed = 1000

// List returns the messages in the given states, the newest first, and at most 1,000. It is
// empty, not nil, if there are none.
func (b *Box) List(ctx context.Context, states ...State) (all []Message, err error) {
	args := []any{}
	for _, s := range states {
		args = append(args, s)
	}
	in := strings.TrimSuffix(strings.Repeat("?, ", len(args)), ", ")
	err = b.db.View(ctx, func(tx *store.Tx) error {
		all, err = query(ctx, tx, "WHERE state IN ("+in+") ORDER BY created DESC, id LIMIT ?", append(args, maxListed)...)
		return err
	})
	if all == nil {
		all = []Message{}
	}
	return all, err
}

// Counts returns the number of messages by way and state.
func (b *Box) Counts(ctx context.Context) (counts map[string]map[State]int, err error) {
	counts = map[string]map[State]int{}
	err = b.db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, "SELECT way, state, COUNT(*) FROM outbox GROUP BY way, state")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var way string
			var state State
			var n int
			if err := rows.Scan(&way, &state, &n); err != nil {
				return err
			}
			if counts[way] == nil {
				counts[way] = map[State]int{}
			}
			counts[way][state] = n
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("count messages: %w", err)
	}
	return counts, nil
}

// leastPart is the length of the shortest part of an ID that names a message.
const leastPart = 4

// idOf returns the ID of the message that a person means: its ID, or at least four characters
// from the start of it, with or without the prefix. Fails with code [AmbiguousID]. If there
// is none, it returns part.
func idOf(ctx context.Context, tx *store.Tx, part string) (string, error) {
	start := idPrefix + strings.ToLower(strings.TrimPrefix(strings.TrimSpace(part), idPrefix))
	if n := len(start) - len(idPrefix); n < leastPart || strings.ContainsFunc(start[len(idPrefix):], func(r rune) bool { return (r < '0' || r > '9') && (r < 'a' || r > 'z') }) {
		return part, nil
	}
	found, err := query(ctx, tx, "WHERE id LIKE ? ORDER BY created DESC LIMIT 2", start+"%")
	switch {
	case err != nil:
		return "", err
	case len(found) == 0:
		return part, nil
	case len(found) > 1:
		return "", fault.New(AmbiguousID, fmt.Sprintf("several messages begin with %.80q, for example %s and %s", part, found[0].ID, found[1].ID), "write more of the ID")
	}
	return found[0].ID, nil
}

// Retry lets a dead message, or one that waits for its next try, be sent now. Its ID may be
// shortened to its first characters. Fails with code [NoMessage], [AmbiguousID] or [NotDead].
func (b *Box) Retry(ctx context.Context, id string) (Message, error) {
	return b.decide(ctx, id, func(tx *store.Tx, m Message) error {
		now := tx.Now.UnixMilli()
		if _, err := tx.Exec(ctx, "UPDATE outbox SET state = ?, tries = 0, since = ?, due = ?, ended = 0 WHERE id = ?", Waiting, now, now, m.ID); err != nil {
			return err
		}
		return wake(ctx, tx)
	})
}

// Drop is like Retry, but ends a dead or waiting message without sending it.
func (b *Box) Drop(ctx context.Context, id string) (Message, error) {
	return b.decide(ctx, id, func(tx *store.Tx, m Message) error {
		_, err := tx.Exec(ctx, "UPDATE outbox SET state = ?, holder = '', until = 0, ended = ? WHERE id = ?", Dropped, tx.Now.UnixMilli(), m.ID)
		return err
	})
}

func (b *Box) decide(ctx context.Context, id string, change func(*store.Tx, Message) error) (m Message, err error) {
	err = b.db.Update(ctx, func(tx *store.Tx) error {
		id, err := idOf(ctx, tx, id)
		if err != nil {
			return err
		}
		m, err = scan(tx.QueryRow(ctx, "SELECT "+columns+" FROM outbox WHERE id = ?", id))
		switch {
		case errors.Is(err, sql.ErrNoRows):
			return fault.New(NoMessage, fmt.Sprintf("there is no message %.80q", id), "list the messages: deskhand outbox list --all")
		case err != nil:
			return err
		case m.State == Sent || m.State == Dropped:
			return fault.New(NotDead, fmt.Sprintf("the message %s is %s", m.ID, m.State), "list the messages that can be sent: deskhand outbox list")
		}
		if err := change(tx, m); err != nil {
			return err
		}
		return tx.Audit(store.Record{Action: "message.decided", Object: m.ID, Detail: m.Way + " to " + m.To})
	})
	return m, err
}

// brief returns an error's text as it is stored.
func brief(err error) string {
	return textutil.Shorten(textutil.OneLine(textutil.Plain(err.Error())), maxError)
}
