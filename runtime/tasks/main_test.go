package tasks_test

import (
	"os"
	"testing"

	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestMain(m *testing.M) {
	if job := os.Getenv("TASKS_TEST_CHILD"); job != "" {
		os.Exit(child(job))
	}
	os.Exit(storetest.Main(m))
}
