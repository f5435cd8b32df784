package artifact

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

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

// text unpacks the text of a chunk, counted within the group, over the bytes of
// into.
func (g *group) text(into []byte, chunk int) ([]byte, error) {
	packed, err := g.packed(chunk)
	if err != nil {
		return nil, err
	}
	if len(packed) == 0 {
		return into[:0], nil
	}
	if len(packed) < 4 || crc32.Checksum(packed[4:], castagnoli) != binary.LittleEndian.Uint32(packed) {
		return nil, fmt.Errorf("the text of chunk %d does not match its checksum", chunk)
	}
	packed = packed[4:]
	if n, err := s2.DecodedLen(packed); err != nil || n > maxBlock {
		return nil, errDamaged
	}
	text, err := s2.Decode(into[:cap(into)], packed)
	if err != nil {
		return nil, fmt.Errorf("unpack the text of chunk %d: %w", chunk, err)
	}
	return text, nil
}

// packed is the text of a chunk as it lies in the file.
func (g *group) packed(chunk int) ([]byte, error) {
	texts := g.bytes(textSection)
	from, to := uint32(g.chunkField(chunk, chunkText)), uint32(len(texts))
	if chunk+1 < g.chunks {
		to = g.chunkField(chunk+1, chunkText)
	}
	if from > to || uint64(to) > uint64(len(texts)) {
		return nil, errDamaged
	}
	return texts[from:to], nil
}
