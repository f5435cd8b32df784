package mcpserver

import (
	"bufio"
	"errors"
	"io"
)

// line is one line of input without its line break, or the reason why there is
// none.
type line struct {
	data    []byte
	tooLong bool  // the line was skipped
	err     error // io.EOF or the read error; the last line sent
}

// readLines sends r's lines until r ends or stop is closed. A line longer than max
// bytes is skipped and only reported, so memory stays limited to about twice max. A
// last line without a line break counts.
func readLines(r io.Reader, max int, lines chan<- line, stop <-chan struct{}) {
	send := func(l line) bool {
		select {
		case lines <- l:
			return true
		case <-stop:
			return false
		}
	}
	in := bufio.NewReaderSize(r, 64<<10)
	var held []byte
	skipping := false
	for {
		part, err := in.ReadSlice('\n')
		if !skipping {
			skipping = len(held)+len(part) > max+1 // the line break does not count
			held = append(held, part...)
		}
		if skipping {
			held = nil
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if skipping || len(held) > 0 {
			if !send(line{data: held, tooLong: skipping}) {
				return
			}
		}
		held, skipping = nil, false // the receiver keeps the line that it received
		if err != nil {
			send(line{err: err})
			return
		}
	}
}
