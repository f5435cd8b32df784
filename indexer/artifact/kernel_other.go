package artifact

func dots(out []int32, query []int16, rows []byte) { dotsGo(out, query, rows) }
