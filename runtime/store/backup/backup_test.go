package backup

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

// notes returns a schema after some of its migrations.
func notes(migrations int) store.Schema {
	files := fstest.MapFS{}
	for i, up := range []string{
		"CREATE TABLE notes (id TEXT PRIMARY KEY, text TEXT NOT NULL, rank INTEGER, at BIGINT);\nCREATE TABLE pairs (id TEXT PRIMARY KEY);",
		"ALTER TABLE notes ADD COLUMN kind TEXT NOT NULL DEFAULT 'plain';",
	}[:migrations] {
		files[fmt.Sprintf("%04d_change.sql", i+1)] = &fstest.MapFile{Data: []byte(up)}
	}
	return store.Schema{Name: "notes", Migrations: files}
}

func opener(migrations int) Open {
	return func(ctx context.Context, place string) (*store.DB, error) {
		return store.Open(ctx, place, notes(migrations))
	}
}

var current = opener(2)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	switch job, place, _ := strings.Cut(os.Getenv("BACKUP_TEST_CHILD"), " "); job {
	case "hold":
		return child(place, func(db *store.DB) error {
			_, err := db.Watch(context.Background(), 0, store.Filter{}) // keeps a connection
			return err
		})
	case "restore":
		place, rest, _ := strings.Cut(place, "\n")
		file, n, _ := strings.Cut(rest, "\n")
		left, _ := strconv.Atoi(n)
		step = func() {
			if left--; left == 0 {
				self, _ := os.FindProcess(os.Getpid())
				self.Kill()
				select {}
			}
		}
		return child(place, func(db *store.DB) error {
			_, err := Restore(context.Background(), db, current, file, true)
			return err
		})
	}
	return storetest.Main(m)
}

// child opens a store in another process, acts, and holds the store until its input ends.
func child(place string, act func(*store.DB) error) int {
	db, err := current(context.Background(), place)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer db.Close()
	fmt.Println("open")
	if err := act(db); err != nil {
		fmt.Println(err)
		return 1
	}
	fmt.Println("done")
	bufio.NewReader(os.Stdin).ReadByte()
	return 0
}

// spawn starts a child and waits for its first line.
func spawn(t *testing.T, job string) (cmd *exec.Cmd, out *bufio.Scanner, end func()) {
	t.Helper()
	cmd = exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "BACKUP_TEST_CHILD="+job)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	end = sync.OnceFunc(func() { in.Close(); cmd.Wait() })
	t.Cleanup(end)
	out = bufio.NewScanner(pipe)
	if !out.Scan() || out.Text() != "open" {
		t.Fatalf("the child says %q", out.Text())
	}
	return cmd, out, end
}

func open(t *testing.T, place string, by Open) *store.DB {
	t.Helper()
	db, err := by(t.Context(), place)
	if err != nil {
		t.Fatalf("open %s: %v", place, err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

// note adds a note, a second row and an event in one transaction.
func note(ctx context.Context, db *store.DB, id, text string) error {
	return db.UpdateFast(ctx, func(tx *store.Tx) error {
		tx.Append("notes", id, []byte(text))
		if _, err := tx.Exec(ctx, "INSERT INTO notes (id, text, rank, at) VALUES (?, ?, NULL, ?)", id, text, tx.Now.UnixMilli()); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "INSERT INTO pairs (id) VALUES (?)", id)
		return err
	})
}

func mustNote(t *testing.T, db *store.DB, id, text string) {
	t.Helper()
	if err := note(t.Context(), db, id, text); err != nil {
		t.Fatalf("note %s: %v", id, err)
	}
}

// counts reads how many notes, pairs and events there are, and the newest event's number.
func counts(t *testing.T, db *store.DB) (notes, pairs, events, seq int64) {
	t.Helper()
	err := db.Update(t.Context(), func(tx *store.Tx) error {
		seq = tx.Seq
		return tx.QueryRow(t.Context(), "SELECT (SELECT COUNT(*) FROM notes), (SELECT COUNT(*) FROM pairs), (SELECT COUNT(*) FROM events)").Scan(&notes, &pairs, &events)
	})
	if err != nil {
		t.Fatal(err)
	}
	return notes, pairs, events, seq
}

func code(err error) string {
	if f := fault.Of(err); f != nil {
		return f.Code
	}
	return fmt.Sprint(err)
}

func wrote(t *testing.T, db *store.DB) (file string, r Report) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "store.backup")
	r, err := Write(t.Context(), db, current, file, "1.0")
	if err != nil {
		t.Fatalf("Write: %v", err)
	}
	return file, r
}

