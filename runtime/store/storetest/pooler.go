package storetest

import (
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// Pooled returns the URL of an empty database behind PgBouncer in transaction mode, with
// fewer sessions than the test has clients. If PgBouncer is not installed, it skips the
// test.
func Pooled(t testing.TB) string {
	t.Helper()
	bouncer, err := exec.LookPath("pgbouncer")
	if err != nil {
		if bouncer = "/usr/sbin/pgbouncer"; exec.Command(bouncer, "--version").Run() != nil {
			t.Skip("NOT TESTED behind a pooler: install the package pgbouncer")
		}
	}
	direct, err := pgx.ParseConfig(Postgres(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "deskhand-pgb-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := hand(dir); err != nil {
		t.Fatal(err)
	}
	settings := filepath.Join(dir, "pgbouncer.ini")
	text := fmt.Sprintf(`[databases]
%s = host=%s dbname=%s
[pgbouncer]
listen_addr =
unix_socket_dir = %s
listen_port = 6432
auth_type = any
pool_mode = transaction
default_pool_size = 3
server_reset_query =
ignore_startup_parameters = extra_float_digits
`, direct.Database, direct.Host, direct.Database, dir)
	text = strings.Replace(text, "dbname="+direct.Database, "dbname="+direct.Database+" user="+direct.User, 1)
	if err := os.WriteFile(settings, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	cmd := exec.Command(bouncer, settings)
	cmd.Stdout, cmd.Stderr = log, log
	if err := demoted(cmd, dir).Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(os.Interrupt)
		cmd.Wait()
	})
	waittest.Until(t, "pgbouncer to answer", func() (bool, any) {
		conn, err := net.Dial("unix", filepath.Join(dir, ".s.PGSQL.6432"))
		if err == nil {
			conn.Close()
		}
		return err == nil, err
	})
	return "postgres://" + direct.User + "@/" + direct.Database + "?port=6432&pooler=transaction&host=" + url.QueryEscape(dir)
}
