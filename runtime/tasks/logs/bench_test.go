package logs

import (
	"fmt"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// The promise is 50,000 entries per second for one attempt. Raw lines and the entries
// created from them count as one each.
func BenchmarkWrite(b *testing.B) {
	db := open(b, b.TempDir())
	spool, err := OpenSpool(b.TempDir() + "/spool")
	if err != nil {
		b.Fatal(err)
	}
	w := writer(b, db, Options{Spool: spool, Redact: NewRedactor([]string{"a secret of the environment", "and another one of it"})})
	start := time.Now()
	n := 0
	for b.Loop() {
		w.Raw(Stdout, fmt.Appendf(nil, `{"type":"message","role":"assistant","content":"entry number %d of a stream that is long"}`+"\n", n))
		w.Append(Say(fmt.Sprintf("entry number %d of a stream that is long", n)))
		n++
	}
	closeIt(b, w)
	b.ReportMetric(float64(n)*2/time.Since(start).Seconds(), "entries/s")
}

// The promise is less than 2 ms for 50 of 1,000,000 entries.
func BenchmarkPageOf50(b *testing.B) {
	const total = 1_000_000
	db := open(b, b.TempDir())
	w := writer(b, db, Options{Normalized: Limit{Entries: 2 * total, Bytes: 1 << 40}})
	for i := range total {
		w.Append(Say(fmt.Sprintf("entry number %d of a log that is long", i)))
	}
	closeIt(b, w)
	for name, q := range map[string]Query{
		"newest": {Limit: 50}, "before": {Limit: 50, Before: of(500_000)}, "after": {Limit: 50, After: of(500_000)}, "revision": {Limit: 50, AfterRevision: of(500_000)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				err := db.View(b.Context(), func(tx *store.Tx) error {
					page, err := Read(b.Context(), tx, process, Normalized, q)
					if len(page.Entries) != 50 {
						b.Fatalf("%d entries", len(page.Entries))
					}
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
