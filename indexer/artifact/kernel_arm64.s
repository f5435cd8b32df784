#include "textflag.h"

// The assembler of Go does not know these; d, n and m are numbers of vector
// registers.
#define SXTL(d, n)      WORD $(0x0f08a400 | (n)<<5 | (d))           // d.8h = lower 8 of n.16b, widened
#define SXTL2(d, n)     WORD $(0x4f08a400 | (n)<<5 | (d))           // the same of the upper 8
#define SMLAL(d, n, m)  WORD $(0x0e608000 | (m)<<16 | (n)<<5 | (d)) // d.4s += lower 4 of n.8h * m.8h
#define SMLAL2(d, n, m) WORD $(0x4e608000 | (m)<<16 | (n)<<5 | (d)) // the same of the upper 4

// SIXTEEN adds 16 numbers of a row times those of the query in a and b.
#define SIXTEEN(row, a, b) \
	SXTL(28, row)    \
	SXTL2(29, row)   \
	SMLAL(0, 28, a)  \
	SMLAL2(1, 28, a) \
	SMLAL(2, 29, b)  \
	SMLAL2(3, 29, b)

// func dotsKernel(out *int32, query *int16, rows *byte, n, stride int)
//
// 64 numbers of a row at a time; the sums are in V0 to V3.
TEXT ·dotsKernel(SB), NOSPLIT, $0-40
	MOVD out+0(FP), R0
	MOVD query+8(FP), R1
	MOVD rows+16(FP), R2
	MOVD n+24(FP), R3
	MOVD stride+32(FP), R4

row:
	VEOR V0.B16, V0.B16, V0.B16
	VEOR V1.B16, V1.B16, V1.B16
	VEOR V2.B16, V2.B16, V2.B16
	VEOR V3.B16, V3.B16, V3.B16
	MOVD R1, R5
	MOVD R4, R6

numbers:
	VLD1.P 64(R2), [V16.B16, V17.B16, V18.B16, V19.B16]
	VLD1.P 64(R5), [V20.H8, V21.H8, V22.H8, V23.H8]
	VLD1.P 64(R5), [V24.H8, V25.H8, V26.H8, V27.H8]
	SIXTEEN(16, 20, 21)
	SIXTEEN(17, 22, 23)
	SIXTEEN(18, 24, 25)
	SIXTEEN(19, 26, 27)
	SUBS   $64, R6
	BNE    numbers

	VADD   V1.S4, V0.S4, V0.S4
	VADD   V3.S4, V2.S4, V2.S4
	VADD   V2.S4, V0.S4, V0.S4
	VADDV  V0.S4, V4
	VMOV   V4.S[0], R7
	MOVW.P R7, 4(R0)
	SUBS   $1, R3
	BNE    row
	RET
