// Package storetest provides stores for tests: SQLite in a temporary folder,
// and a temporary PostgreSQL server that it starts and removes.
package storetest

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // registers the driver that creates databases
)

// Main runs a package's tests. It then stops the PostgreSQL server that the
// tests started. TestMain calls it.
func Main(m *testing.M) int {
	defer stop()
	return m.Run()
}

// Each runs test with both databases. place is where to open a store.
func Each(t *testing.T, test func(t *testing.T, place string)) {
	t.Run("sqlite", func(t *testing.T) { test(t, t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { test(t, Postgres(t)) })
}

// Postgres returns the URL of an empty database. If PostgreSQL is not
// installed, it skips the test, or fails the test if
// DESKHAND_TEST_POSTGRES=require.
func Postgres(t testing.TB) string {
	t.Helper()
	start.Do(func() { startErr = cluster.start() })
	needed(t, startErr)
	return cluster.database(t)
}

// needed ends the test if there is no PostgreSQL.
func needed(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("DESKHAND_TEST_POSTGRES") == "require":
		t.Fatalf("no PostgreSQL to test with: %v", err)
	default:
		t.Skipf("NOT TESTED on PostgreSQL: %v; install the package postgresql (set DESKHAND_TEST_POSTGRES=require to make this a failure)", err)
	}
}

// Server is a PostgreSQL server of one test, which may stop it and start it again.
type Server struct {
	t      testing.TB
	server server
}

// NewServer starts a PostgreSQL server with additional options for its program, and
// removes it when the test ends. It skips the test as [Postgres] does.
func NewServer(t testing.TB, options ...string) *Server {
	t.Helper()
	s := &Server{t: t, server: server{options: options}}
	t.Cleanup(s.server.remove)
	needed(t, s.server.start())
	return s
}

// Database returns the URL of an empty database.
func (s *Server) Database() string {
	s.t.Helper()
	return s.server.database(s.t)
}

// Stop stops the server, which ends its connections.
func (s *Server) Stop() {
	s.t.Helper()
	s.end(syscall.SIGINT) // PostgreSQL's fast shutdown
}

// Crash ends the server as a crash of its processes does: what it wrote without waiting for
// the disk may be lost.
func (s *Server) Crash() {
	s.t.Helper()
	s.end(syscall.SIGQUIT) // PostgreSQL's immediate shutdown
}

func (s *Server) end(by os.Signal) {
	s.t.Helper()
	if err := s.server.process.Process.Signal(by); err != nil {
		s.t.Fatal(err)
	}
	s.server.process.Wait()
}

// Start starts a stopped server.
func (s *Server) Start() {
	s.t.Helper()
	_, postgres, err := binaries()
	if err == nil {
		ctx, cancel := context.WithTimeout(context.Background(), starting)
		defer cancel()
		err = s.server.run(ctx, postgres)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// database creates an empty database and returns its URL.
func (s *server) database(t testing.TB) string {
	t.Helper()
	name := fmt.Sprintf("t%d", databases.Add(1))
	pool, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer pool.Close()
	if _, err := pool.Exec("CREATE DATABASE " + name); err != nil {
		t.Fatalf("create database: %v", err)
	}
	return s.url(name)
}

var (
	start     sync.Once
	startErr  error
	cluster   server
	databases atomic.Int64
)

// server is a PostgreSQL server that listens on a socket in its own folder.
type server struct {
	dir     string
	options []string // of the program
	process *exec.Cmd
}

// starting is the timeout for initdb and the start of the server. Both together
// take a second or two on an idle machine.
const starting = 2 * time.Minute

func (s *server) start() error {
	initdb, postgres, err := binaries()
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "deskhand-pg-"); err != nil {
		return err
	}
	if err := hand(s.dir); err != nil {
		return err
	}
	data := filepath.Join(s.dir, "data")
	ctx, cancel := context.WithTimeout(context.Background(), starting)
	defer cancel()
	first := exec.CommandContext(ctx, initdb, "-D", data, "-U", "deskhand", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync")
	if out, err := demoted(first, s.dir).CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s.run(ctx, postgres)
}

// run starts the server on its data.
func (s *server) run(ctx context.Context, postgres string) error {
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer log.Close()
	args := append([]string{"-D", filepath.Join(s.dir, "data"), "-k", s.dir, "-h", "", "-F", "-c", "max_connections=200"}, s.options...)
	s.process = exec.Command(postgres, args...)
	s.process.Stdout, s.process.Stderr = log, log
	if err := demoted(s.process, s.dir).Start(); err != nil {
		return fmt.Errorf("start postgres: %w", err)
	}
	return s.ready(ctx)
}

func (s *server) ready(ctx context.Context) error {
	pool, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		return err
	}
	defer pool.Close()
	for {
		err := pool.PingContext(ctx)
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			out, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("postgres does not answer: %w: %s", err, out)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func (s *server) url(database string) string {
	return "postgres://deskhand@/" + database + "?host=" + url.QueryEscape(s.dir)
}

// stop removes the server that all tests share.
func stop() { cluster.remove() }

// remove stops the server and deletes its folder.
func (s *server) remove() {
	if s.process != nil && s.process.Process != nil {
		s.process.Process.Signal(os.Interrupt) // PostgreSQL's fast shutdown
		s.process.Wait()
	}
	if s.dir != "" {
		os.RemoveAll(s.dir)
	}
}

// binaries returns the paths of the programs. It looks in PATH, and where
// Debian and Homebrew install them. If there are several versions, it returns
// the last one.
func binaries() (initdb, postgres string, err error) {
	if found, err := exec.LookPath("initdb"); err == nil {
		initdb = found
	}
	for _, pattern := range []string{"/usr/lib/postgresql/*/bin/initdb", "/usr/local/opt/postgresql*/bin/initdb", "/opt/homebrew/opt/postgresql*/bin/initdb"} {
		if found, _ := filepath.Glob(pattern); initdb == "" && len(found) > 0 {
			initdb = found[len(found)-1]
		}
	}
	if initdb == "" {
		return "", "", fmt.Errorf("initdb is not on this machine")
	}
	return initdb, filepath.Join(filepath.Dir(initdb), "postgres"), nil
}
