package gateway

import (
	"cmp"
	"context"
	"crypto/sha256"
	"database/sql"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Schema returns the schema of the gateway's tables: encrypted credentials and
// unfinished sign-ins, and the upstreams' offers when they were last seen.
func Schema() store.Schema { return store.NewSchema("gateway", migrations) }

// topic is the topic of the gateway's events in the feed. An event's key is the
// upstream whose credential changed. The event does not contain the credential.
const topic = "gateway"

// Credential authenticates a caller to an upstream.
type Credential struct {
	Kind AuthKind  `json:"kind"`
	At   time.Time `json:"at"` // when someone connected
	By   string    `json:"by,omitempty"`
	// Channel is where they connected, as in [elicit.Action]: "web" or "cli". It is empty
	// in older credentials.
	Channel string `json:"channel,omitempty"`

	Key string `json:"key,omitempty"` // for kind header

	// The other fields are for OAuth: a token, and everything needed to renew it.
	Access    string      `json:"access,omitempty"`
	Refresh   string      `json:"refresh,omitempty"`
	Got       time.Time   `json:"got,omitzero"`     // when the issuer issued the token
	Expires   time.Time   `json:"expires,omitzero"` // zero if unknown
	Scopes    []string    `json:"scopes,omitempty"`
	Issuer    string      `json:"issuer,omitempty"`
	TokenURL  string      `json:"token_url,omitempty"`
	RevokeURL string      `json:"revoke_url,omitempty"`
	Resource  string      `json:"resource,omitempty"`
	Client    oauthClient `json:"client,omitzero"`

	rev int64 // revision in the store
}

// secret returns the key or token that is sent with a request.
func (c *Credential) secret() string {
	if c.Kind == OAuth {
		return c.Access
	}
	return c.Key
}

// stale reports whether the token must be renewed before use. A token is renewed
// shortly before it expires, so it does not expire in transit. It is never renewed
// in the first three quarters of its lifetime, so even a short-lived token is used.
func (c *Credential) stale(now time.Time) bool {
	margin := min(renewBefore, c.Expires.Sub(c.Got)/4)
	return c.Kind == OAuth && !c.Expires.IsZero() && !now.Add(margin).Before(c.Expires)
}

const renewBefore = 30 * time.Second

// vault stores the gateway's rows.
type vault struct {
	db *store.DB
	*sealer
	// known caches decrypted credentials by owner. Decryption takes half a
	// millisecond, and every call needs the credential
	// (BenchmarkCredentialOfACall).
	known sync.Map
}

// owner identifies a credential's owner.
type owner struct{ upstream, principal string }

// credential returns a principal's credential, or nil if there is none. Callers
// must not modify it.
func (v *vault) credential(ctx context.Context, upstream, principal string) (c *Credential, err error) {
	var sealed string
	var rev int64
	err = v.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT sealed, rev FROM credentials WHERE upstream = ? AND principal = ?", upstream, principal).Scan(&sealed, &rev)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read credential: %w", err)
	}
	of := owner{upstream, principal}
	if last, ok := v.known.Load(of); ok && last.(*Credential).rev == rev {
		return last.(*Credential), nil
	}
	c = &Credential{rev: rev}
	if err := v.open(sealed, c); err != nil {
		return nil, err
	}
	v.known.Store(of, c)
	return c, nil
}

// Event data: someone connected or disconnected, or the same credential has a new
// token.
const (
	eventChanged = `{"type":"changed"}`
	eventRenewed = `{"type":"renewed"}`
)

// put stores a connected credential and notifies all processes.
func (v *vault) put(ctx context.Context, upstream, principal string, c *Credential) error {
	sealed, err := v.seal(c)
	if err != nil {
		return err
	}
	err = v.db.Update(ctx, func(tx *store.Tx) error {
		c.rev = tx.Append(topic, upstream, []byte(eventChanged))
		_, err := tx.Exec(ctx, `INSERT INTO credentials (upstream, principal, rev, changed_at, sealed) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (upstream, principal) DO UPDATE SET rev = excluded.rev, changed_at = excluded.changed_at, sealed = excluded.sealed`,
			upstream, principal, c.rev, tx.Now.UnixMilli(), sealed)
		return errors.Join(err, tx.Audit(store.Record{Action: "credential.connected", Object: upstream, Detail: "for " + principal}))
	})
	if err != nil {
		return fmt.Errorf("store credential: %w", err)
	}
	return nil
}

