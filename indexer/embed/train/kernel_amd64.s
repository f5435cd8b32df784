#include "textflag.h"

// In all of these n is a multiple of 8 and at least 8, and rows lie one after
// the other.

// func addScaledAVX(y, x *float32, n int, factor float32)
TEXT ·addScaledAVX(SB), NOSPLIT, $0-28
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Y0

add:
	VMULPS  (SI), Y0, Y1
	VADDPS  (DI), Y1, Y1
	VMOVUPS Y1, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNE     add
	VZEROUPPER
	RET

// func addScaled4AVX(y, x *float32, n int, factors *[4]float32)
TEXT ·addScaled4AVX(SB), NOSPLIT, $0-32
	MOVQ y+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ factors+24(FP), AX
	VBROADCASTSS 0(AX), Y0
	VBROADCASTSS 4(AX), Y1
	VBROADCASTSS 8(AX), Y2
	VBROADCASTSS 12(AX), Y3
	LEAQ (SI)(CX*4), R8
	LEAQ (R8)(CX*4), R9
	LEAQ (R9)(CX*4), R10

add4:
	VMOVUPS (DI), Y4
	VMULPS  (SI), Y0, Y5
	VMULPS  (R8), Y1, Y6
	VMULPS  (R9), Y2, Y7
	VMULPS  (R10), Y3, Y8
	VADDPS  Y5, Y4, Y4
	VADDPS  Y6, Y4, Y4
	VADDPS  Y7, Y4, Y4
	VADDPS  Y8, Y4, Y4
	VMOVUPS Y4, (DI)
	ADDQ    $32, SI
	ADDQ    $32, R8
	ADDQ    $32, R9
	ADDQ    $32, R10
	ADDQ    $32, DI
	SUBQ    $8, CX
	JNE     add4
	VZEROUPPER
	RET

// func dot4AVX(x, rows *float32, n int, lanes *[32]float32)
TEXT ·dot4AVX(SB), NOSPLIT, $0-32
	MOVQ x+0(FP), DI
	MOVQ rows+8(FP), SI
	MOVQ n+16(FP), CX
	MOVQ lanes+24(FP), AX
	LEAQ (SI)(CX*4), R8
	LEAQ (R8)(CX*4), R9
	LEAQ (R9)(CX*4), R10
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

dot:
	VMOVUPS (DI), Y4
	VMULPS  (SI), Y4, Y5
	VMULPS  (R8), Y4, Y6
	VMULPS  (R9), Y4, Y7
	VMULPS  (R10), Y4, Y8
	VADDPS  Y5, Y0, Y0
	VADDPS  Y6, Y1, Y1
	VADDPS  Y7, Y2, Y2
	VADDPS  Y8, Y3, Y3
	ADDQ    $32, DI
	ADDQ    $32, SI
	ADDQ    $32, R8
	ADDQ    $32, R9
	ADDQ    $32, R10
	SUBQ    $8, CX
	JNE     dot
	VMOVUPS Y0, 0(AX)
	VMOVUPS Y1, 32(AX)
	VMOVUPS Y2, 64(AX)
	VMOVUPS Y3, 96(AX)
	VZEROUPPER
	RET
