package store

import (
	"context"
	"database/sql/driver"
	"strings"

	"modernc.org/sqlite"
)

// mostKept is the maximum number of statements that a connection keeps. Each has some
// kilobytes.
const mostKept = 64

// preparing is a connector whose connections keep the statements that they have prepared,
// because to parse one takes SQLite longer than to execute it. [sql.DB.Prepare] cannot do
// this inside of a transaction of a pool that has a single connection.
type preparing struct{ driver.Connector }

// Connect implements [driver.Connector].
func (p preparing) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &preparingConn{fullConn: c.(fullConn), kept: map[string]*statement{}}, nil
}

// fullConn is everything that package sql looks for in a connection of SQLite.
type fullConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
	sqlite.FileControl
}

// preparingConn is a connection that keeps statements by their text. Package sql uses a
// connection from one goroutine at a time.
type preparingConn struct {
	fullConn
	kept map[string]*statement
}

// statement is a prepared statement.
type statement struct {
	fullStatement
	busy bool // its rows are being read
}

type fullStatement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// ExecContext implements [driver.ExecerContext]. Text without parameters may be several
// statements or a PRAGMA, some of which have their effect when they are prepared.
func (c *preparingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if len(args) == 0 {
		return c.fullConn.ExecContext(ctx, query, args)
	}
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.fullConn.ExecContext(ctx, query, args)
	}
	return s.ExecContext(ctx, args)
}

// QueryContext implements [driver.QueryerContext].
func (c *preparingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if len(args) == 0 && !strings.HasPrefix(query, "SELECT ") {
		return c.fullConn.QueryContext(ctx, query, args)
	}
	s, err := c.prepared(ctx, query)
	if err != nil {
		return nil, err
	}
	if s == nil {
		return c.fullConn.QueryContext(ctx, query, args)
	}
	rows, err := s.QueryContext(ctx, args)
	if err != nil {
		return nil, err
	}
	s.busy = true
	return &preparedRows{rows, s}, nil
}

// prepared returns the statement with a text, or nil if that is busy.
func (c *preparingConn) prepared(ctx context.Context, query string) (*statement, error) {
	if s := c.kept[query]; s != nil {
		if s.busy {
			return nil, nil
		}
		return s, nil
	}
	made, err := c.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	c.makeRoom()
	s := &statement{fullStatement: made.(fullStatement)}
	c.kept[query] = s
	return s, nil
}

// makeRoom closes a statement, whichever, if there are too many.
func (c *preparingConn) makeRoom() {
	for query, s := range c.kept {
		if len(c.kept) < mostKept {
			return
		}
		if !s.busy {
			delete(c.kept, query)
			_ = s.Close() // its last use has told its errors
		}
	}
}

// Close implements [driver.Conn].
func (c *preparingConn) Close() error {
	for _, s := range c.kept {
		_ = s.Close()
	}
	clear(c.kept)
	return c.fullConn.Close()
}

// preparedRows are the rows of a kept statement.
type preparedRows struct {
	driver.Rows
	of *statement
}

// Close implements [driver.Rows]. The statement can be used again.
func (r *preparedRows) Close() error {
	r.of.busy = false
	return r.Rows.Close()
}
