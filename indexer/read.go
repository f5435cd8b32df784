package indexer

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

func readSettings(name string) ([]byte, error) {
	return readFile(name, maxSettingsBytes, nil)
}

// readFile reads a regular file of at most limit bytes into buffer, and grows the
// buffer if needed. It never blocks. If a pipe has replaced the file since the walk,
// readFile opens the pipe without blocking and returns an error.
func readFile(name string, limit int64, buffer []byte) ([]byte, error) {
	f, err := os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	if info.Size() > limit {
		return nil, fmt.Errorf("%d bytes, more than the limit of %d", info.Size(), limit)
	}
	// With one extra byte, Read detects the end of the file without growing the
	// buffer.
	if need := int(info.Size()) + 1; cap(buffer) < need {
		buffer = make([]byte, need)
	}
	buffer = buffer[:cap(buffer)]
	n := 0
	for {
		got, err := f.Read(buffer[n:])
		n += got
		switch {
		case err == io.EOF:
			return buffer[:n], nil
		case err != nil:
			return nil, err
		case int64(n) > limit:
			return nil, fmt.Errorf("more than the limit of %d bytes", limit)
		case n == len(buffer):
			buffer = append(buffer, 0)
			buffer = buffer[:cap(buffer)]
		}
	}
}

// cause returns the part of err's message that does not repeat the file's name.
func cause(err error) string {
	if at := new(fs.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
