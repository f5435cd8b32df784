package logs

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

func readAll(path string) (string, error) {
	b, err := os.ReadFile(path)
	return string(b), err
}

// writeUntilKilled is the main function of another process. It writes raw lines and
// normalized entries, and reports the entries on stdout after they are stored.
func writeUntilKilled(place string) {
	ctx := context.Background()
	db, err := store.Open(ctx, place, Schema())
	if err != nil {
		panic(err)
	}
	spool, err := OpenSpool(filepath.Join(place, "spool"))
	if err != nil {
		panic(err)
	}
	w, err := NewWriter(ctx, db, process, Options{Spool: spool})
	if err != nil {
		panic(err)
	}
	for i := 0; ; i++ {
		w.Raw(Stdout, fmt.Appendf(nil, "line %d\n", i))
		w.Append(Say(fmt.Sprint(i)))
		if i%500 == 499 {
			if err := w.Flush(ctx); err != nil {
				panic(err)
			}
			fmt.Println(i)
		}
	}
}

// Whenever the writer is killed, every acknowledged entry is stored, and the raw log
// has each spooled line exactly once.
func TestNothingIsLostWhenTheWriterIsKilled(t *testing.T) {
	rounds := 6
	if testing.Short() {
		rounds = 2
	}
	for round := range rounds {
		place := t.TempDir()
		open(t, place).Close()
		child := exec.Command(os.Args[0])
		child.Env = append(os.Environ(), "LOGS_TEST_CHILD="+place)
		out, err := child.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := child.Start(); err != nil {
			t.Fatal(err)
		}
		// The writer is killed after a number of batches, in the middle of another one.
		acknowledged, batches := -1, 0
		for lines := bufio.NewScanner(out); lines.Scan(); batches++ {
			fmt.Sscan(lines.Text(), &acknowledged)
			if batches == round {
				time.AfterFunc(time.Duration(round)*17*time.Millisecond, func() { child.Process.Kill() })
			}
		}
		child.Wait()
		if batches <= round {
			t.Fatalf("the writer ended by itself after %d batches", batches)
		}
		db := open(t, place)
		spool := filepath.Join(place, "spool")
		for range 2 {
			if err := Recover(t.Context(), db, process, spool, Options{}); err != nil {
				t.Fatalf("Recover: %v", err)
			}
		}
		normal, raw := texts(t, all(t, db, Normalized)), texts(t, all(t, db, Raw))
		if len(normal) <= acknowledged || len(raw) <= acknowledged {
			t.Errorf("%d and %d entries, and entry %d was acknowledged", len(normal), len(raw), acknowledged)
		}
		if len(raw) < len(normal)-1 {
			t.Errorf("%d raw lines are there, and %d entries that came after them", len(raw), len(normal))
		}
		for i, l := range raw {
			if l != fmt.Sprintf("line %d", i) {
				t.Fatalf("raw line %d is %q", i, l)
			}
		}
		if page := read(t, db, Raw, Query{}); !page.Ended {
			t.Error("the log has not ended")
		}
		t.Logf("killed after %d acknowledged, %d stored, %d raw", acknowledged+1, len(normal), len(raw))
	}
}

func TestRecoverWithoutASpool(t *testing.T) {
	db := open(t, t.TempDir())
	if err := Recover(t.Context(), db, process, filepath.Join(t.TempDir(), "none"), Options{}); err != nil {
		t.Errorf("Recover: %v", err)
	}
	if page := read(t, db, Raw, Query{}); !page.Ended {
		t.Error("the log has not ended")
	}
}

func TestASpoolThatWasCutOffIsMended(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spool")
	s, err := OpenSpool(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.write([]record{{stream: Stdout, content: []byte("one\rwith a return")}, {stream: Stderr, cut: true, content: nil}}); err != nil {
		t.Fatal(err)
	}
	s.Close()
	whole, _ := os.ReadFile(path)
	for cut := range len(whole) + 1 {
		os.WriteFile(path, append(bytes.Clone(whole), whole[:cut]...), 0o600)
		s, err := OpenSpool(path)
		if err != nil {
			t.Fatalf("cut %d: %v", cut, err)
		}
		s.write([]record{{stream: Stdout, content: []byte("more")}})
		n := 0
		if _, err := readSpool(s.file, 0, func(record, int64) error { n++; return nil }); err != nil {
			t.Fatal(err)
		}
		want := 3
		if cut > 0 && cut >= bytes.LastIndexByte(whole, 'E') {
			want++
		}
		if cut == len(whole) {
			want++
		}
		if n != want {
			t.Errorf("cut %d: %d records, want %d", cut, n, want)
		}
		s.Close()
	}
}

// A log of short lines is written to the disk as a spool and in the store, so that what the
// spool adds to each line counts.
func TestASpoolAddsAByteToALine(t *testing.T) {
	s, err := OpenSpool(filepath.Join(t.TempDir(), "spool"))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	long := bytes.Repeat([]byte("x"), maxLine)
	given := []record{{stream: Stdout}, {stream: Stderr, content: []byte("o")}, {stream: Stdout, cut: true, content: long}, {stream: Stderr, cut: true, content: []byte("\r")}}
	if err := s.write(given); err != nil {
		t.Fatal(err)
	}
	if want := int64(len(long) + 2 + 2*len(given)); s.end != want {
		t.Errorf("the spool has %d bytes, want %d", s.end, want)
	}
	var read []record
	if _, err := readSpool(s.file, 0, func(r record, end int64) error { r.end = end; read = append(read, r); return nil }); err != nil {
		t.Fatal(err)
	}
	if len(read) != len(given) {
		t.Fatalf("%d records, want %d", len(read), len(given))
	}
	for i, r := range read {
		if r.stream != given[i].stream || r.cut != given[i].cut || !bytes.Equal(r.content, given[i].content) || r.end != given[i].end {
			t.Errorf("record %d is %q of %s, cut %t, to %d", i, r.content, r.stream, r.cut, r.end)
		}
	}
}

func FuzzReadSpool(f *testing.F) {
	f.Add([]byte("oabc\nE\n\n"))
	f.Add(append(bytes.Repeat([]byte("o"), maxLine+1), "\no\n"...))
	f.Fuzz(func(t *testing.T, b []byte) {
		end, err := readSpool(bytes.NewReader(b), 0, func(r record, end int64) error {
			if end > int64(len(b)) || end <= 0 {
				t.Errorf("record ends at %d of %d", end, len(b))
			}
			return nil
		})
		if err != nil || end > int64(len(b)) {
			t.Errorf("readSpool = %d, %v of %d bytes", end, err, len(b))
		}
	})
}

func FuzzRedactKeepsJSON(f *testing.F) {
	f.Add("a \"q\" -----BEGIN PRIVATE KEY-----\n\\", "pass\"word")
	f.Fuzz(func(t *testing.T, text, secret string) {
		w := &Writer{options: Options{Redact: NewRedactor([]string{secret})}}
		out := w.encode(Say(text))
		if !bytes.HasPrefix(out, []byte(`{"type":"`)) && len(secret) < shortest {
			t.Errorf("encode(%q) = %s", text, out)
		}
	})
}
