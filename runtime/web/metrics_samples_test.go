package web

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

func TestSamplesAreReadEachTime(t *testing.T) {
	spent := 0.0
	m := newMetrics(prometheus.NewRegistry(), func() []Sample {
		spent += 0.25
		return []Sample{
			{Name: "spent_total", Help: "Spent.", Labels: map[string]string{"agent": "fake", "kind": "x"}, Value: spent},
			{Name: "broken_total", Help: "Broken.", Labels: map[string]string{"agent": "\xff"}, Value: 1},
		}
	}, NewPlaces(1))
	read := func() string {
		w := httptest.NewRecorder()
		m.page.ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
		return w.Body.String()
	}
	for _, want := range []string{`spent_total{agent="fake",kind="x"} 0.25`, `spent_total{agent="fake",kind="x"} 0.5`} {
		if got := read(); !strings.Contains(got, want) || strings.Contains(got, "broken_total") {
			t.Errorf("/metrics lacks %s:\n%s", want, got)
		}
	}
}