// hard are texts that a database or a driver might change.
var hard = []string{"", " ", "'\"\\?$1", "ß→😀\u2028", "a\tb\nc\r\n", strings.Repeat("long ", 30_000), "1e3", "0x10", "2026-11-23T10:00:00Z", "null"}

func TestABackupOfAStoreInUseHasOneMoment(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, current)
		ctx, stop := context.WithCancel(t.Context())
		pace := time.NewTicker(time.Millisecond) // otherwise most of the time goes to rows
		defer pace.Stop()
		var writers sync.WaitGroup
		for w := range 2 {
			writers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					<-pace.C
					if err := note(ctx, db, fmt.Sprintf("%d/%d", w, i), "x"); err != nil && ctx.Err() == nil {
						t.Error(err)
						return
					}
				}
			})
		}
		last := int64(-1)
		for range 2 {
			file, r := wrote(t, db)
			if info, err := os.Stat(file); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
				t.Errorf("Stat: %v, %v, want mode 0600", info.Mode(), err)
			}
			if names, err := os.ReadDir(filepath.Dir(file)); err != nil || len(names) != 1 {
				t.Errorf("the folder of the backup has %v, %v", names, err)
			}
			back := open(t, t.TempDir(), current)
			again, err := Restore(t.Context(), back, current, file, false)
			if err != nil || !slices.Equal(again.Tables, r.Tables) || !again.At.Equal(r.At) {
				t.Fatalf("Restore = %+v, %v; the backup was %+v", again, err, r)
			}
			notes, pairs, events, seq := counts(t, back)
			if notes != pairs || notes != events || notes != seq || notes < last {
				t.Errorf("%d notes, %d pairs, %d events up to %d, and %d notes earlier", notes, pairs, events, seq, last)
			}
			last = notes
			mustNote(t, back, "after", "goes on")
			if _, _, _, after := counts(t, back); after != seq+1 {
				t.Errorf("the feed goes on with %d after %d", after, seq)
			}
		}
		stop()
		writers.Wait()
		if last < 1 {
			t.Error("nothing was written meanwhile")
		}
	})
}

