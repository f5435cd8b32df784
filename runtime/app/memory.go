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
	// leastMemory is what a server may have before garbage is collected more often
	// than it is by itself, in bytes.
	leastMemory = 128 << 20
	// memoryEvery is how often that is fitted to what the server keeps, which is
	// what it had at each of the last memoryLooks looks.
	memoryEvery = 2 * time.Second
	memoryLooks = 5
)

// boundGarbage keeps the memory of a server from growing with what a large call
// leaves behind: an answer of 15 MB is written anew some 15 times on its way from
// an upstream to a client, and [gcPercent] is for a heap of a few megabytes. What
// is kept for longer may still be doubled. GOMEMLIMIT of the environment goes
// before. It ends with ctx.
func boundGarbage(ctx context.Context) {
	if strings.TrimSpace(os.Getenv("GOMEMLIMIT")) != "" {
		return
	}
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(-1))
	every := time.NewTicker(memoryEvery)
	defer every.Stop()
	looks := slices.Repeat([]uint64{live()}, memoryLooks)
	for i := 0; ; i++ {
		looks[i%memoryLooks] = live()
		debug.SetMemoryLimit(memoryFor(slices.Min(looks)))
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
	}
}

// memoryFor is the memory from which on garbage is collected more often, for what a
// server keeps; both in bytes.
func memoryFor(kept uint64) int64 {
	return int64(max(leastMemory, min(kept, math.MaxInt64/4)*2+leastMemory/4))
}

// live is what was in use when garbage was collected last, in bytes.
func live() uint64 {
	sample := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(sample)
	if sample[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return sample[0].Value.Uint64()
}

// gcPercent is how much a server's heap may grow between two collections. It is
// a few megabytes, most of which queries keep and use again. With the usual 100
// eight clients over HTTP get 5 to 20 % fewer answers a second; this takes some
// 8 MiB more. GOGC in the environment wins. A large heap is for [boundGarbage].
const gcPercent = 350
