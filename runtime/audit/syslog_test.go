package audit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func TestMain(m *testing.M) {
	poll = 5 * time.Millisecond
	os.Exit(storetest.Main(m))
}

func open(t *testing.T, place string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), place)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func record(t *testing.T, db *store.DB, object string) {
	t.Helper()
	if err := db.Audit(t.Context(), store.Record{Action: "token.created", Object: object}); err != nil {
		t.Fatal(err)
	}
}

func TestTargetsAreRead(t *testing.T) {
	for text, want := range map[string]string{
		"unixgram:///dev/log": "/dev/log", "udp://10.0.0.1:514": "10.0.0.1:514", "tcp://[::1]:601": "[::1]:601", "tcp://log.internal:601/": "log.internal:601",
		"": "", "/dev/log": "", "udp://host": "", "udp://:514": "", "http://h:1": "", "unixgram://host/x": "", "tcp://u:p@h:1": "", "tcp://h:1/path": "",
	} {
		got, err := ParseTarget(text)
		if got.address != want || (err == nil) != (want != "") {
			t.Errorf("ParseTarget(%q) = %v, %v; want %q", text, got, err, want)
		}
		if f := fault.Of(err); err != nil && (f == nil || f.Code != "bad_address") {
			t.Errorf("ParseTarget(%q): %v", text, err)
		}
	}
}

// header is the form of a message of RFC 5424 without structured data.
var header = regexp.MustCompile(`^<(\d{1,3})>1 (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z) ([!-~]{1,255}) deskhand - ([!-~]{1,32}) - (\{.*\})$`)

func TestMessagesHaveTheFormOfRFC5424(t *testing.T) {
	at := time.Date(2026, 11, 23, 12, 0, 0, 5e6, time.FixedZone("", 3600))
	for _, one := range []struct {
		record store.Record
		want   string
	}{
		{store.Record{Seq: 7, At: at, Who: "ada", Host: "büro 1", Action: "question.answered", Object: "elc_1", Outcome: "accept"}, "110 2026-11-23T11:00:00.005Z b?ro?1 question.answered"},
		{store.Record{At: at, Who: "stranger", Action: "a b\nc", Outcome: store.Refused, Detail: "\"ß\n<1>1 "}, "108 2026-11-23T11:00:00.005Z - a?b?c"},
		{store.Record{At: at, Action: strings.Repeat("x", 40), Outcome: store.Done}, "110 2026-11-23T11:00:00.005Z - " + strings.Repeat("x", 32)},
	} {
		text, err := Message(one.record)
		if err != nil {
			t.Fatal(err)
		}
		m := header.FindStringSubmatch(string(text))
		if m == nil || strings.Join(m[1:5], " ") != one.want {
			t.Errorf("Message = %q, want %s", text, one.want)
			continue
		}
		var back store.Record
		if err := json.Unmarshal([]byte(m[5]), &back); err != nil || !back.At.Equal(one.record.At) || back.Detail != one.record.Detail {
			t.Errorf("the text %q is %+v, %v", m[5], back, err)
		}
	}
}

// listen returns the address of a syslog server and what it receives.
func listen(t *testing.T, network string) (address string, got <-chan string) {
	t.Helper()
	received := make(chan string, 1000)
	if network == "tcp" {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { l.Close() })
		go func() {
			for conn, err := l.Accept(); err == nil; conn, err = l.Accept() {
				in := bufio.NewReader(conn)
				for size, err := in.ReadString(' '); err == nil; size, err = in.ReadString(' ') {
					n, _ := strconv.Atoi(strings.TrimSpace(size))
					text := make([]byte, n)
					if _, err := io.ReadFull(in, text); err != nil {
						break
					}
					received <- string(text)
				}
			}
		}()
		return "tcp://" + l.Addr().String(), received
	}
	at := "127.0.0.1:0"
	if network == "unixgram" {
		dir, err := os.MkdirTemp("", "log") // t.TempDir may be too long for a socket
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(dir) })
		at = filepath.Join(dir, "s")
	}
	l, err := net.ListenPacket(network, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		text := make([]byte, 8192)
		for n, _, err := l.ReadFrom(text); err == nil; n, _, err = l.ReadFrom(text) {
			received <- string(text[:n])
		}
	}()
	return network + "://" + l.LocalAddr().String(), received
}

