package app

import (
	"context"
	"math"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"slices"
	"strings"
	"time"
)

const (
	// leastMemory is the lowest soft memory limit of a server, in bytes. A server that
	// uses less memory collects garbage at the usual rate.
	leastMemory = 48 << 20
	// leastMemoryOfShelf replaces leastMemory if a shelf is served. Its heap is larger, and
	// the indexes that are mapped beside it count as memory of the server too.
	leastMemoryOfShelf = 40 << 20
	// memoryEvery is the interval at which the limit is adjusted to the memory that the
	// server keeps. This memory is the minimum of the last memoryLooks samples.
	memoryEvery = 2 * time.Second
	memoryLooks = 5
)

// boundGarbage keeps a server's memory from growing with the garbage of a large call:
// an answer of 15 MB is copied about 15 times on its way from an upstream to a client,
// and [gcPercent] suits a heap of a few megabytes. Memory that stays in use may still
// double. The limit is at least least. If the environment sets GOMEMLIMIT, boundGarbage
// does nothing. It returns when ctx ends.
func boundGarbage(ctx context.Context, least uint64) {
	if strings.TrimSpace(os.Getenv("GOMEMLIMIT")) != "" {
		return
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	every := time.NewTicker(memoryEvery)
	defer every.Stop()
	looks := slices.Repeat([]uint64{live()}, memoryLooks)
	for i := 0; ; i++ {
		now := live()
		looks[i%memoryLooks] = now
		debug.SetMemoryLimit(memoryFor(least, slices.Min(looks), now, beside()))
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// memoryFor returns the soft memory limit for a server that keeps this much memory, and
// uses this much now, all in bytes. The limit always exceeds what is in use by half: below
// that, the server would do little else than collect garbage (with 75 MiB in use and a limit
// of 48 MiB, allocating takes five times as long as with 128 MiB). Collecting does not free
// what is beside the heap, so the limit is for both: 700 open streams have 20 MiB of stacks.
func memoryFor(least, kept, now, beside uint64) int64 {
	kept, now, beside = min(kept, math.MaxInt64/8), min(now, math.MaxInt64/8), min(beside, math.MaxInt64/8)
	return int64(max(least, max(kept*2, now+now/2)+least/4+beside))
}

// besides are the parts of the memory that the limit counts, but that are not garbage collected.
var besides = []string{
	"/memory/classes/heap/stacks:bytes", "/memory/classes/os-stacks:bytes", "/memory/classes/other:bytes",
	"/memory/classes/metadata/mcache/free:bytes", "/memory/classes/metadata/mcache/inuse:bytes",
	"/memory/classes/metadata/mspan/free:bytes", "/memory/classes/metadata/mspan/inuse:bytes",
	"/memory/classes/metadata/other:bytes", "/memory/classes/profiling/buckets:bytes",
}

// beside returns how many bytes the program uses beside the heap.
func beside() (sum uint64) {
	samples := make([]metrics.Sample, len(besides))
	for i, name := range besides {
		samples[i].Name = name
	}
	metrics.Read(samples)
	for _, s := range samples {
		if s.Value.Kind() == metrics.KindUint64 {
			sum += s.Value.Uint64()
		}
	}
	return sum
}

// live returns the number of heap bytes that were in use at the last garbage collection.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// gcPercent is how much a server's heap may grow between two collections. The heap is a
// few megabytes. Most of it is kept and reused by queries. With the default of 100, eight
// HTTP clients get 5 to 20 % fewer answers per second; 350 costs about 8 MiB more. GOGC
// in the environment takes precedence. For a large heap, see [boundGarbage].
const gcPercent = 350
