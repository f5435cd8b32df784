package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the program under test: started under the
// name deskhand it is deskhand, and it is first in PATH under that name. With
// -race the servers that the tests start are checked too.
func TestMain(m *testing.M) {
	testscript.Main(alone{m}, map[string]func(){"deskhand": main, "mcpcall": mcpCall})
}

// alone runs the tests apart from the settings of whoever runs them.
type alone struct{ *testing.M }

func (a alone) Run() int {
	home, err := os.MkdirTemp("", "deskhand-home")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(home)
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "DESKHAND_") || strings.HasPrefix(name, "XDG_") || name == "SOURCE_DATE_EPOCH" {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", home)
	os.Setenv("GORACE", quickRace)
	return a.M.Run()
}

// quickRace lets a program that is checked for races end without waiting a
// second for more of them.
const quickRace = "atexit_sleep_ms=0"
