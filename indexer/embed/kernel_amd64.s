#include "textflag.h"

// func addRowAVX2(sum *float32, row *byte, n int, factor float32)
TEXT ·addRowAVX2(SB), NOSPLIT, $0-28
	MOVQ sum+0(FP), DI
	MOVQ row+8(FP), SI
	MOVQ n+16(FP), CX
	VBROADCASTSS factor+24(FP), Y0

eight:
	VPMOVSXBD (SI), Y1
	VCVTDQ2PS Y1, Y1
	VMULPS    Y0, Y1, Y1
	VADDPS    (DI), Y1, Y1
	VMOVUPS   Y1, (DI)
	ADDQ      $8, SI
	ADDQ      $32, DI
	SUBQ      $8, CX
	JNE       eight
	VZEROUPPER
	RET
