package eval

import (
	"testing"
	"time"
)

func TestPercentileIsTheNearestRank(t *testing.T) {
	calls := make([]time.Duration, 20)
	for i := range calls {
		calls[19-i] = time.Duration(i+1) * time.Millisecond
	}
	for _, test := range []struct {
		n    int
		p    float64
		want float64
	}{{20, 0.5, 10}, {20, 0.95, 19}, {20, 1, 20}, {1, 0.5, 20}, {1, 0.95, 20}, {3, 0.5, 19}, {0, 0.5, 0}} {
		if got := percentile(calls[:test.n], test.p); got != test.want {
			t.Errorf("percentile of the last %d of 1..20 ms at %v = %v ms, want %v", test.n, test.p, got, test.want)
		}
	}
}
