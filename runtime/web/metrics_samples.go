package web

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Sample is the value of a counter, or of a gauge, that the server itself does not count.
type Sample struct {
	Name, Help string
	Labels     map[string]string
	Value      float64
	Gauge      bool
}

// sampled asks for samples each time /metrics is read.
type sampled func() []Sample

// Describe implements [prometheus.Collector]. It sends nothing, because the samples are
// known only when they are read.
func (sampled) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (s sampled) Collect(out chan<- prometheus.Metric) {
	for _, one := range s() {
		names := slices.Sorted(maps.Keys(one.Labels))
		values := make([]string, len(names))
		for i, name := range names {
			values[i] = one.Labels[name]
		}
		kind := prometheus.CounterValue
		if one.Gauge {
			kind = prometheus.GaugeValue
		}
		m, err := prometheus.NewConstMetric(prometheus.NewDesc(one.Name, one.Help, names, nil), kind, one.Value, values...)
		if err == nil { // labels that are not UTF-8 would be refused
			out <- m
		}
	}
}
