package artifact

// dots writes the product of query with each row, which are as long as query
// and lie one after the other, to out. len(query) is a multiple of rowAlign and
// not 0; the sums fit 32 bits, see rounded. Each kernel gives the same: whole
// numbers have no order of summing.
func dots(out []int32, query []int16, rows []byte) {
	rows = rows[:len(out)*len(query)]
	if hasKernel && len(out) > 0 {
		dotsKernel(&out[0], &query[0], &rows[0], len(out), len(query))
		return
	}
	dotsGo(out, query, rows)
}

// dotsGo is for machines without a kernel, and what the kernels are tested
// against.
func dotsGo(out []int32, query []int16, rows []byte) {
	for i := range out {
		row := rows[i*len(query):][:len(query)]
		var a, b, c, d int32
		for j := 0; j+4 <= len(row); j += 4 {
			a += int32(query[j]) * int32(int8(row[j]))
			b += int32(query[j+1]) * int32(int8(row[j+1]))
			c += int32(query[j+2]) * int32(int8(row[j+2]))
			d += int32(query[j+3]) * int32(int8(row[j+3]))
		}
		out[i] = a + b + c + d
	}
}
