package app

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// maxHello is the maximum number of bytes read from a client's first message. An
// initialize request is smaller than a kilobyte.
const maxHello = 64 << 10

// hello reads the capabilities that a stdio client announces in its first message, so
// upstreams are started only once, with those capabilities. rest returns the whole
// input, including that message. hello returns when ctx ends, even though the pending
// read cannot be cancelled.
func hello(ctx context.Context, in io.Reader) (l contract.Lends, rest io.Reader) {
	read := bufio.NewReaderSize(in, maxHello)
	first := make(chan []byte, 1)
	go func() {
		line, _ := read.ReadSlice('\n') // the next read returns the error again
		first <- bytes.Clone(line)
	}()
	select {
	case line := <-first:
		return mcpserver.FirstLends(line), io.MultiReader(bytes.NewReader(line), read)
	case <-ctx.Done():
		return l, bytes.NewReader(nil)
	}
}
