package logs

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// Spool is the file to which raw lines are written first. A record begins with
// a text line that contains the stream, the number of bytes, and whether the
// line continues in the next record. The bytes and a newline follow. Any pager
// can therefore show the file.
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

// record is a line, or a piece of a line.
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
		mark := "."
		if r.cut {
			mark = "+"
		}
		s.buf = fmt.Appendf(s.buf, "%s %d %s\n", r.stream, len(r.content), mark)
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
	in := bufio.NewReaderSize(io.NewSectionReader(f, offset, 1<<62), 64<<10)
	for {
		head, err := in.ReadString('\n')
		if err != nil {
			return offset, notEOF(err)
		}
		r, size, ok := parseHead(strings.TrimSuffix(head, "\n"))
		if !ok {
			return offset, nil // not a spool record, so the rest cannot be read
		}
		r.content = make([]byte, size+1)
		if _, err := io.ReadFull(in, r.content); err != nil {
			return offset, notEOF(err)
		}
		if r.content[size] != '\n' {
			return offset, nil
		}
		r.content = r.content[:size]
		next := offset + int64(len(head)+size+1)
		if err := each(r, next); err != nil {
			return offset, err
		}
		offset = next
	}
}

func parseHead(head string) (r record, size int, ok bool) {
	parts := strings.Split(head, " ")
	if len(parts) != 3 || parts[0] != string(Stdout) && parts[0] != string(Stderr) || parts[2] != "." && parts[2] != "+" {
		return record{}, 0, false
	}
	size, err := strconv.Atoi(parts[1])
	return record{stream: Stream(parts[0]), cut: parts[2] == "+"}, size, err == nil && size >= 0 && size <= maxLine
}

func notEOF(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil
	}
	return fmt.Errorf("read spool: %w", err)
}
