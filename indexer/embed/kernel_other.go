//go:build !amd64

package embed

const hasAVX2 = false

func addRowAVX2(*float32, *byte, int, float32) {}

func unpackRowAVX2(*byte, *byte, int) {}
