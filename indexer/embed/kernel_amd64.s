#include "textflag.h"

// What brings number i of the eight in 32 bits to the top.
DATA shifts<>+0x00(SB)/4, $28
DATA shifts<>+0x04(SB)/4, $24
DATA shifts<>+0x08(SB)/4, $20
DATA shifts<>+0x0c(SB)/4, $16
DATA shifts<>+0x10(SB)/4, $12
DATA shifts<>+0x14(SB)/4, $8
DATA shifts<>+0x18(SB)/4, $4
DATA shifts<>+0x1c(SB)/4, $0
GLOBL shifts<>(SB), RODATA|NOPTR, $32

// func addRowAVX2(sum *float32, row *byte, n int, factor float32)
TEXT ·addRowAVX2(SB), NOSPLIT, $0-28
	MOVQ sum+0(FP), DI
	MOVQ row+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Y0
	VMOVDQU shifts<>(SB), Y2

eight:
	VPBROADCASTD (SI), Y1
	VPSLLVD   Y2, Y1, Y1
	VPSRAD    $28, Y1, Y1
	VCVTDQ2PS Y1, Y1
	VMULPS    Y0, Y1, Y1
	VADDPS    (DI), Y1, Y1
	VMOVUPS   Y1, (DI)
	ADDQ      $4, SI
	ADDQ      $32, DI
	SUBQ      $8, CX
	JNE       eight
	VZEROUPPER
	RET

// The sign of a number of 4 bits, and the lower 4 bits, of each byte.
DATA eights<>+0x00(SB)/8, $0x0808080808080808
DATA eights<>+0x08(SB)/8, $0x0808080808080808
GLOBL eights<>(SB), RODATA|NOPTR, $16
DATA lows<>+0x00(SB)/8, $0x0f0f0f0f0f0f0f0f
DATA lows<>+0x08(SB)/8, $0x0f0f0f0f0f0f0f0f
GLOBL lows<>(SB), RODATA|NOPTR, $16

// func unpackRowAVX2(numbers, row *byte, n int)
//
// 16 bytes at a time: (x ^ 8) - 8 widens the sign of 4 bits to 8.
TEXT ·unpackRowAVX2(SB), NOSPLIT, $0-24
	MOVQ numbers+0(FP), DI
	MOVQ row+8(FP), SI
	MOVQ n+16(FP), CX
	VMOVDQU lows<>(SB), X4
	VMOVDQU eights<>(SB), X5

sixteen:
	VMOVDQU    (SI), X0
	VPSRLW     $4, X0, X1
	VPAND      X4, X0, X0
	VPAND      X4, X1, X1
	VPXOR      X5, X0, X0
	VPXOR      X5, X1, X1
	VPSUBB     X5, X0, X0
	VPSUBB     X5, X1, X1
	VPUNPCKLBW X1, X0, X2
	VPUNPCKHBW X1, X0, X3
	VMOVDQU    X2, (DI)
	VMOVDQU    X3, 16(DI)
	ADDQ       $16, SI
	ADDQ       $32, DI
	SUBQ       $16, CX
	JNE        sixteen
	VZEROUPPER
	RET
