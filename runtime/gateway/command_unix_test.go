//go:build unix

package gateway

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// TestWhatACommandStartedEndsWithIt exists because a wrapper such as npx or a shell
// often starts the upstream.
func TestWhatACommandStartedEndsWithIt(t *testing.T) {
	u, file := command(t), filepath.Join(t.TempDir(), "child")
	u.Command = []string{"sh", "-c", `sleep 1000 >/dev/null 2>&1 </dev/null & echo $! >` + file + `; exec "$0"`, u.Command[0]}
	d := at(t, t.TempDir(), nil, u)
	d.works("notes_key", `{}`, "the key has ")
	text, err := os.ReadFile(file)
	var child int
	if _, e := fmt.Sscan(string(text), &child); err != nil || e != nil {
		t.Fatalf("the command wrote %q, %v", text, err)
	}
	if proc.StartTime(child) == "" {
		t.Fatal("the child has ended before its upstream: the test shows nothing")
	}
	d.end()
	waittest.Until(t, "the child ends", func() (bool, any) { return proc.StartTime(child) == "", child })
}