// errReplaced is returned if the credential that was renewed is no longer stored.
var errReplaced = errors.New("the credential was removed or replaced")

// renewed replaces the revision old of a credential with c and notifies all processes. It
// returns errReplaced if the store has another revision or none: the person may have
// disconnected, or have been removed, during the renewal.
func (v *vault) renewed(ctx context.Context, upstream, principal string, c *Credential, old int64) error {
	sealed, err := v.seal(c)
	if err != nil {
		return err
	}
	err = v.db.Update(ctx, func(tx *store.Tx) error {
		c.rev = tx.Append(topic, upstream, []byte(eventRenewed))
		result, err := tx.Exec(ctx, "UPDATE credentials SET rev = ?, changed_at = ?, sealed = ? WHERE upstream = ? AND principal = ? AND rev = ?",
			c.rev, tx.Now.UnixMilli(), sealed, upstream, principal, old)
		if err != nil {
			return err
		}
		if n, err := result.RowsAffected(); err != nil || n == 0 {
			return cmp.Or(err, errReplaced)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("store renewed credential: %w", err)
	}
	return nil
}

// drop removes a credential if its revision is rev. If rev is 0, it removes any
// revision.
func (v *vault) drop(ctx context.Context, upstream, principal string, rev int64) (dropped bool, err error) {
	err = v.db.Update(ctx, func(tx *store.Tx) error {
		result, err := tx.Exec(ctx, "DELETE FROM credentials WHERE upstream = ? AND principal = ? AND (rev = ? OR ? = 0)", upstream, principal, rev, rev)
		if err != nil {
			return err
		}
		n, err := result.RowsAffected()
		if dropped = n > 0; dropped {
			tx.Append(topic, upstream, []byte(eventChanged))
			err = errors.Join(err, tx.Audit(store.Record{Action: "credential.removed", Object: upstream, Detail: "of " + principal}))
		}
		return err
	})
	if err != nil {
		return false, fmt.Errorf("remove credential: %w", err)
	}
	if dropped {
		v.known.Delete(owner{upstream, principal})
	}
	return dropped, nil
}

// signIn holds the data that is needed when a person returns from an
// authorization server.
type signIn struct {
	Request   string      `json:"request"` // empty if no request is waiting
	Upstream  string      `json:"upstream"`
	Principal string      `json:"principal"` // person who began it
	Verifier  string      `json:"verifier"`
	Redirect  string      `json:"redirect"`
	Return    string      `json:"return,omitempty"` // path to redirect to afterwards
	Issuer    string      `json:"issuer"`
	WantsIss  bool        `json:"wants_iss,omitempty"` // whether the issuer declares that it names itself
	TokenURL  string      `json:"token_url"`
	RevokeURL string      `json:"revoke_url,omitempty"`
	Resource  string      `json:"resource,omitempty"`
	Scopes    []string    `json:"scopes,omitempty"`
	Client    oauthClient `json:"client"`
}

// signInTime is how long a person may take at the authorization server.
const signInTime = 10 * time.Minute

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

func (v *vault) putSignIn(ctx context.Context, state string, s *signIn) error {
	sealed, err := v.seal(s)
	if err != nil {
		return err
	}
	err = v.db.Update(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "DELETE FROM sign_ins WHERE until < ?", tx.Now.UnixMilli()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO sign_ins (state, until, sealed) VALUES (?, ?, ?)", digestOf(state), tx.Now.Add(signInTime).UnixMilli(), sealed)
		return err
	})
	if err != nil {
		return fmt.Errorf("store sign-in: %w", err)
	}
	return nil
}

// hasSignIn reports whether an unfinished sign-in has that state.
func (v *vault) hasSignIn(ctx context.Context, state string) (has bool, err error) {
	err = v.db.View(ctx, func(tx *store.Tx) error {
		var n int
		err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM sign_ins WHERE state = ? AND until >= ?", digestOf(state), tx.Now.UnixMilli()).Scan(&n)
		has = n > 0
		return err
	})
	if err != nil {
		return false, fmt.Errorf("look up sign-in: %w", err)
	}
	return has, nil
}

// takeSignIn removes and returns the sign-in with that state, or returns nil if
// there is none or it has expired.
func (v *vault) takeSignIn(ctx context.Context, state string) (*signIn, error) {
	var sealed string
	err := v.db.Update(ctx, func(tx *store.Tx) error {
		err := tx.QueryRow(ctx, "SELECT sealed FROM sign_ins WHERE state = ? AND until >= ?", digestOf(state), tx.Now.UnixMilli()).Scan(&sealed)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, "DELETE FROM sign_ins WHERE state = ?", digestOf(state))
		return err
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read sign-in: %w", err)
	}
	s := new(signIn)
	return s, v.open(sealed, s)
}

// client returns the client that an issuer registered for a redirect address, or
// nil if there is none.
func (v *vault) client(ctx context.Context, issuer, redirect string) (*oauthClient, error) {
	var sealed string
	err := v.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT sealed FROM oauth_clients WHERE issuer = ? AND redirect = ?", issuer, redirect).Scan(&sealed)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read client: %w", err)
	}
	c := new(oauthClient)
	return c, v.open(sealed, c)
}

