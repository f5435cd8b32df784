package embed

import "encoding/binary"

// addRow adds factor*row to sum. len(sum) is the number of dimensions. row has half as
// many bytes, with two 4-bit numbers in each. With AVX2, it uses kernel_amd64.s, which
// produces bit-identical results.
func addRow(sum []float32, row []byte, factor float32) {
	row = row[:len(sum)/2]
	if hasAVX2 && len(row) > 0 {
		addRowAVX2(&sum[0], &row[0], len(sum), factor)
		return
	}
	addRowGo(sum, row, factor)
}

// addRowGo is addRow in plain Go. It converts each product to float32. Otherwise,
// machines that can fuse the multiplication and the addition would round
// differently.
func addRowGo(sum []float32, row []byte, factor float32) {
	for i, b := range row {
		two := sum[2*i:][:2]
		two[0] += float32(factor * float32(int8(b<<4)>>4))
		two[1] += float32(factor * float32(int8(b)>>4))
	}
}

// unpackRow writes the numbers of a row, each in 8 bits, to numbers. len(row) is half of
// len(numbers). With AVX2, it uses kernel_amd64.s for most of them.
func unpackRow(numbers, row []byte) {
	if n := len(row) / 16 * 16; hasAVX2 && n > 0 {
		unpackRowAVX2(&numbers[0], &row[0], n)
		numbers, row = numbers[2*n:], row[n:]
	}
	unpackRowGo(numbers, row)
}

// unpackRowGo is unpackRow in plain Go.
func unpackRowGo(numbers, row []byte) {
	for i, b := range row {
		binary.LittleEndian.PutUint16(numbers[2*i:], pairs[b])
	}
}

// pairs are the two numbers in each byte of a row.
var pairs = func() (t [256]uint16) {
	for b := range t {
		t[b] = uint16(byte(int8(b<<4)>>4)) | uint16(byte(int8(b)>>4))<<8
	}
	return t
}()
