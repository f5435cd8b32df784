package storetest

import (
	"io"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"
)

// Over returns the URL of the database at place, a result of [Postgres] or
// [Server.Database], as it is seen over a network with a round-trip time of rtt.
func Over(t testing.TB, place string, rtt time.Duration) string {
	t.Helper()
	u, err := url.Parse(place)
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(u.Query().Get("host"), ".s.PGSQL.5432")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("unix", socket)
			if err != nil {
				near.Close()
				continue
			}
			go delayed(far, near, rtt/2)
			go delayed(near, far, rtt/2)
		}
	}()
	u.Host, u.RawQuery = l.Addr().String(), "sslmode=disable"
	return u.String()
}

// delayed copies from one connection to the other, and delivers each byte after delay.
func delayed(to, from net.Conn, delay time.Duration) {
	type chunk struct {
		due  time.Time
		data []byte
	}
	chunks := make(chan chunk, 1024)
	go func() {
		defer to.Close()
		for c := range chunks {
			time.Sleep(time.Until(c.due))
			if _, err := to.Write(c.data); err != nil {
				from.Close()
			}
		}
	}()
	defer close(chunks)
	for {
		b := make([]byte, 32<<10)
		n, err := from.Read(b)
		if n > 0 {
			chunks <- chunk{time.Now().Add(delay), b[:n]}
		}
		if err != nil {
			if err != io.EOF {
				from.Close()
			}
			return
		}
	}
}
