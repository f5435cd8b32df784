package tasks_test

import (
	"os"
	"slices"
	"testing"

	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

func TestMain(m *testing.M) {
	if slices.Equal(os.Args[1:], executor.FakeArgs) {
		os.Exit(executor.FakeMain(os.Stdin, os.Stdout))
	}
	if job := os.Getenv("TASKS_TEST_CHILD"); job != "" {
		os.Exit(child(job))
	}
	os.Exit(storetest.Main(m))
}
