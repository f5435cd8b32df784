package logs

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// Spool is the file to which raw lines are written first. A record is a byte for the stream
// and for whether the line continues in the next record, then the line, then a newline. It
// takes one byte more than the output that it stores, and any pager can show the file.
type Spool struct {
	file *os.File
	end  int64
	buf  []byte
}

// OpenSpool opens the file for appending. If the file is missing, OpenSpool
// creates it so that only its owner can read it. If a crash has truncated the
// last record, OpenSpool removes that record.
func OpenSpool(path string) (*Spool, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open spool: %w", err)
	}
	end, err := readSpool(f, 0, func(record, int64) error { return nil })
	if err == nil {
		err = f.Truncate(end)
	}
	if err == nil {
		_, err = f.Seek(end, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, fmt.Errorf("open spool: %w", err)
	}
	return &Spool{file: f, end: end}, nil
}

// record is a line, or a piece of a line. Its content has no newline and at most maxLine
// bytes.
type record struct {
	stream  Stream
	cut     bool
	content []byte
	end     int64 // offset of the record's end in the spool
}

// write appends records with one system call, so that they survive the end of
// this process. It sets the end of each record.
func (s *Spool) write(records []record) error {
	s.buf = s.buf[:0]
	for i, r := range records {
		s.buf = append(s.buf, markOf(r))
		s.buf = append(s.buf, r.content...)
		s.buf = append(s.buf, '\n')
		records[i].end = s.end + int64(len(s.buf))
	}
	n, err := s.file.Write(s.buf)
	if err != nil {
		if n > 0 { // end the line, so that later records can be read
			s.file.Truncate(s.end)
			s.file.Seek(s.end, io.SeekStart)
		}
		return fmt.Errorf("write spool: %w", err)
	}
	s.end += int64(n)
	return nil
}

// Close writes the file to disk and closes it.
func (s *Spool) Close() error {
	return errors.Join(s.file.Sync(), s.file.Close())
}

// readSpool calls each for every record from offset on, with the record and its
// end offset. It returns the end offset of the last complete record. A record
// is valid only during the call.
func readSpool(f io.ReaderAt, offset int64, each func(record, int64) error) (int64, error) {
	in := bufio.NewReaderSize(io.NewSectionReader(f, offset, 1<<62), maxLine+2)
	for {
		line, err := in.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return offset, nil // not a spool record, so the rest cannot be read
		}
		if err != nil {
			return offset, notEOF(err)
		}
		r, ok := marks[line[0]]
		if !ok {
			return offset, nil
		}
		r.content = bytes.Clone(line[1 : len(line)-1])
		next := offset + int64(len(line))
		if err := each(r, next); err != nil {
			return offset, err
		}
		offset = next
	}
}

// marks are the first bytes of records.
var marks = map[byte]record{
	'o': {stream: Stdout}, 'O': {stream: Stdout, cut: true},
	'e': {stream: Stderr}, 'E': {stream: Stderr, cut: true},
}

func markOf(r record) byte {
	mark := byte('o')
	if r.stream == Stderr {
		mark = 'e'
	}
	if r.cut {
		mark -= 'a' - 'A'
	}
	return mark
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("read spool: %w", err)
}
