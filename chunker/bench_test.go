package chunker

import (
	"fmt"
	"strings"
	"testing"
)

// reference is a page as documentation has them: front matter, sections of
// prose with links and code spans, listings, tables and lists, about 100 KB.
func reference() string {
	var b strings.Builder
	b.WriteString("---\ntitle: Reference\ndescription: All settings.\nmetadata:\n  part: reference\n---\n# Reference\n\n")
	for i := range 60 {
		fmt.Fprintf(&b, "## Setting %d\n\n", i)
		for range 4 {
			b.WriteString("The *server* reads `setting` once when it starts, see [the guide](../guides/start.md#settings) and\n" +
				"the notes below. A value that is out of range is refused with a **clear** message that names the\nfile, the line and what to do next.\n\n")
		}
		b.WriteString("### Example\n\n```yaml\nserver:\n  listen: 127.0.0.1:8080\n  timeout: 10s\n```\n\n" +
			"| Field | Type | Meaning |\n| --- | --- | --- |\n")
		for j := range 6 {
			fmt.Fprintf(&b, "| `field_%d` | integer | How often it is tried before it gives up |\n", j)
		}
		b.WriteString("\n- first, that the value is set\n- then that it is *used*\n  - also below `this` level\n\n> Note: needs a restart.\n\n")
	}
	return b.String()
}

func BenchmarkSplit(b *testing.B) {
	src := []byte(reference())
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		Split("reference.md", src, Options{})
	}
}

// BenchmarkHostile is the worst that a file of 15 MiB does, just under the size
// from which files are read by line.
func BenchmarkHostile(b *testing.B) {
	for _, h := range hostile {
		b.Run(h.name, func(b *testing.B) {
			src := []byte(h.make(15 << 20))
			b.SetBytes(int64(len(src)))
			b.ReportAllocs()
			for b.Loop() {
				Split("p.md", src, Options{})
			}
		})
	}
}

func BenchmarkParseID(b *testing.B) {
	for b.Loop() {
		if _, _, err := ParseID("guides/first steps/retries.md#retries/backoff-strategy"); err != nil {
			b.Fatal(err)
		}
	}
}
