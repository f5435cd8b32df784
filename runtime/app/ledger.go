package app

import (
	"context"
	"crypto/rand"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/store"
)

// App implements [web.Ledger]. Its store holds a lease for each used link and for
// each ended session. A lease expires when the record is no longer needed.

// Names of leases. endedSession is followed by a session ID. The data of signedOut is the
// time from which sessions are valid, in Unix milliseconds.
const (
	endedSession = "session-ended/"
	signedOut    = "sessions-since"
)

// MostSession is how long browsers keep a session cookie.
const MostSession = 400 * 24 * time.Hour

// Once implements [web.Ledger].
func (a *App) Once(ctx context.Context, id string, until time.Time) (bool, error) {
	db, err := a.Store(ctx)
	if err != nil {
		return false, err
	}
	_, first, err := db.Claim(ctx, store.Lease{Name: "once/" + id, Holder: rand.Text(), Once: true}, time.Until(until))
	return first, err
}

// claim takes a lease and adds a record to the audit log.
func (a *App) claim(ctx context.Context, l store.Lease, until time.Time, r store.Record) error {
	db, err := a.Store(ctx)
	if err != nil {
		return err
	}
	return db.Update(ctx, func(tx *store.Tx) error {
		if _, _, err := tx.Claim(ctx, l, time.Until(until)); err != nil {
			return err
		}
		return tx.Audit(r)
	})
}

// Note implements [web.Ledger]. A wrong token alone does not open the store, because a server
// of docs needs none.
func (a *App) Note(ctx context.Context, action, who, how, outcome string) {
	a.mu.Lock()
	db := a.db
	a.mu.Unlock()
	var err error
	if db == nil && how == access.ByToken {
		return
	}
	if db == nil {
		db, err = a.Store(ctx)
	}
	if err == nil {
		err = db.Audit(ctx, store.Record{Who: who, Way: how, Action: action, Outcome: outcome})
	}
	if err != nil {
		a.log.Error("cannot write the audit log", "action", action, "error", err)
	}
}

// End implements [web.Ledger].
func (a *App) End(ctx context.Context, session string, until time.Time) error {
	err := a.claim(ctx, store.Lease{Name: endedSession + session, Holder: "browser"}, until, store.Record{Action: "session.ended"})
	if err != nil {
		return err
	}
	subscribed, err := a.subscriptions(ctx)
	if err != nil {
		return err
	}
	return subscribed.DropSession(ctx, session)
}

// EndAll ends every session that began before now, and every link and invitation that would
// begin one.
func (a *App) EndAll(ctx context.Context) error {
	now := time.Now()
	err := a.claim(ctx, store.Lease{Name: signedOut, Holder: "person", Data: strconv.FormatInt(now.UnixMilli(), 10)}, now.Add(MostSession), store.Record{Action: "session.ended", Detail: "all browsers, unused links and invitations"})
	if err != nil {
		return err
	}
	r, err := a.Register(ctx)
	if err != nil {
		return err
	}
	subscribed, err := a.subscriptions(ctx)
	if err != nil {
		return err
	}
	return errors.Join(r.EndInvitations(ctx), subscribed.DropAll(ctx))
}

// Ended implements [web.Ledger].
func (a *App) Ended(ctx context.Context) (ended func(session string, began time.Time) bool, err error) {
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	one, all := map[string]bool{}, func(time.Time) bool { return false }
	err = db.View(ctx, func(tx *store.Tx) error {
		leases, err := tx.Leases(ctx, "session")
		for _, l := range leases {
			if id, found := strings.CutPrefix(l.Name, endedSession); found {
				one[id] = true
			} else if l.Name == signedOut {
				since, err := strconv.ParseInt(l.Data, 10, 64)
				all = func(began time.Time) bool { return err != nil || began.UnixMilli() <= since }
			}
		}
		return err
	})
	return func(session string, began time.Time) bool { return one[session] || all(began) }, err
}
