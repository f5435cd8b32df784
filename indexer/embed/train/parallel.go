package train

import (
	"context"
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
)

// each calls do(0) to do(n-1) on all cores, in no particular order. It stops early if
// ctx is cancelled. The effect of do(i) must depend only on i.
func each(ctx context.Context, n int, do func(i int)) {
	var (
		next atomic.Int64
		wait sync.WaitGroup
	)
	for range min(runtime.GOMAXPROCS(0), n) {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				do(i)
			}
		})
	}
	wait.Wait()
}

// blocks processes n items with each, in blocks of the given size.
func blocks(ctx context.Context, n, size int, do func(from, to int)) {
	each(ctx, (n+size-1)/size, func(i int) { do(i*size, min(n, (i+1)*size)) })
}

// random is a splitmix64 generator. It is so small that every item in a batch can have
// a separate generator with a seed derived from the item.
type random uint64

// randomOf returns a generator for the item identified by keys.
func randomOf(keys ...uint64) random {
	var r random
	for _, k := range keys {
		r = random(mix(uint64(r) ^ mix(k+0x9e3779b97f4a7c15)))
	}
	return r
}

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 implements rand.Source.
func (r *random) Uint64() uint64 {
	*r += 0x9e3779b97f4a7c15
	return mix(uint64(*r))
}

// chance returns true with probability p.
func (r *random) chance(p float64) bool { return float64(r.Uint64()>>11)/(1<<53) < p }

// below returns a uniformly distributed number in [0, n).
func (r *random) below(n int) int {
	high, _ := bits.Mul64(r.Uint64(), uint64(n))
	return int(high)
}

func shuffle[T any](r *random, s []T) {
	for i := len(s) - 1; i > 0; i-- {
		j := r.below(i + 1)
		s[i], s[j] = s[j], s[i]
	}
}
