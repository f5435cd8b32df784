package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
)

// Twins are chunks with the same vector, for example the same section in several
// versions of the docs. A scan computes the score of only the first twin. For example,
// five versions of one manual have 29,870 chunks, of which 11,018 are distinct.
//
// The section has a u32 per chunk: the next chunk with the same row, or 0 if there is
// none. If there are no vectors, the section is empty.

// twinBytes returns the length of the twins section in bytes.
func twinBytes(dimensions, chunks int) uint64 {
	if dimensions == 0 {
		return 0
	}
	return 4 * uint64(chunks)
}

// twins finds equal rows while an index is written.
type twins struct {
	last map[[16]byte]uint32 // by digest of a row, the last chunk with this row
	next []uint32
}

// add adds the vectors of the next group.
func (t *twins) add(section []byte, chunks, dimensions int) {
	if dimensions == 0 || chunks == 0 {
		return
	}
	if t.last == nil {
		t.last = map[[16]byte]uint32{}
	}
	for row := range chunks {
		sum := sha256.Sum256(section[row*stride(dimensions):][:stride(dimensions)])
		digest, chunk := [16]byte(sum[:]), uint32(len(t.next))
		if before, ok := t.last[digest]; ok {
			t.next[before] = chunk
		}
		t.last[digest] = chunk
		t.next = append(t.next, 0)
	}
}

func (t *twins) bytes() []byte {
	b := make([]byte, 0, 4*len(t.next))
	for _, n := range t.next {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// run is a sequence of consecutive chunks in a group. Each chunk is the first one
// with its row.
type run struct {
	first        int
	rows, scales []byte
}

// readTwins splits the groups into runs. It returns an error if the list is not in
// ascending order or contains a chunk twice. A scan of such a list could be
// endless or count chunks twice.
func (v *vectors) readTwins(next []byte) error {
	again, err := repeated(next)
	if err != nil {
		return err
	}
	v.next = next
	for i := range v.groups {
		v.runs = v.groups[i].split(v.runs, again, v.groups[i].first, v.stride)
	}
	return nil
}

// repeated returns, by chunk, whether an earlier one has the same row.
func repeated(next []byte) ([]bool, error) {
	again := make([]bool, len(next)/4)
	for c := range again {
		n := after(next, c)
		if n == 0 {
			continue
		}
		if n <= c || n >= len(again) || again[n] {
			return nil, errors.New("its list of duplicate vectors is not sorted")
		}
		again[n] = true
	}
	return again, nil
}

// split appends the group's runs to the buffer into. first is the number of the group's first
// chunk in again and in the runs.
func (g *vectorGroup) split(into []run, again []bool, first, stride int) []run {
	for from := 0; from < g.chunks; {
		to := from
		for to < g.chunks && !again[first+to] {
			to++
		}
		if to > from {
			into = append(into, run{first + from, g.rows[from*stride : to*stride], g.scales[4*from : 4*to]})
		}
		from = to + 1
	}
	return into
}

// after returns the next chunk that has the same row as the given chunk, or 0 if
// there is none.
func after(next []byte, chunk int) int {
	return int(binary.LittleEndian.Uint32(next[4*chunk:]))
}
