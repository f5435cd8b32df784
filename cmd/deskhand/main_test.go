package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain makes this test binary the program under test: started under the
// name deskhand it is deskhand, and it is first in PATH under that name. With
// -race, the program is built as it is shipped instead, in a third of the time:
// the rooms are checked for races by their own tests. CHECK_PROGRAM=1 has the
// program checked too.
func TestMain(m *testing.M) {
	testscript.Main(alone{m}, map[string]func(){"deskhand": main, "mcpcall": mcpCall, "attack": attack})
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
	if racetest.On && os.Getenv("CHECK_PROGRAM") == "" {
		if err := shipped(home); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); strings.HasPrefix(name, "DESKHAND_") && !strings.HasPrefix(name, "DESKHAND_TEST_") || strings.HasPrefix(name, "XDG_") || name == "SOURCE_DATE_EPOCH" || name == "CI" {
			os.Unsetenv(name)
		}
	}
	os.Setenv("HOME", home)
	os.Setenv("GORACE", quickRace)
	return storetest.Main(a.M)
}

// shipped builds the program as make build does and puts it first in PATH.
func shipped(dir string) error {
	bin := filepath.Join(dir, "bin")
	build := exec.Command("go", "build", "-o", bin+string(filepath.Separator), ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("build the program: %w\n%s", err, out)
	}
	return os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH"))
}

// quickRace lets a program that is checked for races end without waiting a
// second for more of them.
const quickRace = "atexit_sleep_ms=0"
