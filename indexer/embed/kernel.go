package embed

// addRow adds factor times row to sum; both are as long as a model has
// dimensions. With AVX2 it is kernel_amd64.s, which gives the same bits.
func addRow(sum []float32, row []byte, factor float32) {
	row = row[:len(sum)]
	if hasAVX2 && len(sum) > 0 {
		addRowAVX2(&sum[0], &row[0], len(sum), factor)
		return
	}
	addRowGo(sum, row, factor)
}

// addRowGo converts each product, which keeps machines that could fuse it with
// the sum from rounding otherwise than the rest.
func addRowGo(sum []float32, row []byte, factor float32) {
	row = row[:len(sum)]
	for i := range sum {
		sum[i] += float32(factor * float32(int8(row[i])))
	}
}
