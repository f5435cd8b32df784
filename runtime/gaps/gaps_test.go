package gaps

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/search"
)

func TestQuestionsAreRecorded(t *testing.T) {
	l := In(filepath.Join(t.TempDir(), "state"))
	if entries, skipped, err := l.Read(time.Time{}); len(entries) != 0 || skipped != 0 || err != nil {
		t.Fatalf("no file: %v, %d, %v", entries, skipped, err)
	}
	clock := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	l.now = func() time.Time { clock = clock.Add(time.Hour); return clock }
	long := strings.Repeat("é", maxQuestion)
	for _, q := range []string{"how do I pay", "why is ghp_abcdefghijklmnopqrstuvwxyz0123456789 refused", long} {
		if err := l.Add("index", q, nil, search.FoundAbsent); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.Add("index", "answered", nil, search.FoundSome); err != nil {
		t.Fatal(err)
	}
	f, err := os.OpenFile(l.Path(), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(f, "%s\n%s\n{\"at\":\"2026-", `["not an entry"]`, `{"query":"it has no time","found":"absent","index":"/docs"}`)
	f.Close()

	entries, skipped, err := l.Read(time.Time{})
	if err != nil || skipped != 3 || len(entries) != 3 {
		t.Fatalf("%d entries, %d skipped, %v", len(entries), skipped, err)
	}
	if abs, _ := filepath.Abs("index"); entries[0].Query != "how do I pay" || entries[0].Index != abs || entries[0].Found != search.FoundAbsent {
		t.Errorf("first entry %+v", entries[0])
	}
	if strings.Contains(entries[1].Query, "ghp_") || !strings.HasPrefix(entries[1].Query, "why is ") {
		t.Errorf("a key was recorded: %q", entries[1].Query)
	}
	if len(entries[2].Query) != maxQuestion {
		t.Errorf("a question of %d bytes was recorded", len(entries[2].Query))
	}
	if entries, _, _ = l.Read(clock); len(entries) != 1 {
		t.Errorf("since the last one: %d entries", len(entries))
	}
	if info, err := os.Stat(l.Path()); err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read the log: %v, %v", info.Mode(), err)
	}
}

func TestALongLogIsSetAside(t *testing.T) {
	const full = 256 << 10
	question := strings.Repeat("x", maxQuestion)
	for _, writers := range []int{1, 4} {
		state := t.TempDir()
		var all sync.WaitGroup
		for range writers { // logs of as many processes
			all.Go(func() {
				l := In(state)
				l.max = full
				for range 3 * full / maxQuestion / writers {
					if err := l.Add("index", question, nil, search.FoundNothing); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
		entries, skipped, err := In(state).Read(time.Time{})
		if err != nil || skipped != 0 || len(entries) < full/maxQuestion/2 || len(entries) > 3*full/maxQuestion {
			t.Fatalf("%d writers: %d entries, %d skipped, %v", writers, len(entries), skipped, err)
		}
		if writers > 1 {
			continue // they go on writing while one of them renames the file, so it has no maximum
		}
		for _, name := range []string{fileName, fileName + ".1"} {
			if info, err := os.Stat(filepath.Join(state, name)); err == nil && info.Size() > full+maxQuestion+200 {
				t.Errorf("%s has %d bytes", name, info.Size())
			}
		}
	}
}

// corpus is a search over enough sections for it to say that it found little.
func corpus(t *testing.T) *search.Engine {
	t.Helper()
	texts := []search.Text{{Path: "billing.md", Heading: "Invoices", Body: "An invoice is sent on the first day of a month. Change the billing address in the account settings."}}
	for i := range 120 {
		texts = append(texts, search.Text{Path: fmt.Sprintf("node-%d.md", i), Heading: fmt.Sprintf("Node %d", i), Body: "Start the cluster node and join it to the control plane with a token."})
	}
	engine, err := search.OverTexts(texts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	return engine
}

func TestGapsAreQuestionsOfOneMeaning(t *testing.T) {
	day := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	at := func(n int, query string) Entry {
		return Entry{At: day.AddDate(0, 0, n), Query: query, Found: search.FoundAbsent}
	}
	r, err := Find(t.Context(), corpus(t), []Entry{
		at(0, "bake sourdough bread"), at(1, "Bake  sourdough bread"), at(2, "baking sourdough breads"),
		at(3, "which violin strings sound warm; violin strings, gut core"),
		at(4, "when is the invoice sent and where is the billing address"),
	})
	if err != nil {
		t.Fatal(err)
	}
	if r.Asked != 5 || r.Distinct != 4 || r.Answered != 1 || len(r.Gaps) != 2 {
		t.Fatalf("%d asked, %d distinct, %d answered, gaps %+v", r.Asked, r.Distinct, r.Answered, r.Gaps)
	}
	bread, violin := r.Gaps[0], r.Gaps[1]
	if bread.Count != 3 || len(bread.Questions) != 2 || bread.Questions[0].Count != 2 || !bread.Last.Equal(day.AddDate(0, 0, 2)) {
		t.Errorf("the most asked gap is %+v", bread)
	}
	if !strings.HasPrefix(bread.Draft, "## ") || !strings.Contains(bread.Draft, "- baking sourdough breads\n") {
		t.Errorf("draft %q", bread.Draft)
	}
	if strings.Contains(violin.Draft, "gut core") {
		t.Errorf("an agent's phrasings are in the draft %q", violin.Draft)
	}
}

func TestADraftForASectionThatIsNearIsALineOfPhrases(t *testing.T) {
	g := Gap{Found: search.FoundUnsure, Nearest: &Section{ChunkID: "billing.md"}, Questions: []Question{{Text: "pay \"later\"; defer"}, {Text: "pay in a month"}}}
	want := `{"chunk_id":"billing.md","phrases":["pay \"later\"","pay in a month"]}`
	if got := g.draft(); got != want {
		t.Errorf("draft %s, want %s", got, want)
	}
}
