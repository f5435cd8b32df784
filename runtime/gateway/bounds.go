package gateway

import (
	"errors"
	"io"
)

// errTooMuch is returned when a sender exceeds its size limit.
var errTooMuch = errors.New("the answer is too long")

// bounded limits a body to left more bytes. Beyond them, Read returns errTooMuch.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errTooMuch
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}
