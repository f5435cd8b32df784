package onboarding

import (
	"bytes"
	"context"
	"os"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
)

// The server of an agent that is running may build the index: that is no failure of init.
func TestInitLeavesABuildToTheProcessThatHasBegunIt(t *testing.T) {
	t.Chdir(t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("USERPROFILE", os.Getenv("HOME"))
	if err := os.WriteFile("README.md", []byte("# Shop\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var stdout, stderr bytes.Buffer
	w := Work{
		Console: &console.Console{Stdin: strings.NewReader(""), Stdout: &stdout, Stderr: &stderr}, State: t.TempDir(), Index: ".deskhand/index",
		Build: func(context.Context, string) error {
			return &fault.Fault{Code: "locked", Message: "another build is writing"}
		},
		Untrusted: func() string { return "" },
	}
	err := w.Run(t.Context(), Flags{Yes: true, Clients: []string{"claude"}})
	if err != nil || !strings.Contains(stderr.String(), "another process is building the index") || !strings.Contains(stdout.String(), "run: deskhand doctor") {
		t.Errorf("init = %v\n%s%s", err, stdout.String(), stderr.String())
	}
}
