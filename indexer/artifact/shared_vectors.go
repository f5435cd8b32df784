package artifact

import "errors"

// SharedTwins finds the chunks of several indexes that have the same vector, for example
// because one library is there in several versions. Its Bytes are like the twins section of
// one index that has the chunks of all, in the order in which the indexes were added.
type SharedTwins struct {
	twins
	dimensions int
	differ     bool
}

// Add adds the vectors of the next index. It panics if they are damaged.
func (t *SharedTwins) Add(r *Reader) error {
	if t.differ || r.Dimensions() == 0 || t.dimensions > 0 && t.dimensions != r.Dimensions() {
		t.differ = true
		return nil
	}
	t.dimensions = r.Dimensions()
	v := r.vectors()
	for _, g := range v.groups {
		t.add(g.rows, g.chunks, v.dimensions)
	}
	return nil
}

// Bytes returns nil if the indexes have vectors of different lengths, or one has none.
func (t *SharedTwins) Bytes() []byte {
	if t.differ {
		return nil
	}
	return t.bytes()
}

// SharedVectors are the vectors of several indexes, of which a scan reads each distinct row
// once.
type SharedVectors struct {
	next []byte
	runs [][]run // by share; their chunks are numbered as in next
}

// ShareVectors returns the vectors of shares. next is from SharedTwins for the same indexes.
// If next is empty, the result is nil.
func ShareVectors(shares []Share, next []byte) (*SharedVectors, error) {
	if len(next) == 0 {
		return nil, nil
	}
	again, err := repeated(next)
	if err != nil {
		return nil, err
	}
	all := &SharedVectors{next, make([][]run, len(shares))}
	bases := basesOf(shares)
	for i := range shares {
		err := shares[i].guarded(func() error {
			v := shares[i].vectors()
			if bases[i]+shares[i].chunks > len(again) || v.chromem != nil {
				return errors.New("the list of duplicate vectors is of other indexes")
			}
			for n := range v.groups {
				all.runs[i] = v.groups[n].split(all.runs[i], again, bases[i]+v.groups[n].first, v.stride)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}
