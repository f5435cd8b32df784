package store_test

import (
	"os"
	"testing"

	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if job := os.Getenv("STORE_TEST_CHILD"); job != "" {
		return child(job)
	}
	return storetest.Main(m)
}
