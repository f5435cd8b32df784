package artifact

import (
	"fmt"
	"hash/crc32"
	"io"
	"sync"
	"sync/atomic"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Damage is the panic of a Reader whose file turns out to be damaged when it is read. Fault
// is what Open would have returned.
type Damage struct{ Fault *fault.Fault }

func (d Damage) Error() string { return d.Fault.Error() }

func (d Damage) Unwrap() error { return d.Fault }

// laterChecks lets one goroutine at a time compare sections of an artifact with their
// checksums.
type laterChecks struct {
	mu    sync.Mutex
	dir   string
	whole bool // whether no section was compared when the artifact was opened
}

// groupChecks says which sections of a group were compared with their checksums.
type groupChecks struct {
	all  *laterChecks
	file io.ReaderAt
	done [sectionCount]atomic.Bool
}

// newChecks returns the checks that are left for a group: all, or that of the full text,
// which is a third of what Open would compare and which only unknown words need.
func newChecks(later *laterChecks, file io.ReaderAt) *groupChecks {
	c := &groupChecks{all: later, file: file}
	for section := range c.done {
		c.done[section].Store(!later.whole && section != lexicalSection)
	}
	return c
}

// checkBuffers holds reusable memory for reading sections.
var checkBuffers = sync.Pool{New: func() any { return new([checkBuffer]byte) }}

// check compares a section with its checksum, unless that was done before. It panics with
// a Damage if it does not match. Vectors are read from the mapping, because a search
// reads all of them anyway, other sections from the file, as in checkSections.
func (c *groupChecks) check(g *group, section int) {
	if c.done[section].Load() || section == blockSection || section == textSection {
		return
	}
	c.all.mu.Lock()
	defer c.all.mu.Unlock()
	if c.done[section].Load() {
		return
	}
	s := g.sections[section]
	if section == vectorSection {
		if crc32.Checksum(g.data[s.offset:][:s.bytes], castagnoli) != s.crc {
			panic(Damage{damaged(c.all.dir, mismatch(section).Error())})
		}
	} else {
		buf := checkBuffers.Get().(*[checkBuffer]byte)
		defer checkBuffers.Put(buf)
		if err := s.check(c.file, buf[:]); err != nil {
			panic(Damage{damaged(c.all.dir, fmt.Sprintf("section %s: %v", sectionNames[section], err))})
		}
	}
	if section == postingSection {
		if err := checkPostings(g.uncheckedBytes(section)); err != nil {
			panic(Damage{damaged(c.all.dir, "read postings: "+err.Error())})
		}
	}
	c.done[section].Store(true)
}

func mismatch(section int) error {
	return fmt.Errorf("section %s: it does not match its checksum", sectionNames[section])
}

// Forget lets the system take back the mapped memory of an artifact in a file, except for
// the vectors, which each search reads. Searches may be running.
func (r *Reader) Forget() {
	if r.file == nil {
		return
	}
	r.separated.Do(r.separateTexts)
	from := uint64(0)
	for i := range r.groups {
		s := r.groups[i].sections[vectorSection]
		forget(r.data, from, s.offset)
		from = s.offset + uint64(s.bytes)
	}
	forget(r.data, from, uint64(len(r.data)))
}

// separateTexts keeps Markdown and texts, which make up half of the file, out of the mapped
// memory that a search of the parts beside them needs. A search reads texts from the file.
// It takes longer than opening the file, so only the first Forget calls it.
func (r *Reader) separateTexts() {
	for i := range r.groups {
		s := &r.groups[i].sections
		separate(r.data, s[blockSection].offset, s[textSection].offset+uint64(s[textSection].bytes))
	}
}