func TestACopyMovesBetweenTheDatabasesAndBack(t *testing.T) {
	lite := open(t, t.TempDir(), current)
	for i, text := range hard {
		mustNote(t, lite, fmt.Sprint(i), text)
	}
	err := lite.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "UPDATE notes SET rank = -7, at = 9223372036854775807 WHERE id = '3'")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	postgres := open(t, storetest.Postgres(t), current)
	there, err := Copy(t.Context(), lite, postgres, false)
	if err != nil {
		t.Fatalf("Copy to PostgreSQL: %v", err)
	}
	mustNote(t, postgres, "new", "in PostgreSQL")
	if _, err := Copy(t.Context(), postgres, lite, false); code(err) != NotEmpty {
		t.Errorf("Copy into a store that has rows: %v", err)
	}
	back := open(t, t.TempDir(), current)
	here, err := Copy(t.Context(), postgres, back, false)
	if err != nil || here.Rows != there.Rows+4 { // a note has three rows, and the audit log one of the copy
		t.Fatalf("Copy back: %d rows after %d, %v", here.Rows, there.Rows, err)
	}
	err = back.Update(t.Context(), func(tx *store.Tx) error {
		for i, want := range hard {
			var text string
			if err := tx.QueryRow(t.Context(), "SELECT text FROM notes WHERE id = ?", fmt.Sprint(i)).Scan(&text); err != nil || text != want {
				t.Errorf("note %d = %.40q, %v; want %.40q", i, text, err, want)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	mustNote(t, back, "newer", "in SQLite")
}

func TestARestoreReplacesOnlyIfAskedTo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		source := open(t, t.TempDir(), current)
		mustNote(t, source, "a", "backed up")
		file, r := wrote(t, source)
		db := open(t, place, current)
		mustNote(t, db, "b", "to be replaced")
		if _, err := Restore(t.Context(), db, current, file, false); code(err) != NotEmpty {
			t.Fatalf("Restore: %v, want %s", err, NotEmpty)
		}
		again, err := Restore(t.Context(), db, current, file, true)
		if err != nil || !slices.Equal(again.Tables, r.Tables) {
			t.Fatalf("Restore = %+v, %v", again, err)
		}
		if err := note(t.Context(), db, "a", "is there"); err == nil {
			t.Error("the restored note is missing")
		}
		mustNote(t, db, "b", "is gone")
		if _, err := Write(t.Context(), source, current, filepath.Join(t.TempDir(), "none", "x.db"), "1.0"); code(err) != NoFolder {
			t.Errorf("a backup into a folder that is not there: %v", err)
		}
		if _, err := Write(t.Context(), source, current, file, "1.0"); code(err) != Exists {
			t.Errorf("Write to the same file: %v", err)
		}
	})
}

func TestAnOlderBackupIsMigratedAndANewerOneRefused(t *testing.T) {
	older := opener(1)
	old := open(t, t.TempDir(), older)
	mustNote(t, old, "a", "of an older release")
	file := filepath.Join(t.TempDir(), "older")
	if _, err := Write(t.Context(), old, older, file, "0.9"); err != nil {
		t.Fatal(err)
	}
	db := open(t, t.TempDir(), current)
	if _, err := Restore(t.Context(), db, current, file, false); err != nil {
		t.Fatalf("Restore of an older backup: %v", err)
	}
	var kind string
	err := db.Update(t.Context(), func(tx *store.Tx) error {
		return tx.QueryRow(t.Context(), "SELECT kind FROM notes WHERE id = 'a'").Scan(&kind)
	})
	if err != nil || kind != "plain" {
		t.Errorf("kind = %q, %v", kind, err)
	}
	newer, _ := wrote(t, db2(t))
	_, err = Restore(t.Context(), open(t, t.TempDir(), older), older, newer, false)
	if code(err) != Newer || !strings.Contains(err.Error(), "notes schema 2") {
		t.Errorf("Restore of a newer backup: %v", err)
	}
}

func db2(t *testing.T) *store.DB {
	db := open(t, t.TempDir(), current)
	mustNote(t, db, "a", "of the next release")
	return db
}

