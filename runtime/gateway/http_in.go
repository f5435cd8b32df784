package gateway

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
)

// take puts the answer to a request over HTTP through the inflow.
func (in *inflow) take(r *http.Request, answer *http.Response) error {
	c, _ := r.Context().Value(callKey{}).(*call)
	if strings.HasPrefix(answer.Header.Get("Content-Type"), "text/event-stream") && answer.StatusCode < http.StatusBadRequest {
		answer.Body = &events{in: in, from: answer.Body, reader: bufio.NewReaderSize(answer.Body, readBytes), ctx: r.Context(), call: c, id: idOf(r)}
		return nil
	}
	defer answer.Body.Close()
	read := in.gather(r.Context())
	if answer.StatusCode >= http.StatusBadRequest {
		read.most = min(read.most, maxWeb)
	}
	text, err := read.all(answer.Body, answer.ContentLength)
	if err != nil {
		read.drop()
		if text = in.instead(idOf(r), err); text == nil {
			return err
		}
		answer.StatusCode = http.StatusOK
		answer.Header.Set("Content-Type", "application/json")
	} else if text, _, _ = in.message(text); text == nil {
		read.drop()
		return errors.New("the answer is not a valid response")
	}
	answer.Body, answer.ContentLength = &wholeBody{bytes.NewReader(text), read.handTo(c)}, int64(len(text))
	return nil
}

// wholeBody is a body that was read. Its place, if it is no call's, is left at its end.
type wholeBody struct {
	*bytes.Reader
	place *place
}

func (w *wholeBody) Close() error {
	w.place.leave()
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
	ctx     context.Context // of the request
	call    *call           // that the request is of; nil: none
	id      []byte          // of the request; nil: it is the stream of none
	pending pieces
	place   *place // of what is pending, if it is no call's; nil: none
	err     error
}

func (e *events) Close() error {
	e.place.leave()
	return e.from.Close()
}

func (e *events) Read(p []byte) (int, error) {
	for e.pending.empty() && e.err == nil {
		e.place.leave()
		e.pending, e.place, e.err = e.next()
	}
	if n := e.pending.read(p); n > 0 {
		return n, nil
	}
	return 0, e.err
}

// event is one event as it is read.
type event struct {
	fields []byte    // those that are no data, each with the end of its line
	data   *gathered // the lines of data, as one
	isData bool      // of the line that is being read
	lines  int       // of data
	size   int       // of all of it, in bytes
	why    error     // it is not passed on; nil: it is
}

// next is the next event as it is passed on; empty: it is not.
func (e *events) next() (pieces, *place, error) {
	ev := &event{data: e.in.gather(e.ctx)}
	for starts, blank := true, false; ; {
		part, err := e.reader.ReadSlice('\n')
		if starts {
			blank = len(bytes.TrimRight(part, "\r\n")) == 0
		}
		ev.add(part, starts)
		switch starts = !errors.Is(err, bufio.ErrBufferFull); {
		case ev.why != nil && e.id != nil: // it ends the stream
			return e.whole(ev, nil)
		case !starts:
		case err != nil || blank: // the end of the event, or of the stream
			return e.whole(ev, err)
		}
	}
}

// add adds a part of a line, or of what stands for one: the first if it starts it.
func (ev *event) add(part []byte, starts bool) {
	ev.size += len(part)
	if starts {
		var value []byte
		if value, ev.isData = bytes.CutPrefix(part, []byte("data:")); ev.isData {
			part = bytes.TrimLeft(value, " ")
			if ev.lines++; ev.lines > 1 {
				part = append([]byte(" "), part...) // a newline would end the line anew
			}
		}
	}
	switch {
	case ev.why != nil:
	case ev.size > ev.data.most:
		ev.why = errTooMuch
	case ev.isData:
		ev.why = ev.data.add(bytes.TrimRight(part, "\r\n"), ev.data.most)
	case len(ev.fields)+len(part) > smallAnswer:
		ev.why = errTooMuch
	case len(bytes.TrimRight(part, "\r\n")) > 0 || !starts:
		ev.fields = append(ev.fields, part...)
	}
	if ev.why != nil {
		ev.fields = nil
		ev.data.drop()
	}
}

// whole is one event as it is passed on, with its place if that is not its call's,
// and what ends the stream, which err does.
func (e *events) whole(ev *event, err error) (pieces, *place, error) {
	if ev.why != nil {
		data := e.in.instead(e.id, ev.why)
		if data == nil {
			return nil, nil, err
		}
		return dataEvent(nil, data), nil, io.EOF
	}
	if err != nil && !errors.Is(err, io.EOF) { // half of it
		ev.data.drop()
		return nil, nil, err
	}
	if ev.data.size == 0 {
		return pieces{ev.fields, newLine}, nil, err // as one that says where the stream can be taken up
	}
	taken, _, isAnswer := e.in.message(bytes.TrimSpace(ev.data.taken()))
	if taken == nil {
		ev.data.drop()
		return nil, nil, err
	}
	if !isAnswer || e.id == nil {
		return dataEvent(ev.fields, taken), ev.data.handTo(nil), err
	}
	return dataEvent(ev.fields, taken), ev.data.handTo(e.call), cmp.Or(err, io.EOF)
}

func dataEvent(fields, data []byte) pieces {
	return pieces{fields, []byte("data: "), data, []byte("\n\n")}
}
