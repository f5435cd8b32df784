package artifact

import (
	"encoding/binary"
	"slices"
)

// A term in a commonShare of a group's chunks or more is common: how often it
// stands in each chunk is kept as a column of bytes beside the postings, so that
// a search can ask for single chunks, and reads a whole column in a thirtieth of
// the time of its postings (BenchmarkLexical). Columns cost one byte a chunk;
// maxCommon bounds them.
const (
	commonShare = 1.0 / 8
	maxCommon   = 256
)

// encodeCommon writes the common terms of a group: u32 number of terms; for
// each a u32 of chunks that have it, its length as uvarint and its bytes; then
// their columns, in the same order, which is alphabetical.
func encodeCommon(chunks []*counts) []byte {
	df := map[string]int{}
	for _, c := range chunks {
		for _, t := range c.terms {
			df[t.text]++
		}
	}
	var common []string
	for text, n := range df {
		if float64(n) >= commonShare*float64(len(chunks)) && n > 1 {
			common = append(common, text)
		}
	}
	slices.SortFunc(common, func(x, y string) int {
		if df[x] != df[y] {
			return df[y] - df[x]
		}
		if x < y {
			return -1
		}
		return 1
	})
	common = common[:min(len(common), maxCommon)]
	slices.Sort(common)
	out := binary.LittleEndian.AppendUint32(nil, uint32(len(common)))
	place := map[string]int{}
	for i, text := range common {
		out = binary.LittleEndian.AppendUint32(out, uint32(df[text]))
		out = appendString(out, text)
		place[text] = i
	}
	columns := make([]byte, len(common)*len(chunks))
	for i, c := range chunks {
		for _, t := range c.terms {
			if at, ok := place[t.text]; ok {
				columns[at*len(chunks)+i] = byte(min(t.n, 255))
			}
		}
	}
	return append(out, columns...)
}

// column is where a common term stands in a group.
type column struct {
	df    int
	bytes []byte // by chunk of the group
}

// decodeCommon reads the common terms of a group of n chunks. The columns stay
// where they are.
func decodeCommon(b []byte, n int) (map[string]column, error) {
	if len(b) < 4 {
		return nil, errDamaged
	}
	terms := int(binary.LittleEndian.Uint32(b))
	b = b[4:]
	if terms > maxCommon {
		return nil, errDamaged
	}
	out := make(map[string]column, terms)
	names := make([]string, terms)
	dfs := make([]int, terms)
	for i := range names {
		if len(b) < 5 {
			return nil, errDamaged
		}
		dfs[i] = int(binary.LittleEndian.Uint32(b))
		size, used := binary.Uvarint(b[4:])
		if used <= 0 || size > uint64(len(b)-4-used) {
			return nil, errDamaged
		}
		names[i] = string(b[4+used : 4+used+int(size)])
		b = b[4+used+int(size):]
	}
	if len(b) != terms*n {
		return nil, errDamaged
	}
	for i, name := range names {
		out[name] = column{dfs[i], b[i*n : (i+1)*n]}
	}
	return out, nil
}
