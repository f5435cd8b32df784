package worktree

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/deskhand/deskhand/runtime/fault"
)

// maxOutput is the maximum number of bytes to keep of one git command's output.
// An agent can make git print any amount, so one file could exhaust the
// server's memory. The limit is enough for the names of half a million files.
// Output that may be longer is read part by part, with [each].
const maxOutput = 64 << 20

// maxPart is the maximum size, in bytes, of one part of output that is read
// part by part. A path is at most 4 KiB long on Linux.
const maxPart = 1 << 20

// run runs git and returns its output. It returns a fault if the output is longer than
// maxOutput.
func run(cmd gitCommand) ([]byte, error) {
	out := &bounded{limit: maxOutput}
	cmd.Stdout = out
	err := stream(cmd)
	if out.over {
		return nil, tooLong(cmd, "more than 64 MiB")
	}
	return out.Bytes(), err
}

func tooLong(cmd gitCommand, what string) error {
	return fault.New(OutputTooLarge, fmt.Sprintf("git %s printed %s", cmd.verb, what),
		"delete generated files from the worktree, or add them to .gitignore")
}

// bounded is an output that stops its program when the output gets too long.
type bounded struct {
	bytes.Buffer
	limit int
	over  bool
}

var errLong = errors.New("the output is too long")

func (k *bounded) Write(p []byte) (int, error) {
	if k.Len()+len(p) > k.limit {
		k.over = true
		k.Reset()
		return 0, errLong
	}
	return k.Buffer.Write(p)
}

// each calls f with the NUL-terminated parts of git's output while git runs. It
// keeps only one part at a time in memory. An error from f stops git, and is
// returned.
func each(cmd gitCommand, f func(part string) error) error {
	parts := &parts{f: f}
	cmd.Stdout = parts
	err := stream(cmd)
	switch {
	case errors.Is(parts.err, errLong):
		return tooLong(cmd, "a name of more than 1 MiB")
	case parts.err != nil:
		return parts.err
	}
	return err
}

type parts struct {
	f    func(string) error
	rest []byte // beginning of an incomplete part
	err  error
}

func (p *parts) Write(data []byte) (int, error) {
	n := len(data)
	for p.err == nil {
		end := bytes.IndexByte(data, 0)
		if end < 0 {
			break
		}
		p.err = p.f(string(append(p.rest, data[:end]...)))
		p.rest, data = p.rest[:0], data[end+1:]
	}
	if p.err == nil && len(p.rest)+len(data) > maxPart {
		p.err = errLong
	}
	if p.err != nil {
		return 0, p.err
	}
	p.rest = append(p.rest, data...)
	return n, nil
}

// through runs git with input that write produces bit by bit.
func through(cmd gitCommand, write func(to io.Writer) error) error {
	in, to := io.Pipe()
	cmd.Stdin = in
	done := make(chan error, 1)
	go func() {
		err := write(to)
		to.CloseWithError(err)
		done <- err
	}()
	_, err := run(cmd)
	in.CloseWithError(errors.New("git has exited")) // stops write if git did not read all of its input
	if e := <-done; err == nil {
		err = e
	}
	return err
}
