package artifact

// RowAlign is what the length of a row that [Dots] reads is a multiple of.
const RowAlign = rowAlign

// Dots writes the product of query with each of len(out) rows to out. A row has
// as many numbers of 8 bits as query has elements, a multiple of RowAlign, and
// lies behind the one before. Sums must fit 32 bits.
func Dots(out []int32, query []int16, rows []byte) { dots(out, query, rows) }

// dots writes the dot product of query and each row to out. The rows are as long as
// query and consecutive. len(query) must be a positive multiple of rowAlign, and the
// sums must fit in 32 bits (see rounded). All kernels return the same result, because
// integer sums do not depend on the order.
func dots(out []int32, query []int16, rows []byte) {
	rows = rows[:len(out)*len(query)]
	if hasKernel && len(out) > 0 {
		dotsKernel(&out[0], &query[0], &rows[0], len(out), len(query))
		return
	}
	dotsGo(out, query, rows)
}

// dotsGo is used on machines without a kernel. Tests compare the kernels with it.
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
