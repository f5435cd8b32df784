package executor

import (
	"bufio"
	"errors"
	"io"

	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// maxLine is the maximum length of an event in bytes. It is large because
// agents put whole files into one event. A longer line appears only in the raw
// log.
const maxLine = 16 << 20

// rawTee copies everything that is read through it to the raw log.
type rawTee struct {
	from io.Reader
	log  Log
}

func (t *rawTee) Read(p []byte) (int, error) {
	n, err := t.from.Read(p)
	if n > 0 {
		t.log.Raw(logs.Stdout, p[:n])
	}
	return n, err
}

// eachLine calls each with every line, without the line's newline. line is
// valid only until the next call. For a line that is too long, line is nil.
func eachLine(from io.Reader, each func(line []byte)) {
	in := bufio.NewReaderSize(from, 64<<10)
	var long []byte
	tooLong := false
	for {
		part, err := in.ReadSlice('\n')
		whole := err == nil
		if whole {
			part = part[:len(part)-1]
		}
		switch {
		case tooLong:
		case len(long)+len(part) > maxLine:
			tooLong, long = true, nil
		case !whole || len(long) > 0:
			long = append(long, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch {
		case tooLong:
			each(nil)
		case len(long) > 0:
			each(long)
		case whole:
			each(part)
		}
		tooLong, long = false, long[:0]
		if err != nil {
			return
		}
	}
}
