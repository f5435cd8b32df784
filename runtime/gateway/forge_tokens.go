package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// ForgeToken is the kind of a forge's token, which deskhand sends to the forge's REST API.
const ForgeToken AuthKind = "forge"

// ForgeTokens stores the tokens of forges, by host, like the keys of upstreams. They
// belong to the installation, like git's own credentials.
type ForgeTokens struct {
	db  *store.DB
	dir string
	log *slog.Logger
}

// NewForgeTokens returns the tokens in a store, which must include [Schema]. stateDir is
// the folder with the credentials' key.
func NewForgeTokens(db *store.DB, stateDir string, log *slog.Logger) *ForgeTokens {
	return &ForgeTokens{db, stateDir, log}
}

// NamesForge reports whether a name is meant as a forge's host, for example github.com or
// localhost:3000. An upstream's name has no dot and no colon.
func NamesForge(name string) bool { return strings.ContainsAny(name, ".:") }

var forgeHost = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([a-z0-9]([a-z0-9.-]{0,250}[a-z0-9])?|\[[0-9a-f:.]{2,45}\])(:[0-9]{1,5})?$`)
})

// forgeAt returns a host in the form in which its token is stored. The error is a fault.
func forgeAt(name string) (string, error) {
	host := strings.TrimSuffix(strings.ToLower(name), ":443")
	if !NamesForge(host) || !forgeHost().MatchString(host) {
		return "", fault.New("misuse", fmt.Sprintf("%q is not a forge's host", name), "pass its host and port, for example github.com or git.example.com:8443")
	}
	return host, nil
}

func (f *ForgeTokens) vault() (*vault, error) {
	key, err := newSealer(f.dir, f.log)
	return &vault{db: f.db, sealer: key}, err
}

// hosts returns the hosts with a token, sorted.
func (f *ForgeTokens) hosts(ctx context.Context) (hosts []string, err error) {
	err = f.db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, "SELECT upstream FROM credentials WHERE principal = '' ORDER BY upstream")
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var name string
			if err := rows.Scan(&name); err != nil {
				return err
			}
			if NamesForge(name) {
				hosts = append(hosts, name)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("list the tokens of forges: %w", err)
	}
	return hosts, nil
}

// Token returns a host's token, or "" if there is none.
func (f *ForgeTokens) Token(ctx context.Context, host string) (string, error) {
	hosts, err := f.hosts(ctx)
	if err != nil || !slices.Contains(hosts, host) {
		return "", err
	}
	v, err := f.vault()
	if err != nil {
		return "", err
	}
	c, err := v.credential(ctx, host, "")
	if err != nil || c == nil {
		return "", err
	}
	return c.Key, nil
}

// Put stores a host's token. by is the person who passed it.
func (f *ForgeTokens) Put(ctx context.Context, host, token, by string) error {
	host, err := forgeAt(host)
	if err != nil {
		return err
	}
	if token, err = checkKey(token); err != nil {
		return err
	}
	v, err := f.vault()
	if err != nil {
		return err
	}
	return v.put(ctx, host, "", &Credential{Kind: ForgeToken, At: time.Now().UTC(), By: by, Channel: "cli", Key: token})
}

// Remove deletes a host's token. The result was reports whether there was one.
func (f *ForgeTokens) Remove(ctx context.Context, host string) (was bool, err error) {
	if host, err = forgeAt(host); err != nil {
		return false, err
	}
	return (&vault{db: f.db}).drop(ctx, host, "", 0)
}

// Connections lists the forges with a token, by host.
func (f *ForgeTokens) Connections(ctx context.Context) (all []Connection, err error) {
	hosts, err := f.hosts(ctx)
	if err != nil || len(hosts) == 0 {
		return nil, err
	}
	v, err := f.vault()
	if err != nil {
		return nil, err
	}
	for _, host := range hosts {
		c, err := v.credential(ctx, host, "")
		if err != nil {
			return nil, err
		}
		if c != nil {
			all = append(all, Connection{Name: host, Title: host, At: host, Scope: ProjectScope, Kind: ForgeToken, Connected: true, Since: c.At, By: c.By})
		}
	}
	return all, nil
}
