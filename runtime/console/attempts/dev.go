package attempts

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Dev runs an attempt's dev server, and prints its output until it ends or ctx ends. If
// stop is set, it stops the server that another process runs.
func (c *Command) Dev(ctx context.Context, prefix string, stop bool) error {
	id, err := c.attempt(ctx, prefix)
	if err != nil {
		return err
	}
	if stop {
		stopped, err := c.Manager.StopDevServer(ctx, id)
		if err == nil && !stopped {
			c.Tell("no dev server is running")
			return nil
		}
		if err != nil {
			return err
		}
		return c.Line("%s  stopped", brief(id))
	}
	d, done, err := c.Manager.StartDevServer(ctx, id, plainWriter{c.Stdout})
	if err != nil {
		return err
	}
	c.Tell(fmt.Sprintf("the dev server of attempt %s is starting on %s; Ctrl-C stops it", brief(id), d.URL()))
	select {
	case <-ctx.Done():
		if _, err := c.Manager.StopDevServer(context.WithoutCancel(ctx), id); err != nil {
			return err // the manager ends the server when it is closed
		}
		<-done
		return nil
	case <-done:
	}
	now, err := c.Manager.DevServer(ctx, id)
	if err != nil || now == nil || now.Ended == devStopped {
		return err
	}
	at, err := c.Manager.Context(ctx, id)
	if err != nil {
		return err
	}
	return fault.New("dev_server_ended", "the dev server ended: "+now.Ended, "fix the command: deskhand tasks project set "+shellWord(at.Project.Name)+" --dev-server COMMAND")
}

// devStopped is [tasks.DevServer].Ended of a server that a person stopped.
const devStopped = "stopped"

// plainWriter writes text without characters that could control a terminal.
type plainWriter struct{ to io.Writer }

func (w plainWriter) Write(p []byte) (int, error) {
	_, err := io.WriteString(w.to, console.PainterFor(w.to).Plain(string(p)))
	if errors.Is(err, os.ErrClosed) {
		err = nil
	}
	return len(p), err
}

// devLine returns the line of show about an attempt's dev server, or "".
func (c *Command) devLine(ctx context.Context, attemptID string) string {
	d, err := c.Manager.DevServer(ctx, attemptID)
	switch {
	case err != nil || d == nil || d.Ended == devStopped:
		return ""
	case d.Ended != "":
		return "dev       ended: " + d.Ended + "\n"
	}
	return "dev       " + d.URL() + "\n"
}
