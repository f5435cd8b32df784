package artifact

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"slices"

	"github.com/klauspost/compress/s2"
)

// The plain text of each chunk is packed individually and stored apart from the
// Markdown, because a search reads the text of ten chunks all over the corpus to
// show snippets. Packed with S2, the text takes a third more space than as
// individual zstd frames, and a third of the time to read (BenchmarkText). Packed
// text consists of the CRC-32C of an S2 block, a u32, and the block itself. Empty
// text takes no bytes.

// appendText packs text and appends it to texts, the text section of a group.
func appendText(texts []byte, text string) []byte {
	if text == "" {
		return texts
	}
	packed := s2.EncodeBetter(nil, []byte(text))
	texts = binary.LittleEndian.AppendUint32(texts, crc32.Checksum(packed, castagnoli))
	return append(texts, packed...)
}

// appendPacked appends the packed text of a chunk to the buffer into. The chunk is
// numbered within the group. The text is read from the file, not from the mapping. A
// search reads a few chunks' text from all over the file, and each page fault would
// load 64 KiB, which would then always count as memory of this process.
func (g *group) appendPacked(into []byte, file io.ReaderAt, chunk int) ([]byte, error) {
	place, err := g.packed(chunk)
	if err != nil || place.bytes == 0 {
		return into, err
	}
	from := len(into)
	into = slices.Grow(into, int(place.bytes))[:from+int(place.bytes)]
	_, err = file.ReadAt(into[from:], int64(place.offset))
	return into, err
}

// unpackText unpacks text into the buffer into, reusing its memory.
func unpackText(into, packed []byte) ([]byte, error) {
	if len(packed) == 0 {
		return into[:0], nil
	}
	if len(packed) < 4 || crc32.Checksum(packed[4:], castagnoli) != binary.LittleEndian.Uint32(packed) {
		return into, errors.New("the text of a chunk does not match its checksum")
	}
	packed = packed[4:]
	if n, err := s2.DecodedLen(packed); err != nil || n > maxBlock {
		return into, errDamaged
	}
	text, err := s2.Decode(into[:cap(into)], packed)
	if err != nil {
		return into, fmt.Errorf("unpack the text of a chunk: %w", err)
	}
	return text, nil
}

// packed returns the position of a chunk's packed text in the file.
func (g *group) packed(chunk int) (span, error) {
	section := g.sections[textSection]
	from, to := g.chunkField(chunk, chunkText), section.bytes
	if chunk+1 < g.chunks {
		to = g.chunkField(chunk+1, chunkText)
	}
	if from > to || to > section.bytes {
		return span{}, errDamaged
	}
	return span{offset: section.offset + uint64(from), bytes: to - from}, nil
}
