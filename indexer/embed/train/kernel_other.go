//go:build !amd64

package train

const hasAVX = false

func addScaledAVX(*float32, *float32, int, float32)      {}
func addScaled4AVX(*float32, *float32, int, *[4]float32) {}
func dot4AVX(*float32, *float32, int, *[32]float32)      {}
