package logs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

const process = "01a1fe32-0000-7000-8000-000000000001"

func open(t testing.TB, place string) *store.DB {
	t.Helper()
	db, err := store.Open(t.Context(), place, Schema())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func writer(t testing.TB, db *store.DB, o Options) *Writer {
	t.Helper()
	w, err := NewWriter(t.Context(), db, process, o)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t testing.TB, db *store.DB, c Channel, q Query) Page {
	t.Helper()
	page, err := Tail(t.Context(), db, process, c, q, 0)
	if err != nil {
		t.Fatalf("Read(%s, %+v): %v", c, q, err)
	}
	return page
}

// all reads a log from its beginning.
func all(t testing.TB, db *store.DB, c Channel) []Stored {
	t.Helper()
	var entries []Stored
	after := int64(-1)
	for {
		page := read(t, db, c, Query{After: &after, Limit: 1000})
		entries = append(entries, page.Entries...)
		if !page.More {
			return entries
		}
		after = *page.NextAfter
	}
}

// texts returns the contents of entries.
func texts(t testing.TB, entries []Stored) []string {
	t.Helper()
	out := []string{}
	for _, e := range entries {
		var l Line
		if err := json.Unmarshal(e.Entry, &l); err == nil && l.Stream != "NORMALIZED_ENTRY" {
			out = append(out, l.Content)
			continue
		}
		var n struct{ Content Entry }
		if err := json.Unmarshal(e.Entry, &n); err != nil {
			t.Fatalf("entry %s: %v", e.Entry, err)
		}
		out = append(out, n.Content.Content)
	}
	return out
}

func closeIt(t testing.TB, w *Writer) {
	t.Helper()
	if err := w.Close(t.Context()); err != nil {
		t.Errorf("Close: %v", err)
	}
}

func of(n int64) *int64 { return &n }

// T-099 to T-104, T-106.
func TestPagesHaveEveryEntryOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place)
		w := writer(t, db, Options{})
		for i := range 95 {
			if got := w.Append(Say(fmt.Sprint(i))); got != int64(i) {
				t.Fatalf("Append = %d, want %d", got, i)
			}
		}
		closeIt(t, w)
		page := read(t, db, Normalized, Query{Limit: 10})
		if got := texts(t, page.Entries); got[0] != "85" || got[9] != "94" || len(got) != 10 || !page.More || *page.Next != 85 || !page.Ended {
			t.Errorf("newest page = %v %+v", got, page)
		}
		var found []string
		for pages := 1; ; pages++ {
			found = append(texts(t, page.Entries), found...)
			if !page.More {
				if page.Next != nil || pages != 10 {
					t.Errorf("last page %d: %+v", pages, page)
				}
				break
			}
			page = read(t, db, Normalized, Query{Limit: 10, Before: page.Next})
		}
		for i, got := range found {
			if got != fmt.Sprint(i) {
				t.Fatalf("entry %d of all pages is %q", i, got)
			}
		}
		if len(found) != 95 {
			t.Errorf("%d entries, want 95", len(found))
		}
		page = read(t, db, Normalized, Query{Limit: 10, After: of(80)})
		if got := texts(t, page.Entries); got[0] != "81" || got[9] != "90" || !page.More || *page.NextAfter != 90 || page.Next != nil {
			t.Errorf("after 80 = %v %+v", got, page)
		}
		page = read(t, db, Normalized, Query{After: of(94)})
		if len(page.Entries) != 0 || page.More || *page.NextAfter != 94 {
			t.Errorf("after the end = %+v", page)
		}
		if page := read(t, db, Raw, Query{}); len(page.Entries) != 0 || page.More || page.Next != nil {
			t.Errorf("raw page = %+v", page)
		}
		if page, err := Tail(t.Context(), db, "nobody", Raw, Query{}, 0); err != nil || len(page.Entries) != 0 {
			t.Errorf("page of a process without a log = %+v, %v", page, err)
		}
		if page := read(t, db, Normalized, Query{Limit: 1000, MaxBytes: 1000}); len(page.Entries) < 2 || len(page.Entries) > 10 || !page.More || *page.Next != page.Entries[0].Index {
			t.Errorf("page of 1,000 bytes = %+v", page)
		}
		if page := read(t, db, Normalized, Query{MaxBytes: 1}); len(page.Entries) != 1 || !page.More {
			t.Errorf("page of 1 byte = %+v", page)
		}
	})
}

