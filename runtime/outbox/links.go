package outbox

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// NoLink is the code of a fault for a link that was never made, or is long over.
const NoLink = "no_link"

// Link answers one question in one way as one person.
type Link struct {
	Request, Question, Value, Person string
	// Address is the e-mail address that the link is sent to. It is stored as a hash; a
	// link that was read has the hash.
	Address                string
	Created, Expires, Used time.Time // Used is zero until the link was used
}

const linkPrefix = "dhl_"

// secret returns the link's secret. It is signed with a key that is not in the store, and the
// same each time, so that a mail that is sent again has the links of the first one.
func (l Link) secret(key []byte, message string) string {
	h := hmac.New(sha256.New, key)
	for _, part := range []string{"mail link", message, l.Request, l.Question, l.Value, l.Person, l.Address} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return linkPrefix + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(h.Sum(nil)[:20]))
}

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// Links stores links of a message and returns their secrets. message is a text that only one
// message has.
func (b *Box) Links(ctx context.Context, key []byte, message string, all []Link) (secrets []string, err error) {
	err = b.db.Update(ctx, func(tx *store.Tx) error {
		secrets = nil
		for _, l := range all {
			secret := l.secret(key, message)
			_, err := tx.Exec(ctx, `INSERT INTO outbox_links (hash, request, question, value, person, address, created, expires) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT (hash) DO NOTHING`, hashOf(secret), l.Request, l.Question, l.Value, l.Person, hashOf(l.Address), tx.Now.UnixMilli(), l.Expires.UnixMilli())
			if err != nil {
				return fmt.Errorf("store link: %w", err)
			}
			secrets = append(secrets, secret)
		}
		return nil
	})
	return secrets, err
}

// SentTo reports whether a link was sent to an address.
func (l Link) SentTo(address string) bool { return l.Address == hashOf(address) }

// Link returns the link with a secret, also if it was used or is too old. Fails with code
// [NoLink].
func (b *Box) Link(ctx context.Context, secret string) (l Link, err error) {
	var created, expires, used int64
	err = sql.ErrNoRows
	if strings.HasPrefix(secret, linkPrefix) {
		err = b.db.View(ctx, func(tx *store.Tx) error {
			return tx.QueryRow(ctx, "SELECT request, question, value, person, address, created, expires, used FROM outbox_links WHERE hash = ?", hashOf(secret)).
				Scan(&l.Request, &l.Question, &l.Value, &l.Person, &l.Address, &created, &expires, &used)
		})
	}
	if errors.Is(err, sql.ErrNoRows) {
		return Link{}, fault.New(NoLink, "this link is not from this server, or it is too old", "answer in the inbox")
	}
	if err != nil {
		return Link{}, fmt.Errorf("read link: %w", err)
	}
	l.Created, l.Expires = time.UnixMilli(created).UTC(), time.UnixMilli(expires).UTC()
	if used != 0 {
		l.Used = time.UnixMilli(used).UTC()
	}
	return l, nil
}

// EndLinks deletes a person's links, in a transaction of the store.
func EndLinks(ctx context.Context, tx *store.Tx, person string) error {
	if _, err := tx.Exec(ctx, "DELETE FROM outbox_links WHERE person = ?", person); err != nil {
		return fmt.Errorf("delete links: %w", err)
	}
	return nil
}

// Use records that a link was used.
func (b *Box) Use(ctx context.Context, secret string) error {
	return b.db.Update(ctx, func(tx *store.Tx) error {
		if _, err := tx.Exec(ctx, "UPDATE outbox_links SET used = ? WHERE hash = ? AND used = 0", tx.Now.UnixMilli(), hashOf(secret)); err != nil {
			return fmt.Errorf("record link: %w", err)
		}
		return nil
	})
}
