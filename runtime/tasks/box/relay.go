package box

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
)

// relay listens on loopback in the sandbox and forwards connections to the
// proxy outside. A connection to a port in Ports goes to the same port outside.
// A connection to the proxy's port is passed to the proxy unchanged.
func (in Inner) relay() error {
	listen := func(port int, dial func() (net.Conn, error)) error {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err != nil {
			return fmt.Errorf("listen in the sandbox: %w", err)
		}
		go accept(l, dial)
		return nil
	}
	out := func() (net.Conn, error) { return net.Dial("unix", in.Socket) }
	for _, port := range in.Ports {
		if err := listen(port, func() (net.Conn, error) { return connect(out, port) }); err != nil {
			return err
		}
	}
	if in.Proxy > 0 {
		return listen(in.Proxy, out)
	}
	return nil
}

func accept(l net.Listener, dial func() (net.Conn, error)) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() {
			defer conn.Close()
			other, err := dial()
			if err != nil {
				return
			}
			defer other.Close()
			copyBoth(conn, other)
		}()
	}
}

// connect asks the proxy for a connection to a port on loopback outside.
func connect(out func() (net.Conn, error), port int) (net.Conn, error) {
	conn, err := out()
	if err != nil {
		return nil, err
	}
	host := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	if _, err := fmt.Fprintf(conn, "CONNECT %s HTTP/1.1\r\nHost: %s\r\n\r\n", host, host); err != nil {
		conn.Close()
		return nil, err
	}
	r := bufio.NewReader(conn)
	answer, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s", host, answer.Status)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return buffered{conn, r}, nil
}

// buffered is a connection some of whose data was already read.
type buffered struct {
	net.Conn
	r *bufio.Reader
}

func (b buffered) Read(p []byte) (int, error) { return b.r.Read(p) }

// CloseWrite closes the connection for writing.
func (b buffered) CloseWrite() error { return closeWrite(b.Conn) }

func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// copyBoth copies data in both directions until both have ended.
func copyBoth(a, b net.Conn) {
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{a, b}, {b, a}} {
		both.Go(func() {
			io.Copy(way[0], way[1])
			closeWrite(way[0])
		})
	}
	both.Wait()
}
