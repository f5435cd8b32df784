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

// The plain texts of chunks are packed one by one and apart from the markdown:
// a search reads ten of them to show snippets, from all over the corpus. Packed
// with S2 they take a third more room than as a zstd frame each and are read in
// a third of the time (BenchmarkText). A text is the CRC-32C of what is packed,
// u32, and an S2 block; an empty one is nothing at all.

// appendText packs a text behind the others of a group.
func appendText(texts []byte, text string) []byte {
	if text == "" {
		return texts
	}
	packed := s2.EncodeBetter(nil, []byte(text))
	texts = binary.LittleEndian.AppendUint32(texts, crc32.Checksum(packed, castagnoli))
	return append(texts, packed...)
}

// appendPacked appends the text of a chunk, counted within the group, as it is
// packed. Texts are read and not mapped: a search reads a few from all over the
// file, and a page fault brings in 64 KiB around each, which count as memory of
// this process for ever.
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

// unpackText is the text that is packed, over the bytes of into.
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

// packed is where the text of a chunk lies in the file.
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
