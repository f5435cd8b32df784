package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// The data file consists of a header, the sections of all groups, the table of equal
// vectors, the embedding model if it is stored in the file, a directory that lists
// these parts, and a footer with the directory's offset. All numbers are
// little-endian.
const (
	magic      = "deskhand"
	headerSize = len(magic) + 8     // magic, u32 format, u32 zero
	footerSize = 8 + 4 + 4 + 8      // u64 offset of the directory, u32 length, u32 CRC-32C, magic
	spanSize   = 8 + 4 + 4          // u64 offset, u32 bytes, u32 CRC-32C
	dirHead    = 4 + 4 + 2*spanSize // u32 dimensions of the vectors, u32 zero, span of the twins, span of the model; then the groups
	groupEntry = sha256.Size + 8 +  // key, u32 pages, u32 chunks
		sectionCount*spanSize
)

// layout is the content of the directory.
type layout struct {
	dimensions int // 0 if there are no vectors
	twins      span
	weights    span
	groups     []entry
}

// entry is a group's record in the directory.
type entry struct {
	key           [sha256.Size]byte
	pages, chunks int
	sections      [sectionCount]span
}

type span struct {
	offset uint64
	bytes  uint32
	crc    uint32
}

// padding returns the number of zero bytes before a group's vectors, for a
// section that begins at offset. These bytes are part of the section.
func padding(offset uint64) int { return int(-offset & (rowAlign - 1)) }

func header() []byte {
	b := append([]byte(nil), magic...)
	b = binary.LittleEndian.AppendUint32(b, FormatVersion)
	return binary.LittleEndian.AppendUint32(b, 0)
}

// tail returns the directory and the footer of a file. offset is the end of the
// file's sections.
func (l *layout) tail(offset uint64) []byte {
	b := binary.LittleEndian.AppendUint32(nil, uint32(l.dimensions))
	b = l.weights.append(l.twins.append(binary.LittleEndian.AppendUint32(b, 0)))
	for _, e := range l.groups {
		b = append(b, e.key[:]...)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.pages))
		b = binary.LittleEndian.AppendUint32(b, uint32(e.chunks))
		for _, s := range e.sections {
			b = s.append(b)
		}
	}
	n, crc := len(b), crc32.Checksum(b, castagnoli)
	b = binary.LittleEndian.AppendUint64(b, offset)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, crc)
	return append(b, magic...)
}

func (s span) append(b []byte) []byte {
	b = binary.LittleEndian.AppendUint64(b, s.offset)
	b = binary.LittleEndian.AppendUint32(b, s.bytes)
	return binary.LittleEndian.AppendUint32(b, s.crc)
}

func parseSpan(b []byte) span {
	return span{binary.LittleEndian.Uint64(b), binary.LittleEndian.Uint32(b[8:]), binary.LittleEndian.Uint32(b[12:])}
}

// lastBytes is how much of a file's end is read at once. The directory of up to 19 groups fits.
const lastBytes = 4 << 10

// parseLayout works like readLayout, but for a data file in memory.
func parseLayout(data []byte) (*layout, error) {
	return readLayout(bytes.NewReader(data), int64(len(data)))
}

