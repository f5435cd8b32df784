package artifact

import (
	"encoding/binary"
	"hash/crc32"
	"maps"
	"math"
	"slices"
)

// A group's postings record which of its chunks contain each term and how often. The
// bluge segment contains this data too, but reading it takes about ten times as long.
// BenchmarkPostings compares the two.
//
// The section is a hash table, followed by a record for each term in alphabetical
// order. The hash table is a u32 number of slots (a power of two) and a u32 offset for
// each slot, or 0 for an empty slot. A record consists of the term, as a uvarint length
// and its bytes; the uvarint 2*chunks+1 if the term is common, or else 2*chunks; and
// the term's list. A common term occurs in at least the fraction commonShare of the
// chunks. Its list is a column with one byte per chunk, which holds the term's
// frequency, up to 255. Any other list consists of a uvarint length in bytes and the
// chunks in order. A chunk is the uvarint 2*gap if the frequency is 1, or else the
// uvarint 2*gap+1 and the frequency as a uvarint. A gap is the number of chunks between
// two entries.
const commonShare = 1.0 / 8

// encodePostings returns the postings section of chunks.
func encodePostings(chunks []*counts) []byte {
	ids := map[string]uint32{}
	var df []uint32
	var flat []uint32 // the IDs of the terms of all chunks, concatenated
	for _, c := range chunks {
		for _, t := range c.terms {
			id, ok := ids[t.text]
			if !ok {
				id = uint32(len(df))
				ids[t.text] = id
				df = append(df, 0)
			}
			df[id]++
			flat = append(flat, id)
		}
	}
	ends := make([]uint32, len(df)) // where each term's next posting is written
	at := uint32(0)
	for id, n := range df {
		ends[id] = at
		at += n
	}
	all := make([]posting, len(flat))
	i := 0
	for number, c := range chunks {
		for _, t := range c.terms {
			id := flat[i]
			all[ends[id]] = posting{uint32(number), uint32(t.n)}
			ends[id]++
			i++
		}
	}
	slots := uint32(1)
	for int(slots) < len(df)*3/2 {
		slots *= 2
	}
	out := binary.LittleEndian.AppendUint32(nil, slots)
	out = append(out, make([]byte, 4*slots)...)
	var list []byte
	for _, term := range slices.Sorted(maps.Keys(ids)) {
		id := ids[term]
		slot := hashTerm(term) & (slots - 1)
		for binary.LittleEndian.Uint32(out[4+4*slot:]) != 0 {
			slot = (slot + 1) & (slots - 1)
		}
		binary.LittleEndian.PutUint32(out[4+4*slot:], uint32(len(out)))
		out = appendString(out, term)
		postings := all[ends[id]-df[id] : ends[id]]
		if float64(len(postings)) >= commonShare*float64(len(chunks)) {
			out = binary.AppendUvarint(out, uint64(2*len(postings)+1))
			out = appendColumn(out, postings, len(chunks))
			continue
		}
		out = binary.AppendUvarint(out, uint64(2*len(postings)))
		list = appendList(list[:0], postings)
		out = binary.AppendUvarint(out, uint64(len(list)))
		out = append(out, list...)
	}
	return out
}

// posting is a chunk, numbered within its group, and the frequency of a term in
// the chunk.
type posting struct{ chunk, freq uint32 }

func appendColumn(b []byte, postings []posting, chunks int) []byte {
	from := len(b)
	b = append(b, make([]byte, chunks)...)
	for _, p := range postings {
		b[from+int(p.chunk)] = byte(min(p.freq, 255))
	}
	return b
}

func appendList(b []byte, postings []posting) []byte {
	next := uint32(0)
	for _, p := range postings {
		gap := uint64(p.chunk-next) * 2
		if p.freq == 1 {
			b = binary.AppendUvarint(b, gap)
		} else {
			b = binary.AppendUvarint(binary.AppendUvarint(b, gap+1), uint64(p.freq))
		}
		next = p.chunk + 1
	}
	return b
}

// hashTerm returns the FNV-1a hash of term.
func hashTerm(term string) uint32 {
	h := uint32(2166136261)
	for i := 0; i < len(term); i++ {
		h = (h ^ uint32(term[i])) * 16777619
	}
	return h
}

// groupList holds a term's postings in one group. Either column or list is set.
type groupList struct {
	group  int // index in the lexical groups
	chunks int // number of chunks that contain the term
	column []byte
	list   []byte
}

// checkPostings returns an error if a section's hash table does not fit into it.
func checkPostings(section []byte) error {
	if len(section) < 4 {
		return errDamaged
	}
	slots := binary.LittleEndian.Uint32(section)
	if slots == 0 || slots&(slots-1) != 0 || 4+4*uint64(slots) > uint64(len(section)) {
		return errDamaged
	}
	return nil
}

// findPostings looks up a term and its hash in the section of a group of n
// chunks. The section must have passed checkPostings. If the term is missing, the
// result has no chunks.
func findPostings(section []byte, term string, hash uint32, n int) (groupList, error) {
	slots := binary.LittleEndian.Uint32(section)
	for probe := range slots {
		slot := (hash + probe) & (slots - 1)
		at := binary.LittleEndian.Uint32(section[4+4*slot:])
		if at == 0 {
			return groupList{}, nil
		}
		if int64(at) >= int64(len(section)) {
			return groupList{}, errDamaged
		}
		record := section[at:]
		size, used := binary.Uvarint(record)
		if used <= 0 || size > uint64(len(record)-used) {
			return groupList{}, errDamaged
		}
		if record = record[used:]; string(record[:size]) == term {
			return readRecord(record[size:], n)
		}
	}
	return groupList{}, nil
}

