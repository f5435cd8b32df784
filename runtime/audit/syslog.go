// Package audit sends the audit log of the store to syslog, and follows it.
package audit

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// Target is where a syslog server listens.
type Target struct{ network, address string }

// String returns the target as [ParseTarget] reads it.
func (t Target) String() string { return t.network + "://" + t.address }

// ParseTarget reads unixgram:///PATH, udp://HOST:PORT or tcp://HOST:PORT. Its errors have
// code bad_address.
func ParseTarget(text string) (Target, error) {
	u, err := url.Parse(text)
	if err == nil && u.User == nil && u.RawQuery == "" && u.Fragment == "" {
		switch _, port, split := net.SplitHostPort(u.Host); {
		case u.Scheme == "unixgram" && u.Host == "" && strings.HasPrefix(u.Path, "/"):
			return Target{"unixgram", u.Path}, nil
		case (u.Scheme == "udp" || u.Scheme == "tcp") && split == nil && port != "" && u.Hostname() != "" && strings.Trim(u.Path, "/") == "":
			return Target{u.Scheme, u.Host}, nil
		}
	}
	return Target{}, fault.New("bad_address", fmt.Sprintf("%.80q is not the address of a syslog server", text), "write unixgram:///dev/log, udp://HOST:514 or tcp://HOST:601")
}

// Facility 13 is that of audit logs. The severities are informational and warning.
const (
	facility = 13
	inform   = 6
	warn     = 4
)

// Message returns a record as a message of RFC 5424 whose text is the record as JSON.
func Message(r store.Record) ([]byte, error) {
	text, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	severity := inform
	if r.Outcome == store.Refused {
		severity = warn
	}
	return fmt.Appendf(nil, "<%d>1 %s %s deskhand - %s - %s", facility*8+severity, r.At.UTC().Format("2006-01-02T15:04:05.000Z"), word(r.Host, 255), word(r.Action, 32), text), nil
}

// word returns s as a field of a message's header: printable ASCII without spaces.
func word(s string, most int) string {
	s = strings.Map(func(c rune) rune {
		if c <= ' ' || c > '~' {
			return '?'
		}
		return c
	}, s)
	if s == "" {
		return "-"
	}
	return s[:min(len(s), most)]
}

// Timing of the export. They are variables for tests.
var (
	poll       = time.Second
	exportTerm = 15 * time.Second
	sendTime   = 10 * time.Second
	// A server acknowledges nothing: if a TCP connection ends within this time after a batch
	// was written, the batch is sent again.
	doubtful = 10 * time.Second
)

// atOnce is how many records are sent before their numbers are noted.
const atOnce = 200

// Export sends the log to a target until ctx ends. Of all processes that use a store, one
// exports to a target. It continues where the last one stopped, and may send the records
// of a batch twice if it is killed or a connection ends. If the server cannot be reached, it
// retries forever.
func Export(ctx context.Context, db *store.DB, t Target, log *slog.Logger) {
	e := &exporter{db: db, target: t, lease: store.Lease{Name: "audit/" + t.String(), Holder: rand.Text()}}
	defer e.leave()
	told := ""
	for {
		err := e.run(ctx)
		if ctx.Err() != nil {
			return
		}
		if err == nil {
			told = ""
		} else if err.Error() != told {
			told = err.Error()
			log.Error("cannot send the audit log", "to", t.String(), "error", err)
		}
		wait(ctx, poll)
	}
}

type exporter struct {
	db     *store.DB
	target Target
	lease  store.Lease
	conn   net.Conn        // nil while there is none
	ended  <-chan struct{} // closed when the server has ended conn

	before int64     // number of the last record before the last batch
	sent   time.Time // when the last batch was written
	resend bool      // the last batch may be lost
}

// run sends what is new, if this process holds the lease.
func (e *exporter) run(ctx context.Context) error {
	for {
		l, held, err := e.db.Claim(ctx, e.lease, exportTerm)
		if err != nil || !held {
			return err
		}
		last, _ := strconv.ParseInt(l.Data, 10, 64) // empty before the first record
		select {
		case <-e.ended:
			e.hangUp()
		default:
		}
		if e.resend {
			last = min(last, e.before)
		}
		records, err := e.db.AuditLog(ctx, store.AuditFilter{After: last, Limit: atOnce})
		if err != nil || len(records) == 0 {
			return err
		}
		if err := e.send(ctx, records); err != nil {
			e.hangUp()
			return err
		}
		e.before, e.sent, e.resend = last, time.Now(), false
		l.Data = strconv.FormatInt(records[len(records)-1].Seq, 10)
		noting, cancel := context.WithTimeout(context.WithoutCancel(ctx), sendTime)
		_, _, err = e.db.Claim(noting, l, exportTerm)
		cancel()
		if err != nil {
			return err
		}
		if len(records) < atOnce {
			return nil
		}
	}
}

func (e *exporter) send(ctx context.Context, records []store.Record) (err error) {
	if e.conn == nil {
		dialer := net.Dialer{Timeout: sendTime}
		if e.conn, err = dialer.DialContext(ctx, e.target.network, e.target.address); err != nil {
			e.conn = nil
			return err
		}
		ended := make(chan struct{})
		e.ended = ended
		go func(conn net.Conn) {
			defer close(ended)
			_, _ = io.Copy(io.Discard, conn) // a server says nothing until it ends the connection
		}(e.conn)
	}
	if err := e.conn.SetWriteDeadline(time.Now().Add(sendTime)); err != nil {
		return err
	}
	for _, r := range records {
		m, err := Message(r)
		if err != nil {
			return err
		}
		if e.target.network == "tcp" {
			m = append(fmt.Appendf(nil, "%d ", len(m)), m...) // octet counting, RFC 6587
		}
		if _, err := e.conn.Write(m); err != nil {
			return err
		}
	}
	return nil
}

func (e *exporter) hangUp() {
	if e.conn != nil {
		e.conn.Close()
		<-e.ended
		e.conn, e.ended = nil, nil
		e.resend = e.resend || e.target.network == "tcp" && time.Since(e.sent) < doubtful
	}
}

// leave lets another process export at once.
func (e *exporter) leave() {
	e.hangUp()
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = e.db.Release(ctx, e.lease.Name, e.lease.Holder) // it expires anyway
}

// Follow calls f with the records that a filter selects, and continues with new ones until
// ctx ends or f fails.
func Follow(ctx context.Context, db *store.DB, filter store.AuditFilter, f func(store.Record) error) error {
	filter.Limit = atOnce
	for ctx.Err() == nil {
		records, err := db.AuditLog(ctx, filter)
		if err != nil {
			return err
		}
		for _, r := range records {
			if err := f(r); err != nil {
				return err
			}
			filter.After = r.Seq
		}
		if len(records) < atOnce {
			wait(ctx, poll)
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}
