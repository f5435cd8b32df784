package console

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Confirmed asks at the terminal and returns an error unless the answer is yes. If yes is
// set, it does not ask. Without a terminal, a script must pass --yes.
func (c *Console) Confirmed(ctx context.Context, question string, yes bool) error {
	if yes {
		return nil
	}
	if !OnTerminal(c.Stdin) {
		return fault.Misuse("this needs your confirmation, and there is no terminal", "add --yes")
	}
	agreed, err := c.Yes(ctx, question)
	if err == nil && !agreed {
		err = fault.Misuse("not confirmed; nothing was changed", "answer y, or pass --yes")
	}
	return err
}

// Yes asks at the terminal. Every answer except yes means no. An
// interrupt returns an error.
func (c *Console) Yes(ctx context.Context, question string) (bool, error) {
	fmt.Fprintf(c.Stderr, "%s [y/N] ", question)
	answer, err := readLine(ctx, c.Stdin)
	if err != nil {
		fmt.Fprintln(c.Stderr)
	}
	return strings.EqualFold(answer, "y") || strings.EqualFold(answer, "yes"), err
}

// Reply asks at the terminal and returns one line, trimmed.
func (c *Console) Reply(ctx context.Context, question string) (string, error) {
	fmt.Fprint(c.Stderr, PainterFor(c.Stderr).Plain(question))
	return readLine(ctx, c.Stdin)
}

// readLine reads one line and not a byte more. It returns early if ctx is done.
func readLine(ctx context.Context, from io.Reader) (string, error) {
	type said struct {
		line string
		err  error
	}
	heard := make(chan said, 1)
	go func() { // if ctx ends first, the goroutine lasts until the process ends
		var line []byte
		for one := make([]byte, 1); ; {
			n, err := from.Read(one)
			if n > 0 && one[0] != '\n' {
				line = append(line, one[0])
			}
			if errors.Is(err, io.EOF) {
				err = nil // counts as an empty line
				n, one[0] = 1, '\n'
			}
			if err != nil || n > 0 && one[0] == '\n' {
				heard <- said{strings.TrimSpace(string(line)), err}
				return
			}
		}
	}()
	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case s := <-heard:
		return s.line, s.err
	}
}
