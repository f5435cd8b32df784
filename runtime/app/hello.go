package app

import (
	"bufio"
	"bytes"
	"context"
	"io"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// maxHello bounds the first message of a client as far as it is looked at; an
// initialize request has less than a kilobyte.
const maxHello = 64 << 10

// hello reads what the first message of a client over stdio says that the client
// lends, so that upstreams are started once, with that. rest has the message
// too. It returns at the end of ctx, even though nobody can end its reading.
func hello(ctx context.Context, in io.Reader) (l contract.Lends, rest io.Reader) {
	read := bufio.NewReaderSize(in, maxHello)
	first := make(chan []byte, 1)
	go func() {
		line, _ := read.ReadSlice('\n') // its error comes again
		first <- bytes.Clone(line)
	}()
	select {
	case line := <-first:
		return mcpserver.FirstLends(line), io.MultiReader(bytes.NewReader(line), read)
	case <-ctx.Done():
		return l, bytes.NewReader(nil)
	}
}
