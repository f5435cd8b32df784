package embed

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// big is a model of the size that is shipped: 31,536 rows of 256.
func big(b *testing.B) (data []byte, text func(words int) string) {
	b.Helper()
	const rows, dimensions = 31536, 256
	tokens := make([]string, rows)
	for i := range tokens {
		tokens[i] = strings.Map(func(r rune) rune { return 'a' + (r-'0')*2 }, fmt.Sprint(1000+i))
	}
	v, err := NewVocabulary(tokens)
	if err != nil {
		b.Fatal(err)
	}
	vectors := make([]float32, rows*dimensions)
	for i := range vectors {
		vectors[i] = float32(math.Sin(float64(i)))
	}
	data, err = Encode(v, dimensions, vectors)
	if err != nil {
		b.Fatal(err)
	}
	return data, func(words int) string {
		var s strings.Builder
		for i := range words {
			s.WriteString(tokens[i*i*7919%(1+i*40)%rows] + " ")
		}
		return s.String()
	}
}

func BenchmarkParse(b *testing.B) {
	data, _ := big(b)
	b.ReportMetric(float64(len(data)), "bytes")
	for b.Loop() {
		if _, err := Parse(data); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkQuery(b *testing.B) {
	data, text := big(b)
	m, err := Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	query := text(9)
	b.ReportAllocs()
	for b.Loop() {
		m.Embed(query)
	}
}

// BenchmarkDocuments embeds chunks of 120 words, about what documentation has.
func BenchmarkDocuments(b *testing.B) {
	data, text := big(b)
	m, err := Parse(data)
	if err != nil {
		b.Fatal(err)
	}
	docs := []Document{{text(3), text(4), text(3), text(110)}}
	b.ReportAllocs()
	n := 0
	for b.Loop() {
		if _, err := m.Documents(b.Context(), docs); err != nil {
			b.Fatal(err)
		}
		n++
	}
	b.ReportMetric(float64(n)/b.Elapsed().Seconds(), "chunks/s")
}

func BenchmarkOpenBuiltin(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Open(Default); err != nil {
			b.Fatal(err)
		}
	}
}
