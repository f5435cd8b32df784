package tasks_test

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"github.com/deskhand/deskhand/runtime/racetest"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/tasks/box/boxtest"
)

// inherited is the origin of a runner in these tests.
var inherited string

func TestMain(m *testing.M) {
	boxtest.Main()
	if n := len(box.Args); len(os.Args) > n && slices.Equal(os.Args[1:1+n], box.Args) {
		os.Exit(box.Main(os.Args[1+n:], os.Stderr))
	}
	if len(os.Args) > 1 && os.Args[1] == "runner" { // like the real program
		origin, err := tasks.Inherit(os.Stdin)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		inherited = origin
	}
	if job := os.Getenv("TASKS_TEST_CHILD"); job != "" {
		os.Exit(child(job))
	}
	os.Exit(racetest.Main(func() int { return storetest.Main(m) }))
}
