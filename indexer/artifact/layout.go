package artifact

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"runtime"
	"sync"
	"sync/atomic"
)

// The data file: a header, the sections of all groups one after another, a
// directory of them, a footer that says where the directory is. All numbers are
// little-endian.
const (
	magic      = "deskhand"
	headerSize = len(magic) + 8    // magic, u32 format, u32 zero
	footerSize = 8 + 4 + 4 + 8     // u64 offset of the directory, u32 length, u32 CRC-32C, magic
	groupEntry = sha256.Size + 8 + // key, u32 pages, u32 chunks
		sectionCount*16 // u64 offset, u32 bytes, u32 CRC-32C
)

// entry is what the directory says of a group.
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

func header() []byte {
	b := append([]byte(nil), magic...)
	b = binary.LittleEndian.AppendUint32(b, FormatVersion)
	return binary.LittleEndian.AppendUint32(b, 0)
}

// tail is the directory and footer of a file whose sections end at offset.
func tail(entries []entry, offset uint64) []byte {
	var b []byte
	for _, e := range entries {
		b = append(b, e.key[:]...)
		b = binary.LittleEndian.AppendUint32(b, uint32(e.pages))
		b = binary.LittleEndian.AppendUint32(b, uint32(e.chunks))
		for _, s := range e.sections {
			b = binary.LittleEndian.AppendUint64(b, s.offset)
			b = binary.LittleEndian.AppendUint32(b, s.bytes)
			b = binary.LittleEndian.AppendUint32(b, s.crc)
		}
	}
	n, crc := len(b), crc32.Checksum(b, castagnoli)
	b = binary.LittleEndian.AppendUint64(b, offset)
	b = binary.LittleEndian.AppendUint32(b, uint32(n))
	b = binary.LittleEndian.AppendUint32(b, crc)
	return append(b, magic...)
}

// parseLayout reads the directory of a data file, checking every number that
// later reads rely on.
func parseLayout(data []byte) ([]entry, error) {
	if len(data) < headerSize+footerSize {
		return nil, fmt.Errorf("it has %d bytes, too few for a header", len(data))
	}
	if string(data[:len(magic)]) != magic {
		return nil, fmt.Errorf("it does not begin as a deskhand index does")
	}
	if v := binary.LittleEndian.Uint32(data[len(magic):]); v != FormatVersion {
		return nil, fmt.Errorf("its header has format %d", v)
	}
	foot := data[len(data)-footerSize:]
	offset, n := binary.LittleEndian.Uint64(foot), uint64(binary.LittleEndian.Uint32(foot[8:]))
	end := uint64(len(data) - footerSize)
	if string(foot[16:]) != magic || offset > end || end-offset != n || n%uint64(groupEntry) != 0 {
		return nil, fmt.Errorf("its end is missing or damaged")
	}
	dir := data[offset:end]
	if crc32.Checksum(dir, castagnoli) != binary.LittleEndian.Uint32(foot[12:]) {
		return nil, fmt.Errorf("its directory does not match its checksum")
	}
	var entries []entry
	at := uint64(headerSize)
	for ; len(dir) > 0; dir = dir[groupEntry:] {
		e := entry{
			key:    [sha256.Size]byte(dir),
			pages:  int(binary.LittleEndian.Uint32(dir[32:])),
			chunks: int(binary.LittleEndian.Uint32(dir[36:])),
		}
		for i := range e.sections {
			s := dir[sha256.Size+8+16*i:]
			e.sections[i] = span{binary.LittleEndian.Uint64(s), binary.LittleEndian.Uint32(s[8:]), binary.LittleEndian.Uint32(s[12:])}
			if e.sections[i].offset != at {
				return nil, fmt.Errorf("section %s of group %d is out of place", sectionNames[i], len(entries))
			}
			at += uint64(e.sections[i].bytes)
		}
		if at > offset || int(e.sections[pageSection].bytes) != e.pages*pageRecord ||
			int(e.sections[chunkSection].bytes) != e.chunks*chunkRecord || int(e.sections[lengthSection].bytes) != e.chunks*4 {
			return nil, fmt.Errorf("the sections of group %d do not fit together", len(entries))
		}
		entries = append(entries, e)
	}
	if at != offset {
		return nil, fmt.Errorf("its sections end at %d instead of %d", at, offset)
	}
	return entries, nil
}

// checkSections compares all sections but the blocks and texts, which carry
// checksums of their own, with their checksums. It reads the file and not the mapping, which
// would count as memory of this process.
func checkSections(file io.ReaderAt, entries []entry) error {
	errs := make([]error, len(entries))
	var next atomic.Int64
	var workers sync.WaitGroup
	for range min(len(entries), runtime.GOMAXPROCS(0)) {
		workers.Go(func() {
			buf := make([]byte, 128<<10)
			for i := int(next.Add(1)) - 1; i < len(entries); i = int(next.Add(1)) - 1 {
				errs[i] = entries[i].check(file, buf)
			}
		})
	}
	workers.Wait()
	for i, err := range errs {
		if err != nil {
			return fmt.Errorf("group %d: %w", i, err)
		}
	}
	return nil
}

func (e *entry) check(file io.ReaderAt, buf []byte) error {
	for i, s := range e.sections {
		if i == blockSection || i == textSection {
			continue
		}
		crc := uint32(0)
		for at := uint64(0); at < uint64(s.bytes); at += uint64(len(buf)) {
			piece := buf[:min(uint64(len(buf)), uint64(s.bytes)-at)]
			if _, err := file.ReadAt(piece, int64(s.offset+at)); err != nil {
				return fmt.Errorf("read section %s: %w", sectionNames[i], err)
			}
			crc = crc32.Update(crc, castagnoli, piece)
		}
		if crc != s.crc {
			return fmt.Errorf("section %s does not match its checksum", sectionNames[i])
		}
	}
	return nil
}
