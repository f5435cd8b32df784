//go:build !amd64 && !arm64

package artifact

const hasKernel = false

func dotsKernel(*int32, *int16, *byte, int, int) {}
