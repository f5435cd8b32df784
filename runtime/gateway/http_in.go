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

// take passes an HTTP response through the inflow.
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

// wholeBody is a body that was read completely. If the body belongs to no call,
// place is the body's buffer space, and Close releases it.
type wholeBody struct {
	*bytes.Reader
	place *place
}

func (w *wholeBody) Close() error {
	w.place.leave()
	return nil
}

// idOf returns the ID of a request whose body can be read again, or nil if it has
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

// events reads an event stream, in which each event is a message. The stream ends
// with the answer to its request.
type events struct {
	in      *inflow
	from    io.Closer
	reader  *bufio.Reader
	ctx     context.Context // the request's context
	call    *call           // the request's call, or nil
	id      []byte          // the request's ID; nil if the stream belongs to no request
	pending pieces
	place   *place // buffer space of pending if it belongs to no call; otherwise nil
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

// event is an event that is being read.
type event struct {
	fields []byte    // the lines other than data, with their line ends
	data   *gathered // the data lines, joined
	isData bool      // whether the current line is data
	lines  int       // number of data lines
	size   int       // total size in bytes
	why    error     // why the event is not forwarded; nil if it is forwarded
}

// next returns the next event to forward. It returns nothing for an event that is
// not forwarded.
func (e *events) next() (pieces, *place, error) {
	ev := &event{data: e.in.gather(e.ctx)}
	for starts, blank := true, false; ; {
		part, err := e.reader.ReadSlice('\n')
		if starts {
			blank = len(bytes.TrimRight(part, "\r\n")) == 0
		}
		ev.add(part, starts)
		switch starts = !errors.Is(err, bufio.ErrBufferFull); {
		case ev.why != nil && e.id != nil: // the error ends the stream
			return e.whole(ev, nil)
		case !starts:
		case err != nil || blank: // end of the event or of the stream
			return e.whole(ev, err)
		}
	}
}

// add adds part of a line. starts reports whether it is the first part.
func (ev *event) add(part []byte, starts bool) {
	ev.size += len(part)
	if starts {
		var value []byte
		if value, ev.isData = bytes.CutPrefix(part, []byte("data:")); ev.isData {
			part = bytes.TrimLeft(value, " ")
			if ev.lines++; ev.lines > 1 {
				part = append([]byte(" "), part...) // a newline would start another line
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

// whole returns an event in the form in which it is forwarded, and its buffer
// space unless the event's call holds that space. The returned error ends the
// stream; so does err, if it is not nil.
func (e *events) whole(ev *event, err error) (pieces, *place, error) {
	if ev.why != nil {
		data := e.in.instead(e.id, ev.why)
		if data == nil {
			return nil, nil, err
		}
		return dataEvent(nil, data), nil, io.EOF
	}
	if err != nil && !errors.Is(err, io.EOF) { // the event is incomplete
		ev.data.drop()
		return nil, nil, err
	}
	if ev.data.size == 0 {
		return pieces{ev.fields, newLine}, nil, err // for example an event that says where the stream can be resumed
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
