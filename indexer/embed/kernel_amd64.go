package embed

import "golang.org/x/sys/cpu"

var hasAVX2 = cpu.X86.HasAVX2

// addRowAVX2 is addRowGo with AVX2. n must be a positive multiple of 8.
//
//go:noescape
func addRowAVX2(sum *float32, row *byte, n int, factor float32)

// unpackRowAVX2 is unpackRowGo with AVX2. n, the length of row in bytes, must be a positive
// multiple of 16.
//
//go:noescape
func unpackRowAVX2(numbers, row *byte, n int)
