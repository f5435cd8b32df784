package artifact

// dotsGo writes the product of query with each row, which are as long as query
// and lie one after the other, to out. It is what the kernels of other files
// do, and what they are tested against. len(query) is a multiple of rowAlign;
// the sums fit 32 bits, see rounded.
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
