package eval

import (
	"testing"
)

func TestPeakRSSIsReadFromProc(t *testing.T) {
	if got := peakRSS(0); got < 1 || got > 1<<20 {
		t.Errorf("peakRSS of this process = %v MiB, want more than 1", got)
	}
	if got := peakRSS(1 << 30); got != 0 {
		t.Errorf("peakRSS of no process = %v, want 0", got)
	}
}