func TestAReplacementKeepsItsIndexAndIsSeenByRevision(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place)
		w := writer(t, db, Options{})
		for _, s := range []string{"a", "b", "c"} {
			w.Append(Say(s))
		}
		if err := w.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		seen := read(t, db, Normalized, Query{}).Revision
		w.Replace(1, Say("B"))
		w.Replace(1, Say("BB"))
		d := w.Append(Say("d"))
		w.Replace(d, Say("D"))
		w.Replace(99, Say("nowhere"))
		w.Replace(-1, Say("nowhere"))
		closeIt(t, w)
		if got := texts(t, all(t, db, Normalized)); !slices.Equal(got, []string{"a", "BB", "c", "D"}) {
			t.Errorf("log = %v", got)
		}
		page := read(t, db, Normalized, Query{AfterRevision: &seen})
		if got := texts(t, page.Entries); !slices.Equal(got, []string{"BB", "D"}) || *page.NextAfter != page.Revision || page.Entries[0].Index != 1 {
			t.Errorf("after revision %d = %v %+v", seen, got, page)
		}
		if got := read(t, db, Normalized, Query{AfterRevision: page.NextAfter}); len(got.Entries) != 0 {
			t.Errorf("after the newest revision = %+v", got)
		}
		if got := read(t, db, Normalized, Query{AfterRevision: of(0), Limit: 3}); len(got.Entries) != 3 || !got.More {
			t.Errorf("after revision 0 = %+v", got)
		}
	})
}

// If an entry is replaced while its batch is being stored, the last version is stored.
func TestReplacementsAndBatchesDoNotLoseEachOther(t *testing.T) {
	db := open(t, t.TempDir())
	w := writer(t, db, Options{})
	var last [50]string
	for round := range 40 {
		for i := range last {
			last[i] = fmt.Sprintf("%d in %d", i, round)
			if round == 0 {
				w.Append(Say(last[i]))
			} else {
				w.Replace(int64(i), Say(last[i]))
			}
		}
		if round%7 == 0 {
			time.Sleep(pace / 3)
		}
	}
	closeIt(t, w)
	if got := texts(t, all(t, db, Normalized)); !slices.Equal(got, last[:]) {
		t.Errorf("log = %v", got)
	}
}

