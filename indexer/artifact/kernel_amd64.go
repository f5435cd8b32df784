package artifact

import "golang.org/x/sys/cpu"

var hasKernel = cpu.X86.HasAVX2

// dotsKernel is dotsGo with AVX2, for n rows of length stride. stride must be a
// multiple of 64.
//
//go:noescape
func dotsKernel(out *int32, query *int16, rows *byte, n, stride int)
