package embed

import (
	"encoding/binary"
	"hash/crc32"
	"math"
	"testing"
)

// sealed makes the header's checksum right, so that what is behind it is read.
func sealed(data []byte) []byte {
	if len(data) >= headerBytes {
		data = append([]byte(nil), data...)
		copy(data, magic)
		binary.LittleEndian.PutUint32(data[8:], formatVersion)
		binary.LittleEndian.PutUint32(data[12:], crc32.Checksum(data[16:headerBytes], castagnoli))
	}
	return data
}

func FuzzParse(f *testing.F) {
	v, err := NewVocabulary([]string{"alpha", "beta", "##gamma", "a"})
	if err != nil {
		f.Fatal(err)
	}
	good, err := Encode(v, 8, make([]float32, 32))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good, "alphagamma beta")
	for i := headerBytes; i < len(good); i += 7 {
		bad := append([]byte(nil), good...)
		bad[i] = 0xff
		f.Add(bad, "alphagamma beta a")
	}
	f.Fuzz(func(t *testing.T, data []byte, text string) {
		m, err := Parse(sealed(data))
		if err != nil {
			return
		}
		_ = m.Verify()
		for row := range m.Vocabulary().Len() {
			m.Vocabulary().Row(m.Vocabulary().Token(row))
		}
		checkVector(t, m.Embed(text))
		docs, _ := m.Documents(t.Context(), []Document{{Title: text, Body: text}})
		checkVector(t, docs[0])
	})
}

func checkVector(t *testing.T, v []float32) {
	t.Helper()
	l := math.Sqrt(cosine(v, v))
	if !(l < 1e-3 || math.Abs(l-1) < 1e-3) {
		t.Errorf("a vector has the length %g, want 1 or 0", l)
	}
}

func FuzzWords(f *testing.F) {
	f.Add("parseURLs of café 机器学习 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		Words(text, func(word []byte, _ bool) {
			if len(word) == 0 || len(word) > maxWordBytes {
				t.Errorf("Words(%q) emits %q, want 1 to %d bytes", text, word, maxWordBytes)
			}
		})
	})
}
