package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// ServeStdio serves one client, one message per line, until the client closes its
// end or ctx ends. Both are a normal end and return nil after the running calls
// have ended or Options.DrainTime has passed. It answers or ignores all input as
// JSON-RPC requires; nothing in the input stops the server. An error means that
// reading the input or writing the output failed.
//
// Only messages are written to the output. Reads and writes of terminals and pipes
// cannot be interrupted. So the goroutine that reads the input outlives the call if
// the input does not end, and the goroutine that writes the output does if the
// other side does not read.
func (s *Server) ServeStdio(ctx context.Context, in io.Reader, out io.Writer) error {
	conn := newLineConn(s, in, out, ctx.Done())
	defer conn.Close()
	session, err := s.sdk.Connect(context.WithoutCancel(ctx), connected{conn}, nil)
	if err != nil {
		return fmt.Errorf("start session: %w", err)
	}
	conn.session.Store(session)
	ended := make(chan error, 1)
	go func() {
		err := session.Wait()
		conn.fast.Wait()
		ended <- err
	}()
	late := make(chan struct{})
	forget := context.AfterFunc(ctx, func() { time.AfterFunc(s.opts.DrainTime, func() { close(late) }) })
	defer forget()
	select {
	case err := <-ended:
		return conn.ending(err)
	case <-conn.drained:
	case <-late:
		conn.cancelAll() // reading is blocked by an answer that the client does not read
	}
	// The running calls were cancelled. Those that ignore this are abandoned.
	select {
	case err := <-ended:
		return conn.ending(err)
	case <-time.After(cancelTime):
		s.opts.Logger.Warn("calls left unanswered at the end of input", slog.Int("calls", conn.inFlight()))
		return conn.ending(nil)
	}
}

// cancelTime is how long a cancelled call may take to notice.
const cancelTime = 500 * time.Millisecond

// connected is a transport whose connection already exists.
type connected struct{ conn mcp.Connection }

func (c connected) Connect(context.Context) (mcp.Connection, error) { return c.conn, nil }

func (c *lineConn) ending(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.readErr != nil {
		return fmt.Errorf("read messages: %w", c.readErr)
	}
	if c.writeErr != nil {
		err = c.writeErr
	}
	if err == nil || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe) {
		return nil
	}
	return fmt.Errorf("write messages: %w", err)
}
