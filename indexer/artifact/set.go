package artifact

// Set is a set of an index's chunks, with one bit for each chunk.
type Set []uint64

// Has reports whether chunk is in the set. chunk must be in range.
func (s Set) Has(chunk int) bool { return s[chunk>>6]>>(chunk&63)&1 != 0 }

// ChunksOf returns the chunks of the pages for which accept returns true.
func (r *Reader) ChunksOf(accept func(page int) bool) (Set, error) {
	s := make(Set, (r.chunks+63)/64)
	for gi := range r.groups {
		g := &r.groups[gi]
		for i := range g.pages {
			first, n := int(g.pageField(i, pageFirst)), int(g.pageField(i, pageChunks))
			if first+n > g.chunks {
				return nil, r.damagedBy(errDamaged)
			}
			if !accept(g.firstPage + i) {
				continue
			}
			for c := g.firstChunk + first; c < g.firstChunk+first+n; c++ {
				s[c>>6] |= 1 << (c & 63)
			}
		}
	}
	return s, nil
}
