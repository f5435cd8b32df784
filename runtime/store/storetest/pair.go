package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// Pair is a PostgreSQL server with a streaming replica. A commit is acknowledged when both
// have it.
type Pair struct {
	t      testing.TB
	main   *server
	copied *server // of main
}

// NewPair starts a server and its replica, and removes both when the test ends. It skips the
// test as [Postgres] does.
func NewPair(t testing.TB) *Pair {
	t.Helper()
	p := &Pair{t: t, main: &server{}, copied: &server{}}
	t.Cleanup(func() { p.main.remove(); p.copied.remove() })
	needed(t, p.main.start())
	var err error
	if p.copied.dir, err = os.MkdirTemp("", "deskhand-pg-"); err == nil {
		err = hand(p.copied.dir)
	}
	if err != nil {
		t.Fatal(err)
	}
	p.replicate()
	return p
}

// Database returns the URL of an empty database, which leads to whichever server is writable.
func (p *Pair) Database() string {
	p.t.Helper()
	u, err := url.Parse(p.main.database(p.t))
	if err != nil {
		p.t.Fatal(err)
	}
	u.RawQuery = "target_session_attrs=read-write&host=" + url.QueryEscape(p.main.dir+","+p.copied.dir)
	return u.String()
}

// Failover ends the main server as a crash does and promotes its replica. Then a new replica
// takes the place of the one that crashed.
func (p *Pair) Failover() {
	p.t.Helper()
	if err := p.main.process.Process.Signal(syscall.SIGQUIT); err != nil {
		p.t.Fatal(err)
	}
	p.main.process.Wait()
	p.query(p.copied, "SELECT pg_promote()")
	p.main, p.copied = p.copied, p.main
	if err := os.RemoveAll(filepath.Join(p.copied.dir, "data")); err != nil {
		p.t.Fatal(err)
	}
	p.replicate()
}

// replicate makes copied a replica of main, and then lets commits wait for it.
func (p *Pair) replicate() {
	p.t.Helper()
	_, postgres, err := binaries()
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), starting)
	defer cancel()
	p.query(p.main, "ALTER SYSTEM RESET synchronous_standby_names")
	p.query(p.main, "SELECT pg_reload_conf()")
	beside := postgres
	if real, err := filepath.EvalSymlinks(postgres); err == nil {
		beside = real
	}
	backup := exec.CommandContext(ctx, filepath.Join(filepath.Dir(beside), "pg_basebackup"), "-D", filepath.Join(p.copied.dir, "data"),
		"-h", p.main.dir, "-U", "deskhand", "-R", "--checkpoint=fast", "--no-sync")
	if out, err := demoted(backup, p.copied.dir).CombinedOutput(); err != nil {
		p.t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	if err := p.copied.run(ctx, postgres); err != nil {
		p.t.Fatal(err)
	}
	p.query(p.main, "ALTER SYSTEM SET synchronous_standby_names = '*'")
	p.query(p.main, "SELECT pg_reload_conf()")
	waittest.Until(p.t, "the replica takes part in commits", func() (bool, any) {
		state := p.query(p.main, "SELECT coalesce(max(state || ' ' || sync_state), 'none') FROM pg_stat_replication")
		return state == "streaming sync", state
	})
}

// query runs a statement that returns at most one value.
func (p *Pair) query(s *server, text string) (value string) {
	p.t.Helper()
	pool, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		p.t.Fatal(err)
	}
	defer pool.Close()
	rows, err := pool.Query(text)
	if err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	defer rows.Close()
	for rows.Next() {
		var v any
		if err := rows.Scan(&v); err != nil {
			p.t.Fatal(err)
		}
		value = fmt.Sprint(v)
	}
	if err := rows.Err(); err != nil {
		p.t.Fatalf("%s: %v", text, err)
	}
	return value
}
