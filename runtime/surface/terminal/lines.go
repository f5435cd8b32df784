package terminal

import (
	"bufio"
	"errors"
	"os"
	"strings"

	"github.com/muesli/cancelreader"
)

// lines reads a terminal line by line. It can be stopped while the person types
// nothing. out is closed when the terminal is closed.
type lines struct {
	out    chan string
	reader cancelreader.CancelReader
	halt   chan struct{} // closed when nobody reads from out any more
	done   chan struct{} // closed when reading has ended
}

func readLines(f *os.File) (*lines, error) {
	l := &lines{out: make(chan string)}
	return l, l.start(f)
}

// start starts reading. It may be called again after stop.
func (l *lines) start(f *os.File) (err error) {
	if l.reader, err = cancelreader.NewReader(f); err != nil {
		return err
	}
	l.halt, l.done = make(chan struct{}), make(chan struct{})
	go l.read(bufio.NewReader(l.reader), l.halt, l.done)
	return nil
}

func (l *lines) read(reader *bufio.Reader, halt, done chan struct{}) {
	defer close(done)
	for {
		text, err := reader.ReadString('\n')
		if errors.Is(err, cancelreader.ErrCanceled) {
			return
		}
		if err != nil && text == "" {
			close(l.out)
			return
		}
		select {
		case l.out <- strings.TrimRight(text, "\r\n"):
		case <-halt:
			return
		}
	}
}

// stop stops reading. Another program gets any later input.
func (l *lines) stop() {
	close(l.halt)
	l.reader.Cancel()
	<-l.done
	l.reader.Close()
}