func TestADamagedFileIsNotRestored(t *testing.T) {
	source := open(t, t.TempDir(), current)
	for i := range 200 {
		mustNote(t, source, fmt.Sprint(i), "unmistakable")
	}
	file, _ := wrote(t, source)
	whole, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	db := open(t, t.TempDir(), current)
	flipped := slices.Clone(whole)
	flipped[strings.LastIndex(string(whole), "unmistakable")] = 'U'
	for name, text := range map[string][]byte{
		"flipped": flipped, "cut": whole[:len(whole)/2], "empty": nil, "text": []byte(strings.Repeat("not a database ", 500)),
	} {
		bad := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(bad, text, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Restore(t.Context(), db, current, bad, true); code(err) != Damaged && code(err) != NoBackup {
			t.Errorf("Restore of a %s file: %v", name, err)
		}
	}
	plain := open(t, t.TempDir(), current)
	if _, err := Restore(t.Context(), db, current, plain.File(), true); code(err) != NoBackup {
		t.Errorf("Restore of a store's own file: %v", err)
	}
	if _, err := Restore(t.Context(), db, current, filepath.Join(t.TempDir(), "none"), true); code(err) != NoBackup {
		t.Errorf("Restore of no file: %v", err)
	}
	mustNote(t, db, "1", "the store is as it was")
}

func TestAStoreInUseIsNotReplaced(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		source := open(t, t.TempDir(), current)
		file, _ := wrote(t, source)
		cmd, out, end := spawn(t, "hold "+place)
		if out.Scan(); out.Text() != "done" {
			t.Fatalf("the child says %q", out.Text())
		}
		db := open(t, place, current)
		_, err := Restore(t.Context(), db, current, file, true)
		if code(err) != InUse || runtime.GOOS == "linux" && !strings.Contains(err.Error(), fmt.Sprint("process ", cmd.Process.Pid)) {
			t.Errorf("Restore: %v, want %s with process %d", err, InUse, cmd.Process.Pid)
		}
		if _, err := Copy(t.Context(), db, source, true); code(err) != InUse {
			t.Errorf("Copy: %v, want %s", err, InUse)
		}
		end()
		db.Close()
		if _, err := Restore(t.Context(), open(t, place, current), current, file, true); err != nil {
			t.Errorf("Restore after the other process has ended: %v", err)
		}
	})
}

// TestAKilledRestoreLeavesTheOldStore kills a process that restores after each of its steps,
// and once after it has ended.
func TestAKilledRestoreLeavesTheOldStore(t *testing.T) {
	const old, new = 20, 300
	source := open(t, t.TempDir(), current)
	err := source.Update(t.Context(), func(tx *store.Tx) error {
		for i := range new {
			tx.Append("notes", fmt.Sprint(i), []byte("new"))
			if _, err := tx.Exec(t.Context(), "INSERT INTO notes (id, text) VALUES (?, 'new')", fmt.Sprint(i)); err != nil {
				return err
			}
			if _, err := tx.Exec(t.Context(), "INSERT INTO pairs (id) VALUES (?)", fmt.Sprint(i)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	file, _ := wrote(t, source)
	storetest.Each(t, func(t *testing.T, place string) {
		db := open(t, place, current)
		for i := range old {
			mustNote(t, db, fmt.Sprint("old", i), "old")
		}
		killed := 0
		for whole := false; !whole; {
			db.Close()
			cmd, out, end := spawn(t, fmt.Sprintf("restore %s\n%s\n%d", place, file, killed+1))
			want := int64(old)
			if whole = out.Scan(); whole {
				if want = new; out.Text() != "done" {
					t.Fatalf("the child says %q", out.Text())
				}
				cmd.Process.Kill()
			} else {
				killed++
			}
			end()
			db = open(t, place, current)
			if notes, pairs, events, seq := counts(t, db); notes != want || pairs != want || events != want || seq != want {
				t.Fatalf("killed after step %d: %d notes, %d pairs, %d events up to %d, want %d", killed, notes, pairs, events, seq, want)
			}
		}
		if killed < 8 {
			t.Errorf("%d steps", killed)
		}
	})
}

func TestWhatDigestsMean(t *testing.T) {
	seen := map[string]bool{}
	for _, row := range [][]any{{nil}, {int64(0)}, {""}, {"0"}, {"", ""}, {"a", "b"}, {"ab", ""}, {"", "ab"}, {int64(1), int64(2)}, {int64(12), nil}} {
		var text []byte
		var err error
		for _, v := range row {
			if text, err = encode(text, v); err != nil {
				t.Fatal(err)
			}
		}
		if seen[string(text)] {
			t.Errorf("%v is encoded as %q, as another row", row, text)
		}
		seen[string(text)] = true
	}
	if _, err := encode(nil, 1.5); err == nil {
		t.Error("a value of another type is encoded")
	}
	var a, b sum
	for i := range 3 {
		a.add([32]byte{255, byte(i)})
		b.add([32]byte{255, byte(2 - i)})
	}
	if a != b || a.String() == (&sum{}).String() {
		t.Errorf("%s and %s in another order", a.String(), b.String())
	}
}
