package people

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/rota"
	"github.com/deskhand/deskhand/runtime/store"
)

// Codes of faults about rotas.
const (
	BadRota = "bad_rota" // a rota that cannot be read
	NoRota  = "no_rota"  // no rota has this name
)

// Rota is a rota of the store.
type Rota struct {
	Name string
	Text string
	// URL is where the calendar comes from. It may contain a secret. If empty, the rota was
	// given as a file.
	URL     string
	Fetched time.Time
	// Problem says why the last fetch failed. The rota then has the text from before.
	Problem string
	*rota.Rota
}

// FetchEvery is how often a calendar is fetched from its address.
const FetchEvery = 15 * time.Minute

// fetchTime is the time limit of a fetch. Another process waits that long before it tries.
const fetchTime = 30 * time.Second

// SetRota adds a rota or replaces it. text is a weekly table or a calendar. With an address,
// text is what it gave. Fails with code [BadName] or [BadRota].
func (r *Register) SetRota(ctx context.Context, name, text, address string) error {
	if !nameForm().MatchString(name) {
		return fault.New(BadName, fmt.Sprintf("%.80q is not a name for a rota", name), "use 1 to 64 letters, digits, dots, hyphens, underscores and @, beginning with a letter or digit")
	}
	if _, err := rota.Parse(text); err != nil {
		return fault.New(BadRota, "the rota cannot be used: "+err.Error(), "give a weekly table with lines such as mon-fri 09:00-17:00 ada, or a calendar in the iCalendar format")
	}
	return r.db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO people_rotas (name, text, url, fetched, due) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (name) DO UPDATE SET text = excluded.text, url = excluded.url, fetched = excluded.fetched, due = excluded.due, problem = ''`,
			name, text, address, tx.Now.UnixMilli(), tx.Now.Add(FetchEvery).UnixMilli())
		if err != nil {
			return fmt.Errorf("write rota: %w", err)
		}
		return tx.Audit(store.Record{Action: "rota.set", Object: name})
	})
}

// RemoveRota removes a rota. Open questions for it are then for everyone of their project.
// Fails with code [NoRota].
func (r *Register) RemoveRota(ctx context.Context, name string) error {
	return r.db.Update(ctx, func(tx *store.Tx) error {
		done, err := tx.Exec(ctx, "DELETE FROM people_rotas WHERE name = ?", name)
		if err != nil {
			return fmt.Errorf("remove rota: %w", err)
		}
		if n, err := done.RowsAffected(); err != nil || n == 0 {
			return errors.Join(err, noRota(name))
		}
		return tx.Audit(store.Record{Action: "rota.removed", Object: name})
	})
}

func noRota(name string) error {
	return fault.New(NoRota, fmt.Sprintf("there is no rota %.80q", name), "list the rotas: deskhand people rota list")
}

// Rotas returns the rotas by name. A text that this release cannot read has no [rota.Rota].
func (r *Register) Rotas(ctx context.Context) (all []Rota, err error) {
	err = r.db.View(ctx, func(tx *store.Tx) error {
		all, err = rotas(ctx, tx, "")
		return err
	})
	return all, err
}

// Rota returns a rota. Fails with code [NoRota].
func (r *Register) Rota(ctx context.Context, name string) (Rota, error) {
	var all []Rota
	err := r.db.View(ctx, func(tx *store.Tx) (err error) {
		all, err = rotas(ctx, tx, "WHERE name = ?", name)
		return err
	})
	if err == nil && len(all) == 0 {
		err = noRota(name)
	}
	if err != nil {
		return Rota{}, err
	}
	return all[0], nil
}

func rotas(ctx context.Context, tx *store.Tx, where string, args ...any) (all []Rota, err error) {
	rows, err := tx.Query(ctx, "SELECT name, text, url, fetched, problem FROM people_rotas "+where+" ORDER BY name", args...)
	if err != nil {
		return nil, fmt.Errorf("read rotas: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one Rota
		var fetched int64
		if err := rows.Scan(&one.Name, &one.Text, &one.URL, &fetched, &one.Problem); err != nil {
			return nil, fmt.Errorf("read rota: %w", err)
		}
		one.Fetched = time.UnixMilli(fetched).UTC()
		one.Rota, _ = rota.Parse(one.Text) // it could be read when it was set
		all = append(all, one)
	}
	return all, rows.Err()
}

// client returns the client for an address that a person set. It may be on this machine's
// network; then redirects may stay there. An address on the internet leads nowhere inside.
func client(address string) *http.Client {
	return &http.Client{Transport: netguard.Guard{Inside: netguard.IsInside(address)}.Transport(), CheckRedirect: func(_ *http.Request, via []*http.Request) error {
		if len(via) >= 5 {
			return errors.New("too many redirects")
		}
		return nil
	}}
}

// Fetch returns the calendar at an http or https address. The error does not contain the
// address, whose path is often a secret.
func Fetch(ctx context.Context, address string) (string, error) {
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return "", fault.New(BadRota, "the calendar's address is not an http or https address", "copy the address of the calendar in the iCalendar format, which often ends in .ics")
	}
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	q, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", fault.New(BadRota, "the calendar's address cannot be used", "copy it again")
	}
	a, err := client(address).Do(q)
	if err != nil {
		cause := new(url.Error)
		if errors.As(err, &cause) {
			err = cause.Err
		}
		return "", fault.New(BadRota, fmt.Sprintf("the calendar at %s cannot be fetched: %v", u.Host, err), "check the address and that this machine reaches it")
	}
	defer a.Body.Close()
	text, err := io.ReadAll(io.LimitReader(a.Body, rota.MaxBytes+1))
	switch {
	case err != nil:
		return "", fault.New(BadRota, fmt.Sprintf("the calendar at %s cannot be read: %v", u.Host, err), "try again")
	case a.StatusCode != http.StatusOK:
		return "", fault.New(BadRota, fmt.Sprintf("%s answered %s", u.Host, a.Status), "check the address")
	case !strings.Contains(string(text), "BEGIN:VCALENDAR"):
		return "", fault.New(BadRota, u.Host+" gave something that is not a calendar in the iCalendar format", "copy the address of the calendar itself, which often ends in .ics")
	}
	return string(text), nil
}

// Refresh fetches the calendars that are due, and returns how long to wait for the next.
// Several processes may call it: each calendar is fetched by one. If a fetch fails, the rota
// stays as it was.
func (r *Register) Refresh(ctx context.Context) (time.Duration, error) {
	for {
		var name, address string
		next := FetchEvery
		err := r.db.Update(ctx, func(tx *store.Tx) error {
			name = ""
			all, due, err := addresses(ctx, tx)
			if err != nil || len(all) == 0 {
				return err
			}
			if next = min(next, due[0].Sub(tx.Now)); next > 0 {
				return nil
			}
			name, address = all[0][0], all[0][1]
			_, err = tx.Exec(ctx, "UPDATE people_rotas SET due = ? WHERE name = ?", tx.Now.Add(FetchEvery).UnixMilli(), name)
			return err
		})
		if err != nil || name == "" {
			return max(next, time.Second), err
		}
		text, err := Fetch(ctx, address)
		if err == nil {
			_, err = rota.Parse(text)
		}
		if ctx.Err() != nil {
			return 0, ctx.Err()
		}
		if err := r.fetched(ctx, name, address, text, err); err != nil {
			return 0, err
		}
	}
}

// addresses lists the rotas with an address, the one that is due first in front.
func addresses(ctx context.Context, tx *store.Tx) (all [][2]string, due []time.Time, err error) {
	rows, err := tx.Query(ctx, "SELECT name, url, due FROM people_rotas WHERE url <> '' ORDER BY due, name")
	if err != nil {
		return nil, nil, fmt.Errorf("read rotas: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var one [2]string
		var at int64
		if err := rows.Scan(&one[0], &one[1], &at); err != nil {
			return nil, nil, fmt.Errorf("read rota: %w", err)
		}
		all, due = append(all, one), append(due, time.UnixMilli(at))
	}
	return all, due, rows.Err()
}

// fetched stores the result of a fetch, unless the rota was changed meanwhile.
func (r *Register) fetched(ctx context.Context, name, address, text string, problem error) error {
	return r.db.Update(ctx, func(tx *store.Tx) (err error) {
		if problem != nil {
			_, err = tx.Exec(ctx, "UPDATE people_rotas SET problem = ? WHERE name = ? AND url = ?", problem.Error(), name, address)
		} else {
			_, err = tx.Exec(ctx, "UPDATE people_rotas SET text = ?, fetched = ?, problem = '' WHERE name = ? AND url = ?", text, tx.Now.UnixMilli(), name, address)
		}
		return err
	})
}
