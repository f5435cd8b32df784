package webpush

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema that the store of [Subscriptions] must be opened with.
func Schema() store.Schema { return store.NewSchema("webpush", migrations) }

// maxSubscriptions is the maximum number of browsers. A person has a few.
const maxSubscriptions = 50

// Subscriptions are the browsers that want messages.
type Subscriptions struct{ DB *store.DB }

// Put adds a browser, or replaces its keys. session is the browser's session; see
// [Subscriptions.DropSession]. The browser belongs to the caller in ctx. Faults: invalid_argument, too_many.
func (s Subscriptions) Put(ctx context.Context, one Subscription, session string) error {
	if err := one.Check(); err != nil {
		return fault.New("invalid_argument", "this browser's subscription cannot be used: "+err.Error(), "subscribe again")
	}
	data, err := json.Marshal(one)
	if err != nil {
		return err
	}
	return s.DB.Update(ctx, func(tx *store.Tx) error {
		var n int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM push_subscriptions WHERE endpoint <> ?", one.Endpoint).Scan(&n); err != nil {
			return fmt.Errorf("count subscriptions: %w", err)
		}
		if n >= maxSubscriptions {
			return fault.New("too_many", fmt.Sprintf("%d browsers are subscribed", n), "turn notifications off in another browser, or sign out there")
		}
		_, err := tx.Exec(ctx, `INSERT INTO push_subscriptions (endpoint, data, session, created_at, person) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (endpoint) DO UPDATE SET data = excluded.data, session = excluded.session, person = excluded.person`,
			one.Endpoint, string(data), session, tx.Now.UnixMilli(), access.Of(ctx).Name)
		if err != nil {
			return fmt.Errorf("write subscription: %w", err)
		}
		return nil
	})
}

// Drop removes a browser.
func (s Subscriptions) Drop(ctx context.Context, endpoint string) error {
	return s.drop(ctx, "endpoint", endpoint)
}

// DropSession removes the browsers of a session that has ended.
func (s Subscriptions) DropSession(ctx context.Context, session string) error {
	return s.drop(ctx, "session", session)
}

// Forget removes a person's browsers, in a transaction of the store.
func Forget(ctx context.Context, tx *store.Tx, person string) error {
	if _, err := tx.Exec(ctx, "DELETE FROM push_subscriptions WHERE person = ?", person); err != nil {
		return fmt.Errorf("delete subscriptions: %w", err)
	}
	return nil
}

// DropAll removes all browsers.
func (s Subscriptions) DropAll(ctx context.Context) error { return s.drop(ctx, "1", 1) }

func (s Subscriptions) drop(ctx context.Context, column string, value any) error {
	return s.DB.Update(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM push_subscriptions WHERE "+column+" = ?", value); err != nil {
			return fmt.Errorf("delete subscription: %w", err)
		}
		return nil
	})
}

// All returns all browsers, the oldest first.
func (s Subscriptions) All(ctx context.Context) (all []Subscription, err error) {
	err = s.DB.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, "SELECT data, person FROM push_subscriptions ORDER BY created_at, endpoint")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var data []byte
			var one Subscription
			if err := rows.Scan(&data, &one.Person); err != nil {
				return err
			}
			if err := json.Unmarshal(data, &one); err != nil {
				return err
			}
			all = append(all, one)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read subscriptions: %w", err)
	}
	return all, nil
}
