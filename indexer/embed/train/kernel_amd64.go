package train

import "golang.org/x/sys/cpu"

var hasAVX = cpu.X86.HasAVX

//go:noescape
func addScaledAVX(y, x *float32, n int, factor float32)

//go:noescape
func addScaled4AVX(y, x *float32, n int, factors *[4]float32)

//go:noescape
func dot4AVX(x, rows *float32, n int, lanes *[32]float32)
