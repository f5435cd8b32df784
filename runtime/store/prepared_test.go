package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"path/filepath"
	"testing"

	"modernc.org/sqlite"
)

// counting counts the statements that its connections prepare.
type counting struct {
	driver.Connector
	prepared *int
}

func (c counting) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return countingConn{conn.(fullConn), c.prepared}, nil
}

type countingConn struct {
	fullConn
	prepared *int
}

func (c countingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	*c.prepared++
	return c.fullConn.PrepareContext(ctx, query)
}

// keeping opens an empty database with one connection.
func keeping(t *testing.T) (pool *sql.DB, prepared *int) {
	t.Helper()
	connector, err := sqlite.NewConnector(addressOf(filepath.Join(t.TempDir(), "x.db")))
	if err != nil {
		t.Fatal(err)
	}
	prepared = new(int)
	pool = sql.OpenDB(preparing{counting{connector, prepared}})
	pool.SetMaxOpenConns(1)
	t.Cleanup(func() {
		if err := pool.Close(); err != nil {
			t.Error(err)
		}
	})
	if _, err := pool.Exec("CREATE TABLE a (n INTEGER); CREATE TABLE b (n INTEGER)"); err != nil {
		t.Fatal(err)
	}
	return pool, prepared
}

func TestStatementsArePreparedOnce(t *testing.T) {
	pool, prepared := keeping(t)
	for n := range 10 {
		if _, err := pool.Exec("INSERT INTO a (n) VALUES (?)", n); err != nil {
			t.Fatal(err)
		}
		var got int
		if err := pool.QueryRow("SELECT count(*) FROM a").Scan(&got); err != nil || got != n+1 {
			t.Fatalf("count = %d, %v; want %d", got, err, n+1)
		}
	}
	if *prepared != 2 {
		t.Errorf("%d statements were prepared, want 2", *prepared)
	}
	if _, err := pool.Exec("ALTER TABLE a ADD COLUMN m INTEGER DEFAULT 7"); err != nil {
		t.Fatal(err)
	}
	rows, err := pool.Query("SELECT * FROM a WHERE n = ?", 3)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	if columns, err := rows.Columns(); err != nil || len(columns) != 2 {
		t.Errorf("after a change of the schema: %v, %v; want both columns", columns, err)
	}
}

func TestAStatementCanBeUsedWhileItsRowsAreRead(t *testing.T) {
	pool, _ := keeping(t)
	tx, err := pool.Begin()
	if err != nil {
		t.Fatal(err)
	}
	defer tx.Rollback()
	for n := range 3 {
		if _, err := tx.Exec("INSERT INTO a (n) VALUES (?)", n); err != nil {
			t.Fatal(err)
		}
	}
	const query = "SELECT n FROM a WHERE n >= ? ORDER BY n"
	var got []string
	outer, err := tx.Query(query, 0)
	if err != nil {
		t.Fatal(err)
	}
	for outer.Next() {
		var n int
		if err := outer.Scan(&n); err != nil {
			t.Fatal(err)
		}
		inner, err := tx.Query(query, n)
		if err != nil {
			t.Fatal(err)
		}
		for inner.Next() {
			var m int
			if err := inner.Scan(&m); err != nil {
				t.Fatal(err)
			}
			got = append(got, fmt.Sprint(n, m))
		}
		if err := inner.Err(); err != nil {
			t.Fatal(err)
		}
	}
	if want := "[0 0 0 1 0 2 1 1 1 2 2 2]"; fmt.Sprint(got) != want || outer.Err() != nil {
		t.Errorf("rows = %v, %v; want %s", got, outer.Err(), want)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
}

func TestAConnectionKeepsFewStatements(t *testing.T) {
	pool, prepared := keeping(t)
	for n := range 3 * mostKept {
		var got int
		if err := pool.QueryRow(fmt.Sprintf("SELECT %d + ?", n), 1).Scan(&got); err != nil || got != n+1 {
			t.Fatalf("%d + 1 = %d, %v", n, got, err)
		}
	}
	err := func() error {
		conn, err := pool.Conn(t.Context())
		if err != nil {
			return err
		}
		defer conn.Close()
		return conn.Raw(func(c any) error {
			if kept := len(c.(*preparingConn).kept); kept != mostKept || *prepared != 3*mostKept {
				t.Errorf("%d of %d statements are kept, want %d", kept, *prepared, mostKept)
			}
			return nil
		})
	}()
	if err != nil {
		t.Fatal(err)
	}
}
