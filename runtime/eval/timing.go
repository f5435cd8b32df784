package eval

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Timing is the part of a report that differs between runs.
type Timing struct {
	// Latency covers all measured calls of Search.
	Latency
	// TextP50 is the median latency of Text, in milliseconds; 0 if no hit had
	// to be opened.
	TextP50 float64 `json:"text_p50_ms"`
	// Seconds is the total time for all cases.
	Seconds float64 `json:"elapsed_s"`
	// PeakRSS is the process's peak memory, in MiB; 0 on systems without /proc.
	PeakRSS    float64           `json:"peak_rss_mib"`
	Categories []CategoryLatency `json:"categories"`
}

// Latency holds nearest-rank percentiles in milliseconds.
type Latency struct {
	P50 float64 `json:"search_p50_ms"`
	P95 float64 `json:"search_p95_ms"`
}

// CategoryLatency is the latency of one category.
type CategoryLatency struct {
	Category string `json:"category"`
	Latency
}

// stopwatch holds one case's search and text times.
type stopwatch struct{ searches, texts []time.Duration }

func newTiming(results []CaseResult, watches []stopwatch, elapsed time.Duration, peakMiB float64) *Timing {
	var searches, texts []time.Duration
	byCategory := map[string][]time.Duration{}
	for i, w := range watches {
		searches, texts = append(searches, w.searches...), append(texts, w.texts...)
		category := results[i].Category
		byCategory[category] = append(byCategory[category], w.searches...)
	}
	t := &Timing{Latency: latency(searches), TextP50: percentile(texts, 0.5), Seconds: elapsed.Seconds(), PeakRSS: peakMiB}
	for _, category := range categoryNames(results) {
		t.Categories = append(t.Categories, CategoryLatency{category, latency(byCategory[category])})
	}
	return t
}

func latency(calls []time.Duration) Latency {
	return Latency{P50: percentile(calls, 0.5), P95: percentile(calls, 0.95)}
}

// percentile returns the nearest-rank percentile of calls for the share p, in
// milliseconds, or 0 if there are no calls.
func percentile(calls []time.Duration, p float64) float64 {
	if len(calls) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(calls))
	rank := int(math.Ceil(p * float64(len(sorted))))
	return float64(sorted[max(0, rank-1)].Microseconds()) / 1000
}

// peakRSS returns a process's peak resident memory (VmHWM in proc(5)) in MiB, or 0
// if it cannot be read. pid 0 means this process.
func peakRSS(pid int) float64 {
	file := "/proc/self/status"
	if pid > 0 {
		file = fmt.Sprintf("/proc/%d/status", pid)
	}
	f, err := os.Open(file)
	if err != nil {
		return 0
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if value, ok := strings.CutPrefix(lines.Text(), "VmHWM:"); ok {
			kib, err := strconv.ParseFloat(strings.TrimSpace(strings.TrimSuffix(strings.TrimSpace(value), "kB")), 64)
			if err != nil {
				return 0
			}
			return kib / 1024
		}
	}
	return 0
}
