package embed

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
