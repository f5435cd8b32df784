package gateway

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"os/exec"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/proc"
)

// commandTransport starts a command in its own process group and exchanges messages
// with it over stdin and stdout, one per line. Unlike the SDK's transport, it
// limits their size.
type commandTransport struct {
	cmd *exec.Cmd
	in  *inflow
}

// Connect implements [mcp.Transport].
func (t commandTransport) Connect(ctx context.Context) (mcp.Connection, error) {
	stdin, stdout, err := proc.StartServer(t.cmd)
	if err != nil {
		return nil, err
	}
	lines := &messageLines{in: t.in, reader: bufio.NewReaderSize(stdout, readBytes)}
	conn, err := (&mcp.IOTransport{Reader: io.NopCloser(lines), Writer: stdin, MaxLineLength: -1}).Connect(ctx)
	if err != nil {
		return nil, err
	}
	return commandConn{conn, t.in}, nil
}

type commandConn struct {
	mcp.Connection
	in *inflow
}

func (c commandConn) Write(ctx context.Context, message jsonrpc.Message) error {
	c.in.notes(ctx, message)
	return c.Connection.Write(ctx, outward(message))
}

// messageLines reads messages, one per line.
type messageLines struct {
	in      *inflow
	reader  *bufio.Reader
	pending pieces
	place   *place // buffer space of the message being read, if it belongs to no call; otherwise nil
	err     error
}

func (l *messageLines) Read(p []byte) (int, error) {
	for l.pending.empty() && l.err == nil {
		l.place.leave()
		l.pending, l.place, l.err = l.next()
	}
	if n := l.pending.read(p); n > 0 {
		return n, nil
	}
	return 0, l.err
}

// next returns the next message to forward, or nothing if it is not forwarded. If a
// message is too long or gets no buffer space, only its ends are kept. While a
// message is waiting for buffer space, nothing else is read from the command.
func (l *messageLines) next() (pieces, *place, error) {
	line := l.in.gather(context.Background())
	var head, tail []byte
	var why error // nil if the message is forwarded
	for {
		part, err := l.reader.ReadSlice('\n')
		if why == nil && line.size+len(part) > smallAnswer && line.place == nil {
			head, tail = line.ends()
			line.ctx, _ = l.in.callOf(idIn(head, nil))
		}
		if why == nil {
			why = line.add(part, line.most)
			if why != nil {
				head, tail = line.ends()
				line.drop()
			}
		}
		if why != nil {
			head = append(head, part[:min(len(part), max(0, endBytes-len(head)))]...)
			tail = append(tail, part...)
			tail = append(tail[:0], tail[max(0, len(tail)-endBytes):]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if why == nil {
			return l.whole(line, err)
		}
		answer := l.in.instead(idIn(head, tail), why)
		switch {
		case answer != nil:
			return pieces{answer, newLine}, nil, err
		case errors.Is(why, errTooMuch), errors.Is(why, errNoPlace), errors.Is(why, errTooSlow):
			return nil, nil, errTooMuch // the caller is unknown and cannot be told
		}
		return nil, nil, err
	}
}

var newLine = []byte("\n")

// whole returns a line in the form in which it is forwarded. If the line is the
// answer to a call, the call takes over its buffer space.
func (l *messageLines) whole(line *gathered, err error) (pieces, *place, error) {
	taken, id, isAnswer := []byte(nil), []byte(nil), false
	if text := bytes.TrimSpace(line.taken()); len(text) > 0 {
		taken, id, isAnswer = l.in.message(text)
	}
	if taken == nil {
		line.drop()
		return nil, nil, err
	}
	var c *call
	if isAnswer {
		_, c = l.in.callOf(id)
	}
	return pieces{taken, newLine}, line.handTo(c), err
}

// pieces holds data to forward in several slices, so it need not be joined.
type pieces [][]byte

func (p *pieces) empty() bool {
	for len(*p) > 0 && len((*p)[0]) == 0 {
		*p = (*p)[1:]
	}
	return len(*p) == 0
}

// read works like [io.Reader.Read]. It returns 0 at the end.
func (p *pieces) read(into []byte) int {
	if p.empty() {
		return 0
	}
	n := copy(into, (*p)[0])
	(*p)[0] = (*p)[0][n:]
	return n
}
