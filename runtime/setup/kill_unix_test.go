//go:build unix

package setup

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A process that sets up and takes out in turns is killed at any moment. Each
// file is then what it was, or what it was to be, and both ways work on.
func TestKilledInTheMiddleFilesAreOldOrNew(t *testing.T) {
	if dir := os.Getenv("SETUP_IN_TURNS"); dir != "" {
		inTurns(t, dir)
	}
	e, r := world(t)
	put(t, filepath.Join(e.Project, "docs", "index.md"), "# Shop\n")
	placeSamples(t, e)
	old := tree(t, e.Project)
	p, err := New(e, r, everything(false))
	apply(t, p, err)
	set := tree(t, e.Project)
	for round := range 12 {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestKilledInTheMiddleFilesAreOldOrNew$")
		cmd.Env = append(os.Environ(), "SETUP_IN_TURNS="+filepath.Dir(e.Project))
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it has begun
			t.Fatal(err)
		}
		time.AfterFunc(time.Duration(rand.Int64N(int64(30*time.Millisecond))), func() { cmd.Process.Kill() })
		_ = cmd.Wait() // killed
		for name, text := range tree(t, e.Project) {
			if strings.HasSuffix(name, ".deskhand-new") {
				continue // staged, and not in its place
			}
			if text != old[name] && text != set[name] {
				t.Fatalf("round %d: %s is half written: %q", round, name, text)
			}
		}
		p, err := New(e, r, everything(false))
		apply(t, p, err)
		for name, text := range set {
			if now := tree(t, e.Project)[name]; now != text {
				t.Fatalf("round %d: %s is %q after another init, want %q", round, name, now, text)
			}
		}
	}
	p, err = Removal(e, r, Options{})
	apply(t, p, err)
	for name, text := range old {
		if now := tree(t, e.Project)[name]; now != text {
			t.Errorf("%s is %q in the end, want %q", name, now, text)
		}
	}
}

// inTurns runs until it is killed.
func inTurns(t *testing.T, root string) {
	e, _ := world(t)
	e.Project, e.Home = filepath.Join(root, "shop"), filepath.Join(root, "home")
	r := In(filepath.Join(root, "state"))
	for n := 0; ; n++ {
		p, err := Removal(e, r, Options{})
		apply(t, p, err)
		p, err = New(e, r, everything(false))
		apply(t, p, err)
		os.Stdout.WriteString(".")
	}
}
