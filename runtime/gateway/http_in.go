package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// take puts the answer to a request over HTTP through the inflow.
func (in *inflow) take(r *http.Request, answer *http.Response) error {
	id := idOf(r)
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") && answer.StatusCode < http.StatusBadRequest {
		answer.Body = &events{in: in, from: answer.Body, reader: bufio.NewReader(answer.Body), id: id}
		return nil
	}
	defer answer.Body.Close()
	most := in.most()
	if answer.StatusCode >= http.StatusBadRequest {
		most = min(most, maxWeb)
	}
	text, err := io.ReadAll(io.LimitReader(answer.Body, int64(most)+1))
	if err != nil {
		return err
	}
	if len(text) > most {
		if text = in.tooLong(id); text == nil {
			return errTooMuch
		}
		answer.StatusCode = http.StatusOK
		answer.Header.Set("Content-Type", "application/json")
	} else if text, _ = in.message(text); text == nil {
		return errors.New("the answer is no answer")
	}
	answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
	return nil
}

// idOf is the id of the request in a body that can be read again; nil: it has
// none.
func idOf(r *http.Request) []byte {
	if r.GetBody == nil {
		return nil
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	defer body.Close()
	var m struct{ ID json.RawMessage }
	if json.NewDecoder(body).Decode(&m) != nil || string(m.ID) == "null" {
		return nil
	}
	return m.ID
}

// events is a stream of events, each of which is a message. It ends with the
// answer to the request whose stream it is.
type events struct {
	in      *inflow
	from    io.Closer
	reader  *bufio.Reader
	id      []byte // of the request; nil: it is the stream of none
	pending []byte
	err     error
}

func (e *events) Close() error { return e.from.Close() }

func (e *events) Read(p []byte) (int, error) {
	for len(e.pending) == 0 && e.err == nil {
		e.pending, e.err = e.next()
	}
	n := copy(p, e.pending)
	e.pending = e.pending[n:]
	if n == 0 {
		return 0, e.err
	}
	return n, nil
}

// next is the next event as it is passed on; empty: it is not.
func (e *events) next() ([]byte, error) {
	var fields, data []byte
	size, tooLong := 0, false
	for {
		line, err := e.line(e.in.most() - size)
		if errors.Is(err, errTooMuch) {
			fields, data, size, tooLong = nil, nil, 0, true
			continue
		}
		text := bytes.TrimRight(line, "\r\n")
		value, isData := bytes.CutPrefix(text, []byte("data:"))
		switch {
		case tooLong:
		case isData && data == nil:
			data = append([]byte{}, bytes.TrimSpace(value)...)
		case isData:
			data = append(append(data, '\n'), bytes.TrimSpace(value)...)
		case len(text) > 0:
			fields = append(fields, line...)
		}
		if size += len(line); tooLong {
			size = 0
		}
		if err != nil || len(text) == 0 { // the end of the event, or of the stream
			taken, end := e.whole(fields, data, tooLong)
			return taken, cmp.Or(end, err)
		}
	}
}

// whole is one event as it is passed on.
func (e *events) whole(fields, data []byte, tooLong bool) ([]byte, error) {
	if tooLong {
		data = e.in.tooLong(e.id)
		if data == nil {
			return nil, nil
		}
		return event(nil, data), io.EOF
	}
	if len(data) == 0 {
		return append(fields, '\n'), nil // as one that says where the stream can be taken up
	}
	taken, isAnswer := e.in.message(data)
	if taken == nil {
		return nil, nil
	}
	if isAnswer && e.id != nil {
		return event(fields, taken), io.EOF
	}
	return event(fields, taken), nil
}

func event(fields, data []byte) []byte {
	out := append(fields, "data: "...)
	out = append(out, bytes.ReplaceAll(data, []byte("\n"), []byte(" "))...)
	return append(out, "\n\n"...)
}

// line is the next line with its end. If it is longer than most it is read to its
// end and dropped: the error is errTooMuch.
func (e *events) line(most int) (line []byte, err error) {
	dropped := false
	for {
		part, err := e.reader.ReadSlice('\n')
		if dropped = dropped || len(line)+len(part) > most; dropped {
			line = nil
		} else {
			line = append(line, part...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil:
			return line, err
		case dropped:
			return nil, errTooMuch
		}
		return line, nil
	}
}
