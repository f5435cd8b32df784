package artifact

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"testing"

	"github.com/klauspost/compress/zstd"
)

// oneText is a group of one chunk whose text is packed as given.
func oneText(section []byte) *group {
	g := &group{entry: entry{chunks: 1}, data: append(make([]byte, chunkRecord), section...)}
	g.sections[chunkSection] = span{offset: 0, bytes: chunkRecord}
	g.sections[textSection] = span{offset: chunkRecord, bytes: uint32(len(section))}
	return g
}

func textOf(g *group, into []byte) ([]byte, error) {
	packed, err := g.appendPacked(nil, bytes.NewReader(g.data), 0)
	if err != nil {
		return nil, err
	}
	return unpackText(into, packed)
}

func TestTextsComeBack(t *testing.T) {
	into := make([]byte, 0, 8)
	for _, want := range []string{"", "a", "short text", corpus(1)[0].Chunks[3].Text} {
		g := oneText(appendText(nil, want))
		got, err := textOf(g, into)
		if err != nil || string(got) != want {
			t.Errorf("text of appendText(%q) = %q, %v", want, got, err)
		}
	}
}

// FuzzText unpacks what was not packed by us, with a checksum that fits.
func FuzzText(f *testing.F) {
	f.Add(appendText(nil, "some text, some text")[4:])
	f.Add([]byte("\xff\xff\xff\xff\x0f"))
	f.Fuzz(func(t *testing.T, packed []byte) {
		section := binary.LittleEndian.AppendUint32(nil, crc32.Checksum(packed, castagnoli))
		for _, section := range [][]byte{append(section, packed...), packed} {
			g := oneText(section)
			_, _ = textOf(g, nil)
		}
	})
}

func BenchmarkText(b *testing.B) {
	text := corpus(1)[0].Chunks[3].Text
	b.Run("s2", func(b *testing.B) {
		g := oneText(appendText(nil, text))
		b.SetBytes(int64(len(text)))
		file := bytes.NewReader(g.data)
		var packed, into []byte
		for b.Loop() {
			var err error
			if packed, err = g.appendPacked(packed[:0], file, 0); err != nil {
				b.Fatal(err)
			}
			if into, err = unpackText(into, packed); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("zstd", func(b *testing.B) {
		w, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedBetterCompression))
		if err != nil {
			b.Fatal(err)
		}
		r, err := zstd.NewReader(nil)
		if err != nil {
			b.Fatal(err)
		}
		packed := w.EncodeAll([]byte(text), nil)
		b.SetBytes(int64(len(text)))
		var into []byte
		for b.Loop() {
			if into, err = r.DecodeAll(packed, into[:0]); err != nil {
				b.Fatal(err)
			}
		}
	})
}
