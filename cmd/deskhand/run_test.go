package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// patience bounds every wait for a program: on a busy machine and checked for
// races it may be slow, and it never takes that long.
const patience = 30 * time.Second

// ran is how a command ended.
type ran struct {
	stdout, stderr string
	code           int
}

// deskhand runs a command line in dir to its end.
func deskhand(t testing.TB, dir string, args ...string) ran {
	t.Helper()
	return fed(t, dir, "", args...)
}

// fed is deskhand with a text on stdin.
func fed(t testing.TB, dir, stdin string, args ...string) ran {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "deskhand", args...)
	var stdout, stderr bytes.Buffer
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = dir, strings.NewReader(stdin), &stdout, &stderr
	err := cmd.Run()
	if exit := new(exec.ExitError); err != nil && !errors.As(err, &exit) {
		t.Fatalf("deskhand %s: %v", strings.Join(args, " "), err)
	}
	return ran{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
}

// done runs a command line that must succeed and returns its stdout.
func done(t testing.TB, dir string, args ...string) string {
	t.Helper()
	r := deskhand(t, dir, args...)
	if r.code != 0 {
		t.Fatalf("deskhand %s: exit %d\n%s%s", strings.Join(args, " "), r.code, r.stdout, r.stderr)
	}
	return r.stdout
}

// acme is a copy of the small corpus in testdata/acme with the files given
// changed or added.
func acme(t testing.TB, changes map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("testdata", "acme"))); err != nil {
		t.Fatal(err)
	}
	write(t, dir, changes)
	return dir
}

// write puts files into dir.
func write(t testing.TB, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// endpoints are n pages of two chunks each, all of which match "widget".
func endpoints(n int) map[string]string {
	files := map[string]string{}
	for i := range n {
		files[fmt.Sprintf("api/endpoint-%02d.md", i)] = fmt.Sprintf(
			"---\nmetadata: {scope: api}\n---\n# Endpoint %d\n\nReturns widget number %d.\n\n## Request\n\nAsk for the widget by its number, %d.\n", i, i, i)
	}
	return files
}

// indexed builds the index of a corpus and returns its folder.
func indexed(t testing.TB, corpus string, flags ...string) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "index")
	done(t, t.TempDir(), append([]string{"index", corpus, "-o", out}, flags...)...)
	return out
}

// eventually asks until check returns nil, and fails with its last error.
func eventually(t testing.TB, what string, check func() error) {
	t.Helper()
	waittest.Until(t, what, func() (bool, any) {
		err := check()
		return err == nil, err
	})
}

// lazily is what a wait has seen, asked for only if it is in vain.
type lazily func() string

func (l lazily) String() string { return l() }