func (v *vault) putClient(ctx context.Context, issuer, redirect string, c *oauthClient) error {
	sealed, err := v.seal(c)
	if err != nil {
		return err
	}
	err = v.db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO oauth_clients (issuer, redirect, sealed) VALUES (?, ?, ?)
			ON CONFLICT (issuer, redirect) DO UPDATE SET sealed = excluded.sealed`, issuer, redirect, sealed)
		return err
	})
	if err != nil {
		return fmt.Errorf("store client: %w", err)
	}
	return nil
}

// remembered returns what an upstream offered when it was last seen. known reports
// whether it was seen before.
func (v *vault) remembered(ctx context.Context, upstream, principal string) (offer offered, known bool, err error) {
	var data string
	err = v.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT data FROM upstream_tools WHERE upstream = ? AND principal = ?", upstream, principal).Scan(&data)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return offer, false, nil
	}
	if err == nil {
		offer, err = decodeOffered([]byte(data))
	}
	if err != nil {
		return offer, false, fmt.Errorf("read tools of upstream: %w", err)
	}
	return offer, true, nil
}

func (v *vault) remember(ctx context.Context, upstream, principal string, offer offered) error {
	data, err := json.Marshal(offer)
	if err != nil {
		return fmt.Errorf("encode tools of upstream: %w", err)
	}
	err = v.db.UpdateFast(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO upstream_tools (upstream, principal, changed_at, data) VALUES (?, ?, ?, ?)
			ON CONFLICT (upstream, principal) DO UPDATE SET changed_at = excluded.changed_at, data = excluded.data`,
			upstream, principal, tx.Now.UnixMilli(), string(data))
		return err
	})
	if err != nil {
		return fmt.Errorf("store tools of upstream: %w", err)
	}
	return nil
}

// Forget removes all credentials of a principal, and the tools that were listed with them.
// Running gateways hear of it and disconnect.
func Forget(ctx context.Context, tx *store.Tx, principal string) error {
	if err := forget(ctx, tx, principal); err != nil {
		return fmt.Errorf("remove the credentials of %s: %w", principal, err)
	}
	return nil
}

func forget(ctx context.Context, tx *store.Tx, principal string) error {
	for _, table := range []string{"credentials", "upstream_tools"} {
		rows, err := tx.Query(ctx, "DELETE FROM "+table+" WHERE principal = ? RETURNING upstream", principal)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var upstream string
			if err := rows.Scan(&upstream); err != nil {
				return err
			}
			tx.Append(topic, upstream, []byte(eventChanged))
		}
		if err := cmp.Or(rows.Err(), rows.Close()); err != nil {
			return err
		}
	}
	return tx.Audit(store.Record{Action: "credential.removed", Detail: "all of " + principal})
}