func readRecord(record []byte, n int) (groupList, error) {
	count, used := binary.Uvarint(record)
	if used <= 0 || count>>1 > uint64(n) {
		return groupList{}, errDamaged
	}
	record = record[used:]
	l := groupList{chunks: int(count >> 1)}
	if count&1 == 1 {
		if len(record) < n {
			return l, errDamaged
		}
		l.column = record[:n:n]
		return l, nil
	}
	size, used := binary.Uvarint(record)
	if used <= 0 || size > uint64(len(record)-used) {
		return l, errDamaged
	}
	l.list = record[used : used+int(size)]
	return l, nil
}

// decode appends the postings of a list in a group of n chunks to the buffer
// into.
func (l *groupList) decode(into []posting, n int) ([]posting, error) {
	next := uint64(0)
	for b := l.list; len(b) > 0; {
		gap, freq := uint64(b[0]), uint64(1)
		if gap < 0x80 {
			b = b[1:]
		} else {
			var used int
			if gap, used = binary.Uvarint(b); used <= 0 {
				return into, errDamaged
			}
			b = b[used:]
		}
		if gap&1 == 1 {
			var used int
			if freq, used = binary.Uvarint(b); used <= 0 || freq == 0 || freq > math.MaxUint32 {
				return into, errDamaged
			}
			b = b[used:]
		}
		chunk := next + gap>>1
		if chunk >= uint64(n) {
			return into, errDamaged
		}
		into = append(into, posting{uint32(chunk), uint32(freq)})
		next = chunk + 1
	}
	return into, nil
}

// all appends the postings of a list or column to the buffer into.
func (l *groupList) all(into []posting, n int) ([]posting, error) {
	if l.column != nil {
		return appendColumnPostings(into, l.column), nil
	}
	return l.decode(into, n)
}

// appendColumnPostings appends the postings of a column to the buffer into.
func appendColumnPostings(into []posting, column []byte) []posting {
	into = slices.Grow(into, len(column)+1)
	n := len(into)
	into = into[:cap(into)]
	for c, freq := range column {
		into[n] = posting{uint32(c), uint32(freq)}
		if freq != 0 {
			n++
		}
	}
	return into[:n]
}

// HashTerm returns the hash of a term that EachTerm passes on. It has 64 bits, so that
// no two terms of many indexes have the same one.
func HashTerm[text string | []byte](term text) uint64 { return hashMore(hashStart, term) }

const hashStart = 14695981039346656037

// hashMore continues an FNV-1a hash.
func hashMore[text string | []byte](h uint64, term text) uint64 {
	for i := 0; i < len(term); i++ {
		h = (h ^ uint64(term[i])) * 1099511628211
	}
	return h
}

// EachTerm calls visit for each term of each group, in no particular order, with the
// term's hash and the number of the group's chunks that contain it, and with its peak if
// withPeaks is set: see PeakShare.
func (r *Reader) EachTerm(withPeaks bool, visit func(hash uint64, chunks int, peak byte)) error {
	var section []byte
	var postings []posting
	for i := range r.lexical.groups {
		g := &r.lexical.groups[i]
		var err error
		if section, err = r.readPostings(section, g); err != nil {
			return err
		}
		err = eachTerm(section, g.chunks, func(term []byte, l *groupList) (err error) {
			peak := byte(0)
			if withPeaks {
				if postings, err = l.all(postings[:0], g.chunks); err != nil {
					return err
				}
				peak = peakOf(postings, r.lexical.measured()[g.first:])
			}
			visit(HashTerm(term), l.chunks, peak)
			return nil
		})
		if err != nil {
			return r.damagedBy(err)
		}
	}
	return nil
}

// readPostings reads the postings of a group into a buffer. It reads the file and not the
// mapping, because nearly all of what is read would then count as memory of this process.
func (r *Reader) readPostings(into []byte, g *lexicalGroup) ([]byte, error) {
	s := g.of.sections[postingSection]
	into = slices.Grow(into[:0], int(s.bytes))[:s.bytes]
	if _, err := r.at.ReadAt(into, int64(s.offset)); err != nil {
		return into, err
	}
	if g.of.unchecked != nil && !g.of.unchecked.done[postingSection].Load() && crc32.Checksum(into, castagnoli) != s.crc {
		return into, r.damagedBy(mismatch(postingSection))
	}
	return into, nil
}

// PeakShare returns the share of a term's weight that it adds at most to the BM25 score of a
// chunk, see [WeightedTerm]. Scores have 32 bits, so they may be rounded up a little.
func PeakShare(peak byte) float64 { return float64(peak) / math.MaxUint8 * (1 + 1e-5) }

// peakOf returns the peak of a term in the chunks with these norms, rounded up.
func peakOf(postings []posting, norms []float32) byte {
	most := 0.0
	for _, p := range postings {
		tf := float64(p.freq)
		most = max(most, tf/(tf+float64(norms[p.chunk])))
	}
	return byte(min(math.MaxUint8, math.Ceil(most*math.MaxUint8)))
}

// eachTerm visits the terms of the section of a group of n chunks.
func eachTerm(section []byte, n int, visit func(term []byte, l *groupList) error) error {
	if err := checkPostings(section); err != nil {
		return err
	}
	for record := section[4+4*binary.LittleEndian.Uint32(section):]; len(record) > 0; {
		size, used := binary.Uvarint(record)
		if used <= 0 || size > uint64(len(record)-used) {
			return errDamaged
		}
		term, rest := record[used:used+int(size)], record[used+int(size):]
		l, err := readRecord(rest, n)
		if err != nil {
			return err
		}
		if err := visit(term, &l); err != nil {
			return err
		}
		_, used = binary.Uvarint(rest)
		if l.column == nil {
			_, more := binary.Uvarint(rest[used:])
			used += more
		}
		record = rest[used+len(l.column)+len(l.list):]
	}
	return nil
}
