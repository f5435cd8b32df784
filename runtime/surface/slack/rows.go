package slack

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema that the store of a Surface must be opened with.
func Schema() store.Schema { return store.NewSchema(Channel, migrations) }

// posted records the message for a request.
type posted struct {
	channel string // Slack's channel ID
	ts      string // Slack's message ID; empty if the message may not exist
	begun   time.Time
	says    string // digest of the message's content
	final   bool
}

// begin records that a message is about to be posted. If this is the first try,
// fresh is true. Otherwise, begin returns the earlier record.
func begin(ctx context.Context, db *store.DB, request, channel string) (p posted, fresh bool, err error) {
	err = db.Update(ctx, func(tx *store.Tx) error {
		found, there, err := read(ctx, tx, request)
		if err != nil || there {
			p = found
			return err
		}
		p, fresh = posted{channel: channel, begun: tx.Now}, true
		_, err = tx.Exec(ctx, "INSERT INTO slack_messages (request, channel, ts, begun, says, final) VALUES (?, ?, ?, ?, ?, 0)",
			request, channel, "", tx.Now.UnixMilli(), "")
		return err
	})
	if err != nil {
		return posted{}, false, fmt.Errorf("record message: %w", err)
	}
	return p, fresh, nil
}

func read(ctx context.Context, tx *store.Tx, request string) (p posted, there bool, err error) {
	var begun int64
	err = tx.QueryRow(ctx, "SELECT channel, ts, begun, says, final FROM slack_messages WHERE request = ?", request).
		Scan(&p.channel, &p.ts, &begun, &p.says, &p.final)
	if errors.Is(err, sql.ErrNoRows) {
		return posted{}, false, nil
	}
	p.begun = time.UnixMilli(begun)
	return p, err == nil, err
}

// load reads the record of a request's message. there is false if there is no
// record.
func load(ctx context.Context, db *store.DB, request string) (p posted, there bool, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		p, there, err = read(ctx, tx, request)
		return err
	})
	if err != nil {
		return posted{}, false, fmt.Errorf("read message: %w", err)
	}
	return p, there, nil
}

// save updates a message record.
func save(ctx context.Context, db *store.DB, request string, p posted) error {
	final := 0
	if p.final {
		final = 1
	}
	err := db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "UPDATE slack_messages SET ts = ?, says = ?, final = ? WHERE request = ?", p.ts, p.says, final, request)
		return err
	})
	if err != nil {
		return fmt.Errorf("record message: %w", err)
	}
	return nil
}

// unfinished returns the requests whose message may still change.
func unfinished(ctx context.Context, db *store.DB) (ids []string, err error) {
	err = db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, "SELECT request FROM slack_messages WHERE final = 0")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id string
			if err := rows.Scan(&id); err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read messages: %w", err)
	}
	return ids, nil
}

// forget deletes the record of a message whose request is no longer in the
// history.
func forget(ctx context.Context, db *store.DB, request string) error {
	err := db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM slack_messages WHERE request = ?", request)
		return err
	})
	if err != nil {
		return fmt.Errorf("delete message: %w", err)
	}
	return nil
}
