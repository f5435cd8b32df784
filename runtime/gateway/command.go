package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"syscall"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// stopTime is how long a command may take to end, after its stdin was closed, and
// again after SIGTERM.
const stopTime = 2 * time.Second

// commandTransport starts a command and speaks with it over stdin and stdout, a
// message a line. It is the SDK's, with our bounds.
type commandTransport struct {
	cmd *exec.Cmd
	in  *inflow
}

// Connect implements [mcp.Transport].
func (t commandTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	stdout, err := t.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	stdin, err := t.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := t.cmd.Start(); err != nil {
		return nil, err
	}
	lines := &messageLines{in: t.in, reader: bufio.NewReader(stdout)}
	conn, err := (&mcp.IOTransport{Reader: io.NopCloser(lines), Writer: process{t.cmd, stdin}, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return commandConn{conn}, nil
}

type commandConn struct{ mcp.Connection }

func (c commandConn) Write(ctx context.Context, message jsonrpc.Message) error {
	return c.Connection.Write(ctx, outward(message))
}

// process is the stdin of a command. To close it ends the command.
type process struct {
	cmd   *exec.Cmd
	stdin io.WriteCloser
}

func (p process) Write(b []byte) (int, error) { return p.stdin.Write(b) }

// Close closes stdin, as the protocol has it, and ends a command that goes on.
func (p process) Close() error {
	if err := p.stdin.Close(); err != nil {
		return fmt.Errorf("close stdin of command: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.cmd.Wait() }()
	for _, end := range []func() error{
		func() error { return nil },
		func() error { return p.cmd.Process.Signal(syscall.SIGTERM) },
		p.cmd.Process.Kill,
	} {
		if end() != nil { // SIGTERM is not to be had on Windows
			continue
		}
		select {
		case err := <-ended:
			return err
		case <-time.After(stopTime):
		}
	}
	return errors.New("the command does not end")
}

// messageLines reads messages, a line each.
type messageLines struct {
	in      *inflow
	reader  *bufio.Reader
	pending []byte
	err     error
}

func (l *messageLines) Read(p []byte) (int, error) {
	for len(l.pending) == 0 && l.err == nil {
		l.pending, l.err = l.next()
	}
	n := copy(p, l.pending)
	if l.pending = l.pending[n:]; n == 0 {
		return 0, l.err
	}
	return n, nil
}

// next is the next message as it is passed on; empty: it is not. Of one that is
// too long only the ends are kept.
func (l *messageLines) next() ([]byte, error) {
	var line, head, tail []byte
	for {
		part, err := l.reader.ReadSlice('\n')
		if head == nil && len(line)+len(part) > l.in.most() {
			line = append(line, part...)
			head, tail, line = bytes.Clone(line[:min(len(line), endBytes)]), line[max(0, len(line)-endBytes):], nil
			tail = bytes.Clone(tail)
		} else if head != nil {
			tail = append(tail, part...)
			tail = append(tail[:0], tail[max(0, len(tail)-endBytes):]...)
		} else {
			line = append(line, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if head != nil {
			answer := l.in.tooLong(idIn(head, tail))
			if answer == nil {
				return nil, errTooMuch
			}
			return append(answer, '\n'), err
		}
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			return nil, err
		}
		taken, _ := l.in.message(text)
		if taken == nil {
			return nil, err
		}
		return append(taken[:len(taken):len(taken)], '\n'), err
	}
}
