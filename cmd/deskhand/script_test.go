package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"

	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// What people type, one story a script.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: filepath.Join("testdata", "script"),
		Setup: func(env *testscript.Env) error {
			env.Setenv("GORACE", quickRace)
			env.Values[heldKey{}] = &held{}
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"misused":     misused,
			"damage":      func(ts *testscript.TestScript, _ bool, args []string) { spoil(ts, args[0], flipped) },
			"truncated":   func(ts *testscript.TestScript, _ bool, args []string) { spoil(ts, args[0], halved) },
			"lock":        lock,
			"unlock":      unlock,
			"fill":        fill,
			"other-model": otherModel,
			"asked":       askedID,
			"keep":        keep,
			"waits":       waits,
		},
		RequireUniqueNames: true,
	})
}

// held is the lock that a script holds, found by heldKey.
type (
	held    struct{ file *os.File }
	heldKey struct{}
)

func unlock(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Check(ts.Value(heldKey{}).(*held).file.Close())
}

// misused runs deskhand with a command line that is wrong: exit code 2 and a
// hint on stderr, nothing on stdout.
func misused(ts *testscript.TestScript, _ bool, args []string) {
	err := ts.Exec("deskhand", args...)
	if err == nil || err.Error() != "exit status 2" {
		ts.Fatalf("deskhand %s: %v, want exit status 2", strings.Join(args, " "), err)
	}
	if stderr := ts.ReadFile("stderr"); !strings.Contains("\n"+stderr, "\ndeskhand: ") || !strings.Contains(stderr, "\nhint: ") {
		ts.Fatalf("deskhand %s: stderr %q, want what is wrong and a hint", strings.Join(args, " "), stderr)
	}
}

// spoil changes the data file of an index.
func spoil(ts *testscript.TestScript, index string, change func([]byte) []byte) {
	found, err := filepath.Glob(filepath.Join(ts.MkAbs(index), "index-*.idx"))
	if err != nil || len(found) != 1 {
		ts.Fatalf("data files of %s: %q, %v", index, found, err)
	}
	b, err := os.ReadFile(found[0])
	ts.Check(err)
	ts.Check(os.WriteFile(found[0], change(b), 0o644))
}

// otherModel makes an index one of a model that no program has.
func otherModel(ts *testscript.TestScript, _ bool, args []string) {
	file := filepath.Join(ts.MkAbs(args[0]), "metadata.json")
	var m artifact.Metadata
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(file)), &m))
	m.Embedding.Model = "0123456789abcdef"
	text, err := m.Encode()
	ts.Check(err)
	ts.Check(os.WriteFile(file, text, 0o644))
}

func flipped(b []byte) []byte {
	b[len(b)/2] ^= 0x10
	return b
}

func halved(b []byte) []byte { return b[:len(b)/2] }

// fill writes a page of so many numbered lines.
func fill(ts *testscript.TestScript, _ bool, args []string) {
	n, err := strconv.Atoi(args[1])
	ts.Check(err)
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "numbered line %d\n", i+1)
	}
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(b.String()), 0o644))
}
