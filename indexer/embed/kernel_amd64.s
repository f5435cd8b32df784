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
