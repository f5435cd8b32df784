package embed

// addRow adds factor times row to sum, which is as long as a model has
// dimensions; row has half as many bytes, each two numbers of 4 bits. With AVX2
// it is kernel_amd64.s, which gives the same bits.
func addRow(sum []float32, row []byte, factor float32) {
	row = row[:len(sum)/2]
	if hasAVX2 && len(row) > 0 {
		addRowAVX2(&sum[0], &row[0], len(sum), factor)
		return
	}
	addRowGo(sum, row, factor)
}

// addRowGo converts each product, which keeps machines that could fuse it with
// the sum from rounding otherwise than the rest.
func addRowGo(sum []float32, row []byte, factor float32) {
	for i, b := range row {
		two := sum[2*i:][:2]
		two[0] += float32(factor * float32(int8(b<<4)>>4))
		two[1] += float32(factor * float32(int8(b)>>4))
	}
}