func next(t *testing.T, got <-chan string) (r store.Record) {
	t.Helper()
	select {
	case text := <-got:
		m := header.FindStringSubmatch(text)
		if m == nil || json.Unmarshal([]byte(m[5]), &r) != nil {
			t.Fatalf("received %q", text)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("nothing was received")
	}
	return r
}

func TestTheLogIsSentOnceAndContinued(t *testing.T) {
	networks := []string{"tcp", "udp", "unixgram"}
	if runtime.GOOS == "windows" {
		networks = networks[:2]
	}
	for _, network := range networks {
		t.Run(network, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, place string) {
				db := open(t, place)
				address, got := listen(t, network)
				target, err := ParseTarget(address)
				if err != nil {
					t.Fatal(err)
				}
				want := 0
				for round := range 2 { // the second one continues after the first
					ctx, stop := context.WithCancel(t.Context())
					done := make(chan struct{}, 2)
					for range 2 { // as two servers on one store do
						go func() {
							Export(ctx, db, target, slog.New(slog.NewTextHandler(t.Output(), nil)))
							done <- struct{}{}
						}()
					}
					for i := range 3 {
						record(t, db, fmt.Sprint(round, "/", i))
						want++
						if r := next(t, got); r.Seq != int64(want) || r.Object != fmt.Sprint(round, "/", i) {
							t.Fatalf("received %+v, want number %d", r, want)
						}
					}
					stop()
					<-done
					<-done
				}
				select {
				case text := <-got:
					t.Errorf("received again: %s", text)
				default:
				}
			})
		})
	}
}

// A server that restarts has not always read what was written to it, and TCP does not tell.
func TestNoRecordIsLostWhenAServerRestarts(t *testing.T) {
	db := open(t, t.TempDir())
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	target, err := ParseTarget("tcp://" + l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		Export(ctx, db, target, slog.New(slog.NewTextHandler(t.Output(), nil)))
	}()
	defer func() { stop(); <-done }()
	exported := func(seq string) {
		t.Helper()
		waittest.Until(t, "record "+seq+" to be sent", func() (bool, any) {
			var data string
			err := db.View(t.Context(), func(tx *store.Tx) error {
				leases, err := tx.Leases(t.Context(), "audit/")
				for _, l := range leases {
					data = l.Data
				}
				return err
			})
			return err == nil && data == seq, data
		})
	}
	accept := func() net.Conn {
		err := l.(*net.TCPListener).SetDeadline(time.Now().Add(waittest.Soon))
		if err != nil {
			t.Fatal(err)
		}
		conn, err := l.Accept()
		if err == nil {
			err = conn.SetReadDeadline(time.Now().Add(waittest.Soon))
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		return conn
	}
	// receives reads from a connection until a record has come, and checks which ones came before.
	receives := func(conn net.Conn, last, also string) {
		t.Helper()
		all := ""
		for in := bufio.NewReader(conn); !strings.Contains(all, last); {
			line, err := in.ReadString('}')
			if all += line; err != nil {
				t.Fatalf("the connection brings %q, %v; want the record %s", all, err, last)
			}
		}
		if !strings.Contains(all, also) {
			t.Errorf("the connection brings %q, want also %s", all, also)
		}
	}
	record(t, db, "unread")
	first := accept()
	exported("1")
	first.Close() // resets the connection, because it has unread data
	record(t, db, "afterwards")
	second := accept()
	receives(second, "afterwards", "unread")
	exported("2")
	second.Close()
	record(t, db, "later")
	receives(accept(), "later", "")
}

func TestFollowingTheLog(t *testing.T) {
	db := open(t, t.TempDir())
	record(t, db, "old")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	got := make(chan string)
	end := make(chan error)
	go func() {
		end <- Follow(ctx, db, store.AuditFilter{After: 1}, func(r store.Record) error {
			got <- r.Object
			return nil
		})
	}()
	for _, want := range []string{"a", "b"} {
		record(t, db, want)
		if object := <-got; object != want {
			t.Errorf("followed to %q, want %q", object, want)
		}
	}
	stop()
	if err := <-end; err != nil {
		t.Errorf("Follow = %v", err)
	}
}