// readLayout reads the directory of a data file with the given size and checks every number
// that later reads rely on. It reads the file instead of the mapping, like checkSections.
func readLayout(file io.ReaderAt, size int64) (*layout, error) {
	if size < int64(headerSize+footerSize) {
		return nil, fmt.Errorf("it has only %d bytes, which is too short for a header", size)
	}
	head := make([]byte, headerSize)
	if _, err := file.ReadAt(head, 0); err != nil {
		return nil, err
	}
	if string(head[:len(magic)]) != magic {
		return nil, fmt.Errorf("it does not start with the header of a deskhand index")
	}
	if v := binary.LittleEndian.Uint32(head[len(magic):]); v != FormatVersion {
		return nil, fmt.Errorf("its header has format %d", v)
	}
	tail := make([]byte, min(size, lastBytes))
	if _, err := file.ReadAt(tail, size-int64(len(tail))); err != nil {
		return nil, err
	}
	foot := tail[len(tail)-footerSize:]
	offset, n := binary.LittleEndian.Uint64(foot), uint64(binary.LittleEndian.Uint32(foot[8:]))
	end := uint64(size) - uint64(footerSize)
	if string(foot[16:]) != magic || offset > end || end-offset != n || n < uint64(dirHead) || (n-uint64(dirHead))%uint64(groupEntry) != 0 {
		return nil, fmt.Errorf("its end is missing or damaged")
	}
	dir := tail[:len(tail)-footerSize]
	if uint64(len(dir)) < n {
		dir = make([]byte, n)
		if _, err := file.ReadAt(dir, int64(offset)); err != nil {
			return nil, err
		}
	}
	if dir = dir[uint64(len(dir))-n:]; crc32.Checksum(dir, castagnoli) != binary.LittleEndian.Uint32(foot[12:]) {
		return nil, fmt.Errorf("its directory does not match its checksum")
	}
	l := &layout{dimensions: int(binary.LittleEndian.Uint32(dir)), twins: parseSpan(dir[8:]), weights: parseSpan(dir[8+spanSize:])}
	if l.dimensions > MaxDimensions {
		return nil, fmt.Errorf("its vectors have %d dimensions", l.dimensions)
	}
	dir = dir[dirHead:]
	at, chunks := uint64(headerSize), 0
	for ; len(dir) > 0; dir = dir[groupEntry:] {
		e := entry{
			key:    [sha256.Size]byte(dir),
			pages:  int(binary.LittleEndian.Uint32(dir[32:])),
			chunks: int(binary.LittleEndian.Uint32(dir[36:])),
		}
		for i := range e.sections {
			e.sections[i] = parseSpan(dir[sha256.Size+8+spanSize*i:])
			if e.sections[i].offset != at {
				return nil, fmt.Errorf("section %s of group %d is in the wrong place", sectionNames[i], len(l.groups))
			}
			at += uint64(e.sections[i].bytes)
		}
		if at > offset || int(e.sections[pageSection].bytes) != e.pages*pageRecord ||
			int(e.sections[chunkSection].bytes) != e.chunks*chunkRecord || int(e.sections[lengthSection].bytes) != e.chunks*4 || !e.vectorsFit(l.dimensions) {
			return nil, fmt.Errorf("the sections of group %d are inconsistent", len(l.groups))
		}
		l.groups = append(l.groups, e)
		chunks += e.chunks
	}
	if l.twins.offset != at || uint64(l.twins.bytes) != twinBytes(l.dimensions, chunks) {
		return nil, fmt.Errorf("its list of duplicate vectors is in the wrong place")
	}
	if at += uint64(l.twins.bytes); l.weights.offset != at || at+uint64(l.weights.bytes) != offset {
		return nil, fmt.Errorf("its sections end at %d instead of %d", at+uint64(l.weights.bytes), offset)
	}
	return l, nil
}

func (e *entry) vectorsFit(dimensions int) bool {
	s, want := e.sections[vectorSection], vectorBytes(dimensions, e.chunks)
	if want > 0 {
		want += uint64(padding(s.offset))
	}
	return uint64(s.bytes) == want
}

// checkBuffer is how many bytes are read at a time to compare them with a checksum.
const checkBuffer = 128 << 10

// checkSections compares all sections with their checksums, except the blocks and
// the text section, which contain checksums themselves. Without dictionaries, it also
// leaves out the full text. It reads the file instead of
// the mapping, because pages read through the mapping would count as memory of this
// process.
func (l *layout) checkSections(file io.ReaderAt, dictionaries bool) error {
	errs := make([]error, len(l.groups)+1) // the last error is for the parts after the groups
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(len(errs), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			buf := make([]byte, checkBuffer)
			for i := int(next.Add(1)) - 1; i < len(errs); i = int(next.Add(1)) - 1 {
				if i < len(l.groups) {
					errs[i] = l.groups[i].check(file, buf, dictionaries)
				} else if err := l.twins.check(file, buf); err != nil {
					errs[i] = fmt.Errorf("duplicate vectors: %w", err)
				} else if err := l.weights.check(file, buf); err != nil {
					errs[i] = fmt.Errorf("embedding model: %w", err)
				}
			}
		})
	}
	workers.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, len(errs), err)
		}
	}
	return nil
}

func (e *entry) check(file io.ReaderAt, buf []byte, dictionaries bool) error {
	for i, s := range e.sections {
		if i == blockSection || i == textSection || i == lexicalSection && !dictionaries {
			continue
		}
		if err := s.check(file, buf); err != nil {
			return fmt.Errorf("section %s: %w", sectionNames[i], err)
		}
	}
	return nil
}

func (s span) check(file io.ReaderAt, buf []byte) error {
	crc := uint32(0)
	for at := uint64(0); at < uint64(s.bytes); at += uint64(len(buf)) {
		piece := buf[:min(uint64(len(buf)), uint64(s.bytes)-at)]
		if _, err := file.ReadAt(piece, int64(s.offset+at)); err != nil {
			return err
		}
		crc = crc32.Update(crc, castagnoli, piece)
	}
	if crc != s.crc {
		return errors.New("it does not match its checksum")
	}
	return nil
}
