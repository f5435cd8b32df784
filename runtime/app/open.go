// Package app opens a deskhand installation and connects its parts. It opens the store,
// the hub, the manager and the index, each only once, and passes them to the servers.
//
// [Open] is cheap. The store, the question hub, the attempt manager and the index
// open on first use, and [App.Close] closes them in a fixed order. No other
// package opens the store.
package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/a2a"
	"github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/rules"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/webpush"
)

// App is an open installation. Its methods may be called concurrently.
type App struct {
	config Config
	log    *slog.Logger

	mu    sync.Mutex
	ended bool // closed for good
	db    *store.DB
	hub   *elicit.Hub // nil until open
	tell  func()      // sends the last spans
	key   []byte      // set by stateKey on first use

	working   sync.Mutex // lock before mu
	workEnded bool
	manager   *tasks.Manager // nil until open
	closing   sync.Once
	// sending holds one token while this process sends the messages of the outbox.
	sending chan struct{}
	// pushClient sends push messages in tests. If nil, they go only to the internet.
	pushClient *http.Client
	// serveAttempt is [tasks.Options.Serve]. Only a runner sets it.
	serveAttempt func(ctx context.Context, attempt tasks.Attempt, process tasks.Process) (url, token string, stop func(), err error)
}

// Open returns an installation configured by c. It opens nothing yet.
func Open(c Config) *App {
	a := &App{config: c, log: c.Log, sending: make(chan struct{}, 1)}
	if a.log == nil {
		a.log = slog.New(slog.DiscardHandler)
	}
	return a
}

// Close closes the manager, the hub and the store, if they are open, and returns when
// they have ended. Calling it again has no effect.
func (a *App) Close() { a.closing.Do(a.close) }

// close holds no lock while it waits, because a part that is closing may still
// use another part that closes later.
func (a *App) close() {
	a.working.Lock()
	m := a.manager
	a.manager, a.workEnded = nil, true
	a.working.Unlock()
	if m != nil {
		m.Close()
	}
	a.mu.Lock()
	hub, db, tell := a.hub, a.db, a.tell
	a.hub, a.db, a.ended = nil, nil, true
	a.mu.Unlock()
	if hub == nil {
		return
	}
	hub.Close()
	if err := db.Close(); err != nil {
		a.log.Warn("cannot close the store", "error", err)
	}
	tell()
}

// Store returns the store, with every package's tables.
func (a *App) Store(ctx context.Context) (*store.DB, error) {
	_, db, err := a.open(ctx)
	return db, err
}

// Hub returns the question hub.
func (a *App) Hub(ctx context.Context) (*elicit.Hub, error) {
	hub, _, err := a.open(ctx)
	return hub, err
}

// open fails with [elicit.ErrClosed] after Close.
func (a *App) open(ctx context.Context) (*elicit.Hub, *store.DB, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.ended:
		return nil, nil, elicit.ErrClosed
	case a.hub != nil:
		return a.hub, a.db, nil
	}
	place, err := a.config.Place.Get()
	if err != nil {
		return nil, nil, err
	}
	options, tell, err := a.hubOptions()
	if err != nil {
		return nil, nil, err
	}
	db, err := a.openStore(ctx, place)
	if err != nil {
		tell()
		return nil, nil, err
	}
	if err := known(ctx, db, a.config.Person); err != nil {
		tell()
		return nil, nil, errors.Join(err, db.Close())
	}
	options.Rules = rulesOf(db)
	a.db, a.hub, a.tell = db, elicit.New(db, options), tell
	return a.hub, db, nil
}

// storeTries is how long a server waits before it tries again to open its store.
const storeTries = time.Second

// storeComes waits until the store can be opened, because a server may start before its
// database. It returns false if ctx or the installation ends before that.
func (a *App) storeComes(ctx context.Context) bool {
	for told := false; ; told = true {
		_, _, err := a.open(ctx)
		switch {
		case err == nil:
			return true
		case ctx.Err() != nil, errors.Is(err, elicit.ErrClosed):
			return false
		case !told:
			a.log.Warn("cannot open the store, and people are not notified until it can be opened", "error", err)
		}
		pause(ctx, storeTries)
	}
}

