package mcpserver

import (
	"bufio"
	"errors"
	"io"
)

// line is one line of input without its end, or why there is none.
type line struct {
	data    []byte
	tooLong bool  // it was skipped to its end
	err     error // io.EOF, or what ended the reading; the last one sent
}

// readLines sends r's lines until r ends or stop is closed. A line longer than
// max bytes is skipped and only reported, so memory stays bounded by about
// twice max. A last line without an end counts.
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
			skipping = len(held)+len(part) > max+1 // the end does not count
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
		held, skipping = nil, false // the receiver keeps what it was sent
		if err != nil {
			send(line{err: err})
			return
		}
	}
}
