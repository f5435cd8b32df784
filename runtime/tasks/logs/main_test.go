package logs

import (
	"os"
	"testing"

	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestMain(m *testing.M) {
	if place := os.Getenv("LOGS_TEST_CHILD"); place != "" {
		writeUntilKilled(place)
	}
	os.Exit(storetest.Main(m))
}
