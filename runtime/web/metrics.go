package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics holds the front's own metrics. Their route label is the path of the
// mount and never the client's path. The number of labels is therefore limited.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	inFlight *prometheus.GaugeVec
	page     http.Handler
}

func newMetrics(registry *prometheus.Registry, samples func() []Sample, places *Places) *metrics {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "deskhand_http_requests_total", Help: "Requests answered, by route and status.",
		}, []string{"route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "deskhand_http_request_duration_seconds", Help: "Time to answer a request, excluding streams.",
			// from the time for a cached answer to the time for a call that
			// waits for a person
			Buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10},
		}, []string{"route"}),
		inFlight: prometheus.NewGaugeVec(prometheus.GaugeOpts{
			Name: "deskhand_http_requests_in_flight", Help: "Requests being answered, including open streams.",
		}, []string{"route"}),
	}
	registry.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "deskhand_http_held_requests", Help: "Streams and calls that are held open."},
			func() float64 { return float64(places.taken.Load()) }),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "deskhand_http_held_requests_limit", Help: "How many may be held; more are refused with 503."},
			func() float64 { return float64(places.most) }))
	registry.MustRegister(m.requests, m.seconds, m.inFlight, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	if samples != nil {
		registry.MustRegister(sampled(samples))
	}
	m.page = reads(promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP)
	return m
}

// counted records one route's metrics.
func (s *Server) counted(route string, next http.Handler) http.Handler {
	inFlight := s.metrics.inFlight.WithLabelValues(route)
	seconds := s.metrics.seconds.WithLabelValues(route)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		start := time.Now()
		inFlight.Inc()
		status := &statusWriter{ResponseWriter: w}
		ended := false
		defer func() {
			inFlight.Dec()
			if !ended && status.code == 0 { // the handler panicked before it answered
				status.code = http.StatusInternalServerError
			}
			s.metrics.requests.WithLabelValues(route, strconv.Itoa(max(status.code, http.StatusOK))).Inc()
			if r.Method != http.MethodGet || w.Header().Get("Content-Type") != "text/event-stream" {
				seconds.Observe(time.Since(start).Seconds())
			}
		}()
		next.ServeHTTP(status, r)
		ended = true
	})
}

// statusWriter records the status code. code is 0 until the status is written.
type statusWriter struct {
	http.ResponseWriter
	code int
}

func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *statusWriter) WriteHeader(code int) {
	if w.code == 0 {
		w.code = code
	}
	w.ResponseWriter.WriteHeader(code)
}

func (w *statusWriter) Write(p []byte) (int, error) {
	if w.code == 0 {
		w.code = http.StatusOK
	}
	return w.ResponseWriter.Write(p)
}