// T-109.
func TestRawLinesAreFaithful(t *testing.T) {
	db := open(t, t.TempDir())
	w := writer(t, db, Options{})
	w.Raw(Stdout, []byte("plain\n\x1b[31mré"))
	w.Raw(Stderr, []byte("other\n"))
	w.Raw(Stdout, []byte("d\x1b[0m\r\n\n<&>\nbad \xff\x00\n"))
	w.Raw(Stdout, []byte(strings.Repeat("x", 3*maxLine+5)+"\nlast"))
	closeIt(t, w)
	var got []string
	for _, e := range all(t, db, Raw) {
		var l Line
		if err := json.Unmarshal(e.Entry, &l); err != nil {
			t.Fatalf("entry %s: %v", e.Entry, err)
		}
		if len(l.Content) > 100 {
			l.Content = fmt.Sprint(len(l.Content))
		}
		got = append(got, fmt.Sprintf("%s %q %s %v", l.Stream, l.Content, l.Base64, l.Cut))
	}
	want := []string{
		`STDOUT "plain"  false`, `STDERR "other"  false`, `STDOUT "\x1b[31mréd\x1b[0m\r"  false`, `STDOUT ""  false`, `STDOUT "<&>"  false`,
		`STDOUT "bad �\x00" YmFkIP8A false`, `STDOUT "32768"  true`, `STDOUT "32768"  true`, `STDOUT "32768"  true`, `STDOUT "xxxxx"  false`, `STDOUT "last"  false`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("raw log =\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if raw := string(all(t, db, Raw)[4].Entry); raw != `{"type":"STDOUT","content":"<&>"}` {
		t.Errorf("entry = %s", raw)
	}
}

func TestALineThatDoesNotEndIsShown(t *testing.T) {
	db := open(t, t.TempDir())
	w := writer(t, db, Options{})
	defer closeIt(t, w)
	w.Raw(Stdout, []byte("Password: "))
	page, err := Tail(t.Context(), db, process, Raw, Query{After: of(-1)}, 20*time.Second)
	if got := texts(t, page.Entries); err != nil || !slices.Equal(got, []string{"Password: "}) {
		t.Errorf("Tail = %v, %v", got, err)
	}
}

func TestSecretsAreNotStored(t *testing.T) {
	dir := t.TempDir()
	db := open(t, dir)
	spool, err := OpenSpool(filepath.Join(dir, "spool"))
	if err != nil {
		t.Fatal(err)
	}
	secrets := []string{"hunter2-hunter2", `quo"te\d-value`, "tab\tand<angle>", "short"}
	w := writer(t, db, Options{Spool: spool, Redact: NewRedactor(secrets)})
	for _, s := range secrets[:3] {
		w.Append(Entry{Type: Type{Kind: ToolUse, Tool: "x", Action: &Action{Action: "tool", Arguments: map[string]any{"k": s}}, Status: &Status{Status: "success"}}, Content: "is " + s + "!"})
		for i := range len(s) { // split into two writes at every position
			w.Raw(Stdout, []byte("is "+s[:i]))
			w.Raw(Stdout, []byte(s[i:]+"!\n"))
		}
		w.Raw(Stderr, []byte(strings.Repeat("x", maxLine-5)+s+"\n")) // at the position where a long line is split
		w.Raw(Stderr, []byte(strings.Repeat("x", maxLine-5)+s[:7]))
		w.Raw(Stderr, []byte(s[7:]+"\n"))
	}
	for _, k := range []string{
		"sk-ant-" + strings.Repeat("a1", 20), "ghp_" + strings.Repeat("A1", 18), "AKIA" + strings.Repeat("A", 16), "xoxb-1234567890-abc",
		"Bearer " + strings.Repeat("t0", 15), "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
	} {
		w.Append(Say("line\n" + k + "\nis \"it\""))
		w.Raw(Stdout, []byte(k+"\n"))
	}
	w.Raw(Stdout, []byte("a task-list-for-the-whole-team-of-people is short\n"))
	closeIt(t, w)
	stored, _ := json.Marshal([][]Stored{all(t, db, Normalized), all(t, db, Raw)})
	file, _ := readAll(filepath.Join(dir, "spool"))
	for _, where := range []string{string(stored), file} {
		for _, leak := range []string{"hunter2", "d-value", "and<angle", `and\u003cangle`, "a1a1a1", "A1A1A1", "AAAAAAA", "1234567890", "t0t0t0", "MIIE"} {
			if strings.Contains(where, leak) {
				t.Errorf("%q was stored", leak)
			}
		}
		if !strings.Contains(where, "task-list-for-the-whole-team-of-people is short") {
			t.Error("an innocent line was changed")
		}
	}
	if got := texts(t, all(t, db, Normalized)); got[0] != "is [redacted]!" || got[3] != "line\n[redacted]\nis \"it\"" {
		t.Errorf("entries = %q", got)
	}
}

func TestOldEntriesAreDroppedAndItIsSaid(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place)
		w := writer(t, db, Options{Raw: Limit{Entries: 1000, Bytes: 1 << 30}})
		for i := range 2500 {
			w.Raw(Stdout, fmt.Appendf(nil, "line %d\n", i))
			if i%100 == 0 {
				w.Flush(t.Context())
			}
		}
		closeIt(t, w)
		page := read(t, db, Raw, Query{Limit: 1})
		entries := all(t, db, Raw)
		if !page.Truncated || page.Entries[0].Index != 2499 || len(entries) > 1000 || len(entries) < 850 {
			t.Errorf("page = %+v, %d entries are kept", page, len(entries))
		}
		for i, e := range entries {
			if want := int64(2500 - len(entries) + i); e.Index != want {
				t.Fatalf("entry %d has index %d, want %d", i, e.Index, want)
			}
		}
		if page = read(t, db, Raw, Query{Before: &entries[0].Index}); page.More || len(page.Entries) > 0 || !page.Truncated {
			t.Errorf("before the first = %+v", page)
		}
	})
}

