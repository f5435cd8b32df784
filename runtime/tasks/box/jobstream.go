package box

import (
	"bufio"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// Kinds of frames between the caller of a Job and its pod. Text comes from the pod's
// program, so the caller trusts no frame.
const (
	beginFrame  = 'b' // a [jobBegin], from the caller
	stdinFrame  = 'i' // input of the program; empty at its end
	stdoutFrame = 'o'
	stderrFrame = 'e'
	signalFrame = 's' // the name of a signal, from the caller
	exitFrame   = 'x' // the exit code as text, from the pod
	openFrame   = 'c' // the pod opens the connection with this number, to the port in the text
	dataFrame   = 'd' // data of a connection; empty at its end
	closeFrame  = 'q' // the connection is closed
	aliveFrame  = 'a' // nothing: proxies close connections that are silent for long
)

// Limits of frames.
const (
	maxBegin = 64 << 20
	maxFrame = 32 << 10
	// maxQueued is how much is kept for a reader that does not read.
	maxQueued = 4 << 20
	// maxConnections is how many connections a pod may have open.
	maxConnections = 64
)

// jobBegin is what the program in the pod needs to begin.
type jobBegin struct {
	Inner Inner
	Line  []string
	Dir   string
	Env   []string
	Ports []int
	Files []sentFile
}

// frames is one end of the connection. Its methods but read may be called concurrently.
type frames struct {
	in *bufio.Reader

	mu  sync.Mutex
	out io.Writer

	open  sync.Mutex
	conns map[uint32]*framedConn
}

func newFrames(in io.Reader, out io.Writer) *frames {
	return &frames{in: bufio.NewReaderSize(in, 2*maxFrame), out: out, conns: map[uint32]*framedConn{}}
}

const frameHeader = 9

// write sends one frame, or several if data is long.
func (f *frames) write(kind byte, id uint32, data []byte) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for {
		part := data
		if kind != beginFrame {
			part = data[:min(len(data), maxFrame)]
		}
		head := make([]byte, frameHeader, frameHeader+len(part))
		head[0] = kind
		binary.BigEndian.PutUint32(head[1:], id)
		binary.BigEndian.PutUint32(head[5:], uint32(len(part)))
		if _, err := f.out.Write(append(head, part...)); err != nil {
			return err
		}
		if data = data[len(part):]; len(data) == 0 {
			return nil
		}
	}
}

// read returns the next frame.
func (f *frames) read() (kind byte, id uint32, data []byte, err error) {
	var head [frameHeader]byte
	if _, err := io.ReadFull(f.in, head[:]); err != nil {
		return 0, 0, nil, err
	}
	size, limit := binary.BigEndian.Uint32(head[5:]), uint32(maxFrame)
	if head[0] == beginFrame {
		limit = maxBegin
	}
	if size > limit {
		return 0, 0, nil, fmt.Errorf("a frame of %d bytes", size)
	}
	data = make([]byte, size)
	_, err = io.ReadFull(f.in, data)
	return head[0], binary.BigEndian.Uint32(head[1:]), data, err
}

// copyFrom sends what r has as frames of one kind, and then an empty one if end is true.
func (f *frames) copyFrom(r io.Reader, kind byte, id uint32, end bool) {
	buf := make([]byte, maxFrame)
	for {
		n, err := r.Read(buf)
		if n > 0 && f.write(kind, id, buf[:n]) != nil {
			return
		}
		if err != nil {
			break
		}
	}
	if end {
		f.write(kind, id, nil)
	}
}

// begin reads the first frame.
func (f *frames) begin() (b jobBegin, err error) {
	kind, _, data, err := f.read()
	if err == nil && kind != beginFrame {
		err = errors.New("the caller is another version of deskhand: use the image of the same release")
	}
	if err == nil {
		err = json.Unmarshal(data, &b)
	}
	return b, err
}

// framedConn is a connection of which the other half is at the other end.
type framedConn struct {
	net.Conn
	to *queue
}

// join makes a connection the near half of the one with this number. The caller then calls
// carry.
func (f *frames) join(id uint32, conn net.Conn) *framedConn {
	c := &framedConn{conn, newQueue(conn, func() { closeWrite(conn) })}
	f.open.Lock()
	defer f.open.Unlock()
	f.conns[id] = c
	return c
}

// carry sends what a connection receives, until both directions have ended.
func (f *frames) carry(id uint32, c *framedConn) {
	f.copyFrom(c, dataFrame, id, true)
	<-c.to.done
	f.forget(id)
	f.write(closeFrame, id, nil)
}

func (f *frames) conn(id uint32) *framedConn {
	f.open.Lock()
	defer f.open.Unlock()
	return f.conns[id]
}

// forget closes a connection.
func (f *frames) forget(id uint32) {
	f.open.Lock()
	c := f.conns[id]
	delete(f.conns, id)
	f.open.Unlock()
	if c != nil {
		c.Close()
		c.to.end()
	}
}

// connections returns how many connections are open.
func (f *frames) connections() int {
	f.open.Lock()
	defer f.open.Unlock()
	return len(f.conns)
}

// take handles the frames of connections that are open at both ends.
func (f *frames) take(kind byte, id uint32, data []byte) {
	c := f.conn(id)
	switch {
	case c == nil:
	case kind == closeFrame:
		f.forget(id)
	case len(data) == 0:
		c.to.end()
	default:
		c.to.put(data)
	}
}

// queue writes data in order, so that one slow reader does not hold up the others.
type queue struct {
	mu     sync.Mutex
	change sync.Cond
	data   [][]byte
	size   int
	ended  bool
	done   chan struct{}
}

// newQueue starts to write to w, and calls end at the end.
func newQueue(w io.Writer, end func()) *queue {
	q := &queue{done: make(chan struct{})}
	q.change.L = &q.mu
	go func() {
		defer close(q.done)
		defer end()
		for {
			data, ok := q.next()
			if !ok {
				return
			}
			if _, err := w.Write(data); err != nil {
				q.end() // what comes later is discarded
				return
			}
		}
	}()
	return q
}

func (q *queue) next() (data []byte, ok bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.data) == 0 && !q.ended {
		q.change.Wait()
	}
	if len(q.data) == 0 {
		return nil, false
	}
	data, q.data = q.data[0], q.data[1:]
	q.size -= len(data)
	q.change.Broadcast()
	return data, true
}

// put adds data. It waits while there is too much.
func (q *queue) put(data []byte) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.size > maxQueued && !q.ended {
		q.change.Wait()
	}
	if !q.ended {
		q.data, q.size = append(q.data, data), q.size+len(data)
		q.change.Broadcast()
	}
}

// end ends the queue after what is in it.
func (q *queue) end() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.ended = true
	q.change.Broadcast()
}