// openStore opens a store with every package's tables.
func (a *App) openStore(ctx context.Context, place string) (*store.DB, error) {
	db, err := store.Open(ctx, place, schemas()...)
	if err != nil {
		return nil, err
	}
	who := a.config.Person
	if a.config.Attempt != "" {
		who = "attempt " + a.config.Attempt
	}
	db.SetActor(cmp.Or(who, elicit.Local), a.config.Command)
	return db, nil
}

// schemas returns the tables of every package.
func schemas() []store.Schema {
	all := append(tasks.Schemas(), elicit.Schema(), gateway.Schema(), calls.Schema(), a2a.Schema(), people.Schema(), rules.Schema())
	return append(append(all, webpush.Schema(), outbox.Schema()), surface.Schemas()...)
}

// host returns this machine's ID if several machines may share the store. If it is "", every
// address counts as this machine's.
func (a *App) host() string {
	place, err := a.config.Place.Get()
	if err != nil || !store.IsPostgres(place) {
		return ""
	}
	o, err := a.config.Tasks.Get()
	if err != nil {
		return ""
	}
	id, err := tasks.MachineID(o.Dir)
	if err != nil {
		a.log.Warn("this machine has no ID", "error", err)
	}
	return id
}

// ownHub returns a separate hub that uses the same store, for a caller that closes the
// hub before the installation closes.
func (a *App) ownHub(ctx context.Context) (hub *elicit.Hub, stop func(), err error) {
	_, db, err := a.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	options, tell, err := a.hubOptions()
	if err != nil {
		return nil, nil, err
	}
	options.Rules = rulesOf(db)
	hub = elicit.New(db, options)
	return hub, sync.OnceFunc(func() { hub.Close(); tell() }), nil
}

// Work returns the attempt manager.
func (a *App) Work(ctx context.Context) (*tasks.Manager, error) {
	a.working.Lock()
	defer a.working.Unlock()
	switch {
	case a.workEnded:
		return nil, elicit.ErrClosed
	case a.manager != nil:
		return a.manager, nil
	}
	m, err := a.newManager(ctx)
	if err != nil {
		return nil, err
	}
	a.manager = m
	return m, nil
}

func (a *App) newManager(ctx context.Context) (*tasks.Manager, error) {
	o, err := a.config.Tasks.Get()
	if err != nil {
		return nil, err
	}
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	o.Person = a.config.Person
	o.Log, o.Questions, o.FollowQuestions, o.Serve, o.Ask, o.TurnEnded = a.log, a.count, a.followQuestions, a.serveAttempt, a.ask, a.turnEnded
	o.ForgeToken = a.forgeToken
	return tasks.New(db, o), nil
}

// stateKey returns the key that authenticates the state that clients carry from one call
// to the next. It is the same for all servers that use the same store. stateKey opens
// the store, because a client may return to a restarted server before any other call has
// opened it.
func (a *App) stateKey() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	db, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.key == nil {
		key, err := sharedKey(ctx, db, "key/request-state")
		if err != nil {
			return nil, err
		}
		a.key = []byte(key)
	}
	return a.key, nil
}

// sharedKey returns a secret that all processes that use a store share. It is stored as
// the data of a lease, which outlives its holder. The first holder of the lease generates
// it.
func sharedKey(ctx context.Context, db *store.DB, name string) (string, error) {
	self := store.Lease{Name: name, Holder: rand.Text()}
	for {
		l, held, err := db.Claim(ctx, self, 5*time.Second)
		if err == nil && held && l.Data == "" {
			self.Data = rand.Text() + rand.Text()
			l, held, err = db.Claim(ctx, self, 5*time.Second)
		}
		if err != nil {
			return "", err
		}
		if held {
			err = db.Release(ctx, name, self.Holder)
		}
		if l.Data != "" {
			return l.Data, err
		}
		select { // another process is generating it
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}