func TestBytesAreBoundedToo(t *testing.T) {
	db := open(t, t.TempDir())
	w := writer(t, db, Options{Raw: Limit{Entries: 1 << 30, Bytes: 100_000}})
	for range 150 {
		w.Raw(Stdout, []byte(strings.Repeat("x", 1000)+"\n"))
		w.Flush(t.Context())
	}
	closeIt(t, w)
	total := 0
	for _, e := range all(t, db, Raw) {
		total += len(e.Entry)
	}
	if total > 101_000 || total < 80_000 {
		t.Errorf("%d bytes are kept, want about 100,000", total)
	}
}

func TestTailWaitsForWhatComes(t *testing.T) {
	place := t.TempDir()
	db, other := open(t, place), open(t, place)
	var wg sync.WaitGroup
	ended := make(chan struct{})
	wg.Go(func() {
		defer close(ended)
		page, err := Tail(t.Context(), other, process, Normalized, Query{After: of(-1)}, time.Minute)
		if err != nil || len(page.Entries) == 0 {
			t.Errorf("Tail from another process = %+v, %v", page, err)
		}
	})
	waittest.Nothing(t, "the end of Tail before there is an entry", ended)
	w := writer(t, db, Options{})
	w.Append(Say("now"))
	wg.Wait()
	wg.Go(func() {
		if page, err := Tail(t.Context(), db, process, Normalized, Query{After: of(0)}, 20*time.Second); err != nil || !page.Ended || len(page.Entries) > 0 {
			t.Errorf("Tail while the log ends = %+v, %v", page, err)
		}
	})
	start := time.Now()
	if page, err := Tail(t.Context(), db, process, Normalized, Query{After: of(0)}, 100*time.Millisecond); err != nil || len(page.Entries) > 0 || time.Since(start) < 100*time.Millisecond {
		t.Errorf("Tail without news = %+v, %v after %v", page, err, time.Since(start))
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := Tail(ctx, db, process, Normalized, Query{After: of(0)}, 20*time.Second); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Tail of a caller who left: %v", err)
	}
	closeIt(t, w)
	wg.Wait()
}

func TestOfTwoWritersOneLearnsOfTheOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place)
		one, two := writer(t, db, Options{}), writer(t, db, Options{})
		one.Append(Say("one"))
		if err := one.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		two.Append(Say("two"))
		if err := two.Flush(t.Context()); !errors.Is(err, ErrTaken) {
			t.Errorf("Flush of the second writer: %v, want ErrTaken", err)
		}
		two.Append(Say("more does not hang"))
		if err := two.Close(t.Context()); !errors.Is(err, ErrTaken) {
			t.Errorf("Close of the second writer: %v, want ErrTaken", err)
		}
		closeIt(t, one)
		if got := texts(t, all(t, db, Normalized)); !slices.Equal(got, []string{"one"}) {
			t.Errorf("log = %v", got)
		}
	})
}

func TestHugeEntriesAreCut(t *testing.T) {
	db := open(t, t.TempDir())
	w := writer(t, db, Options{})
	w.Append(Say(strings.Repeat("é", 100_000)))
	w.Append(Tool("Bash", "x", "success", Action{Action: "tool", Arguments: slices.Repeat([]string{"many small parts"}, 50_000)}))
	w.Append(Tool("Bash", "x", "success", Action{Action: "tool", Arguments: func() {}}))
	closeIt(t, w)
	for i, e := range all(t, db, Normalized) {
		if len(e.Entry) > 40_000 || !json.Valid(e.Entry) {
			t.Errorf("entry %d has %d bytes", i, len(e.Entry))
		}
	}
}

func TestDeleteForgetsAll(t *testing.T) {
	db := open(t, t.TempDir())
	w := writer(t, db, Options{})
	w.Append(Say("x"))
	closeIt(t, w)
	if err := db.Update(t.Context(), func(tx *store.Tx) error { return Delete(t.Context(), tx, process) }); err != nil {
		t.Fatal(err)
	}
	if page := read(t, db, Normalized, Query{}); len(page.Entries) > 0 || page.Revision != 0 {
		t.Errorf("page = %+v", page)
	}
}
