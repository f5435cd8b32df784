package main

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"strings"
	"sync"
	"time"

	callroom "github.com/deskhand/deskhand/runtime/calls"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/gateway"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web"
)

// place is where questions and answers are kept: the setting, or else the state
// folder.
func (s *settings) place() (string, error) {
	if place := s.get("store"); place != "" {
		if strings.Contains(place, "://") && !store.IsPostgres(place) {
			return "", misuse("store is an address, and not one of PostgreSQL", "name a folder, or postgres://USER@HOST/DATABASE")
		}
		return place, nil
	}
	return s.stateFolder()
}

// people are the settings of questions to them.
type people struct {
	wait     time.Duration // of a question that does not say
	hold     time.Duration // of a call; 0: by client
	secrets  bool          // questions that ask for them are taken
	ref      bool          // the schema of ask_user is its specification's
	inbox    string        // inboxAuto, inboxOff or HOST:PORT
	attended bool          // a person counts as reachable by coming to look
}

// holdAuto is the setting elicitation.hold that leaves it to what is known of
// the client.
const holdAuto = "auto"

// What the setting elicitation.secrets may be.
const (
	secretsRefuse = "refuse"
	secretsAllow  = "allow"
)

// What the setting elicitation.schema may be.
const (
	schemaRef    = "ref"
	schemaInline = "inline"
)

// What the setting inbox may be besides an address.
const (
	inboxAuto = "auto"
	inboxOff  = "off"
)

// people reads the settings; an error is a misuse that names the one to correct.
func (a *app) people() (o people, err error) {
	o.wait, err = time.ParseDuration(a.settings.get("elicitation.timeout"))
	if err != nil || o.wait < time.Millisecond || o.wait > elicit.MaxWait {
		return o, a.settings.wrong("elicitation.timeout", "not a time between 1ms and 30m", "write it as 90s or 10m")
	}
	if hold := a.settings.get("elicitation.hold"); hold != holdAuto {
		if o.hold, err = time.ParseDuration(hold); err != nil || o.hold < time.Second || o.hold > elicit.MaxWait {
			return o, a.settings.wrong("elicitation.hold", "not auto or a time between 1s and 30m", "write it as 45s or 4m")
		}
	}
	if o.secrets, err = a.settings.either("elicitation.secrets", secretsAllow, secretsRefuse); err != nil {
		return o, err
	}
	if o.ref, err = a.settings.either("elicitation.schema", schemaRef, schemaInline); err != nil {
		return o, err
	}
	switch o.inbox = a.settings.get("inbox"); o.inbox {
	case inboxAuto, inboxOff:
	default:
		if err := web.CheckAddr(o.inbox); err != nil {
			return o, a.settings.wrong("inbox", "not auto, off or HOST:PORT", "")
		}
	}
	o.attended = attended() && o.inbox != inboxOff
	return o, nil
}

// attendedHub is hub, and keeps the inbox meanwhile if nobody else does.
func (a *app) attendedHub(ctx context.Context) (hub *elicit.Hub, stop func(), err error) {
	room := &peopleRoom{app: a}
	hub, closeHub, err := room.open(ctx)
	if err != nil {
		return nil, nil, err
	}
	leave, err := a.keepInbox(ctx, room, nil, 0)
	if err != nil {
		closeHub()
		return nil, nil, err
	}
	return hub, func() { leave(); closeHub() }, nil
}

// hub opens the store and starts a hub over it; stop ends both.
func (a *app) hub(ctx context.Context) (hub *elicit.Hub, stop func(), err error) {
	return (&peopleRoom{app: a}).open(ctx)
}

// peopleRoom is the store of questions as a server needs it: opened once, by
// whatever asks or looks first.
type peopleRoom struct {
	app *app
	log *slog.Logger

	mu  sync.Mutex
	hub *elicit.Hub // nil until open
	end bool        // closed, for good
	db  *store.DB
	key []byte // of stateKey, once it was read
	// tell sends the last spans; nil until open.
	tell func()
}

// open returns the hub, and what closes it for everybody who opened it.
func (p *peopleRoom) open(ctx context.Context) (hub *elicit.Hub, stop func(), err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.end:
		return nil, nil, elicit.ErrClosed
	case p.hub != nil:
		return p.hub, p.close, nil
	}
	place, err := p.app.settings.place()
	if err != nil {
		return nil, nil, err
	}
	options, tell, err := p.app.hubOptions(p.log)
	if err != nil {
		return nil, nil, err
	}
	db, err := store.Open(ctx, place, elicit.Room(), gateway.Room(), callroom.Room())
	if err != nil {
		tell()
		return nil, nil, err
	}
	p.db, p.hub, p.tell = db, elicit.New(db, options), tell
	return p.hub, p.close, nil
}

// close ends the hub, if it is open.
func (p *peopleRoom) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.end = true
	if p.hub == nil {
		return
	}
	p.hub.Close()
	if err := p.db.Close(); err != nil && p.log != nil {
		p.log.Warn("store not closed", "error", err)
	}
	p.hub = nil
	p.tell()
}

// stateKey authenticates what clients carry between two calls: the same for
// every server over one store. It opens the store: a client may come back, to a
// server that was started anew, before anything else has.
func (p *peopleRoom) stateKey() ([]byte, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if _, _, err := p.open(ctx); err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.key == nil {
		key, err := sharedKey(ctx, p.db, "key/request-state")
		if err != nil {
			return nil, err
		}
		p.key = []byte(key)
	}
	return p.key, nil
}

// sharedKey is a secret that every process over a store has: the data of a
// lease, which outlives its holder. Whoever holds the lease first makes it.
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
		select { // another process is making it
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// asksFor is what the questions of this process belong to: an attempt, if it was
// started by one, and the folder, if it was started by one client for itself.
func asksFor(alone bool) (c elicit.Context) {
	surroundings(&c)
	if !alone {
		c.CWD = ""
	}
	return c
}

// surroundings fills in where this process runs, for the person to know what a
// question is about; what is said already stays. An attempt has told its
// processes.
func surroundings(c *elicit.Context) {
	for name, field := range map[string]*string{
		"DESKHAND_PROJECT_ID": &c.ProjectID, "DESKHAND_PROJECT": &c.Project, "DESKHAND_TASK_ID": &c.TaskID, "DESKHAND_ATTEMPT_ID": &c.AttemptID, "DESKHAND_BRANCH": &c.Branch,
	} {
		if *field == "" {
			*field = env(name)
		}
	}
	if c.CWD == "" {
		c.CWD, _ = os.Getwd() // a folder that is gone has no name
	}
}

// attended says that a person may come and look: this is no build that runs on
// its own.
func attended() bool { return env("CI") == "" }
