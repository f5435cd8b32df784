package artifact

// hasKernel is true because every arm64 processor has NEON.
const hasKernel = true

// dotsKernel is dotsGo with NEON, for n rows of length stride. stride must be a
// multiple of 64.
//
//go:noescape
func dotsKernel(out *int32, query *int16, rows *byte, n, stride int)
