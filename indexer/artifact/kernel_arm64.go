package artifact

// hasKernel is true because every arm64 processor has NEON.
const hasKernel = true

// dotsKernel implements dotsGo with NEON, for n rows of stride numbers. stride must be
// a multiple of 64.
//
//go:noescape
func dotsKernel(out *int32, query *int16, rows *byte, n, stride int)
