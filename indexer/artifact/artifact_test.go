package artifact

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/runtime/fault"
)

// page makes a document of markdown as a build does.
func page(path, markdown string, metadata map[string]string) Document {
	p := chunker.Split(path, []byte(markdown), chunker.Options{})
	return Document{
		Source:   Source{Path: path, Size: int64(len(markdown)), Digest: sha256.Sum256([]byte(markdown))},
		Title:    p.Title,
		Metadata: metadata, Problems: p.Problems, Chunks: p.Chunks,
	}
}

// corpus is n pages, enough of them for several groups.
func corpus(n int) []Document {
	var docs []Document
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "# Page %03d\n\nIntroduction of page number %d.\n", i, i)
		for s := range 20 {
			fmt.Fprintf(&b, "\n## Section %d\n\n", s)
			for w := range 200 {
				fmt.Fprintf(&b, "word%d ", (i*31+s*17+w*w)%977)
			}
			b.WriteString("\n")
		}
		docs = append(docs, page(fmt.Sprintf("docs/page-%03d.md", i), b.String(), map[string]string{"part": []string{"guide", "reference"}[i%2]}))
	}
	return docs
}

// build writes docs to dir, reusing what it can, and returns the metadata and
// how many groups were reused.
func build(t testing.TB, dir string, docs []Document) (Metadata, int) {
	t.Helper()
	return buildWith(t, dir, docs, Model{})
}

func buildWith(t testing.TB, dir string, docs []Document, model Model) (Metadata, int) {
	t.Helper()
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	w.Use(model)
	var sources []Source
	byPath := map[string]Document{}
	for _, d := range docs {
		sources = append(sources, d.Source)
		byPath[d.Path] = d
	}
	reused := 0
	for _, group := range Plan(sources) {
		if w.Reuse(group) {
			reused++
			continue
		}
		var members []Document
		for _, s := range group {
			members = append(members, byPath[s.Path])
		}
		g, err := Encode(members)
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add(g); err != nil {
			t.Fatal(err)
		}
	}
	m, err := w.Commit(Metadata{CorpusDescription: "test docs"})
	if err != nil {
		t.Fatal(err)
	}
	return m, reused
}

func reopen(t testing.TB, dir string) *Reader {
	t.Helper()
	r, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func TestWhatIsWrittenIsRead(t *testing.T) {
	docs := corpus(40)
	docs[3].Problems = []chunker.Problem{{Line: 7, Reason: "odd"}, {Reason: "odder"}}
	docs[4].Description = "Ünïcode"
	dir := t.TempDir()
	build(t, dir, docs)
	r := reopen(t, dir)
	if r.Pages() != len(docs) || len(r.groups) < 1 {
		t.Fatalf("%d pages in %d groups, want %d pages", r.Pages(), len(r.groups), len(docs))
	}
	chunk := 0
	for i, d := range docs {
		p, err := r.Page(i)
		if err != nil || p.Path != d.Path || p.Title != d.Title || p.Description != d.Description || p.First != chunk ||
			p.Chunks != len(d.Chunks) || p.Digest != d.Digest || p.Size != d.Size || p.Metadata["part"] != d.Metadata["part"] ||
			fmt.Sprint(p.Problems) != fmt.Sprint(d.Problems) {
			t.Fatalf("Page(%d) = %+v, %v; want %+v from chunk %d", i, p, err, d.Source, chunk)
		}
		for _, want := range d.Chunks {
			got, err := r.Chunk(chunk)
			if err != nil || got != (Chunk{want.ID, want.Heading, want.Breadcrumb, want.Level, want.StartLine, want.EndLine, i}) {
				t.Fatalf("Chunk(%d) = %+v, %v; want %+v", chunk, got, err, want)
			}
			markdown, err := r.Markdown(chunk)
			text, err2 := r.Text(nil, chunk)
			if err != nil || err2 != nil || markdown != want.Markdown || string(text) != want.Text {
				t.Fatalf("Content(%d) = %q, %q, %v; want %q, %q", chunk, markdown, text, err, want.Markdown, want.Text)
			}
			if at, ok, err := r.Find(p, fragment(want.ID)); !ok || at != chunk || err != nil {
				t.Fatalf("Find(%q) = %d, %v; want %d", want.ID, at, ok, chunk)
			}
			if r.PageOf(chunk) != i {
				t.Fatalf("PageOf(%d) = %d, want %d", chunk, r.PageOf(chunk), i)
			}
			chunk++
		}
	}
	first, _, _ := r.FindPage("docs/page-000.md")
	if _, ok, _ := r.Find(first, "nothing"); ok {
		t.Error("Find found a chunk that is not there")
	}
	if err := r.Verify(); err != nil {
		t.Errorf("Verify() = %v", err)
	}
}

func TestSameCorpusGivesSameBytes(t *testing.T) {
	docs := corpus(60)
	a, b := t.TempDir(), t.TempDir()
	build(t, a, docs)
	// The other way there: a page missing, then changed, then as it is.
	other := append([]Document(nil), docs...)
	build(t, b, other[1:])
	other[7] = page(other[7].Path, "# Other\n\ntext\n", nil)
	build(t, b, other)
	_, reused := build(t, b, docs)
	if reused == 0 {
		t.Error("nothing was reused after one page changed")
	}
	if x, y := files(t, a), files(t, b); x != y {
		t.Errorf("two ways to the same corpus differ:\n%s\n%s", x, y)
	}
}

// files is the names, lengths and digests of all files in dir.
func files(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&b, "%s %d %x\n", e.Name(), len(content), sha256.Sum256(content))
	}
	return b.String()
}

func TestUnchangedCorpusKeepsItsDataFile(t *testing.T) {
	docs := corpus(30)
	dir := t.TempDir()
	before, _ := build(t, dir, docs)
	info, err := os.Stat(filepath.Join(dir, before.Index.Path))
	if err != nil {
		t.Fatal(err)
	}
	after, reused := build(t, dir, docs)
	again, err := os.Stat(filepath.Join(dir, after.Index.Path))
	if err != nil || !os.SameFile(info, again) || reused == 0 {
		t.Errorf("the data file was written again (%v), %d groups reused", err, reused)
	}
}

func TestAbortLeavesTheOldArtifact(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(5))
	before := files(t, dir)
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	g, err := Encode(corpus(9))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Add(g); err != nil {
		t.Fatal(err)
	}
	if err := w.Abort(); err != nil {
		t.Fatal(err)
	}
	if after := files(t, dir); after != before {
		t.Errorf("after Abort:\n%s\nwant:\n%s", after, before)
	}
}

func TestLeftoversOfAKilledBuildGo(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(5))
	before := files(t, dir)
	for _, name := range []string{tempPrefix + "123", dataPrefix + "0123456789abcdef" + dataSuffix} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte("half"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	build(t, dir, corpus(5))
	if after := files(t, dir); after != before {
		t.Errorf("after a build:\n%s\nwant:\n%s", after, before)
	}
}

func TestSecondBuildIsRefused(t *testing.T) {
	dir := t.TempDir()
	w, err := Create(dir)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Create(dir); fault.Of(err) == nil || fault.Of(err).Code != "locked" {
		t.Errorf("Create while another build runs = %v, want fault locked", err)
	}
	w.Abort()
	w, err = Create(dir)
	if err != nil {
		t.Fatalf("Create after Abort = %v", err)
	}
	w.Abort()
}

func TestOpenRefusesInOneSentence(t *testing.T) {
	whole := t.TempDir()
	m, _ := buildWith(t, whole, embedded(corpus(5), 64), testModel)
	metadata, _ := os.ReadFile(filepath.Join(whole, MetadataFile))
	data, _ := os.ReadFile(filepath.Join(whole, m.Index.Path))
	edit := func(from, to string) []byte { return bytes.Replace(metadata, []byte(from), []byte(to), 1) }
	sealed := func(text []byte) []byte { return resealedMetadata(t, text) }
	for name, c := range map[string]struct {
		metadata, data []byte
		code           string
	}{
		"nothing there":        {nil, nil, "no_artifact"},
		"data file missing":    {metadata, nil, "artifact_damaged"},
		"metadata no JSON":     {metadata[:len(metadata)/2], data, "artifact_damaged"},
		"metadata empty":       {[]byte{}, data, "artifact_damaged"},
		"cut short":            {metadata, data[:len(data)-100], "artifact_damaged"},
		"empty data":           {metadata, []byte{}, "artifact_damaged"},
		"longer":               {metadata, append(data[:len(data):len(data)], 0), "artifact_damaged"},
		"foreign":              {[]byte(`{"metadata_version":"1.1.0","index":{"engine":"lancedb"}}`), nil, "artifact_foreign"},
		"some other JSON":      {[]byte(`{"name":"x"}`), nil, "artifact_foreign"},
		"damaged full text":    {metadata, flip(data, len(data)/2), "artifact_damaged"},
		"damaged vectors":      {metadata, flip(data, bytes.Index(data, []byte("weights"))-2000), "artifact_damaged"},
		"damaged model":        {metadata, flip(data, bytes.Index(data, []byte("weights"))), "artifact_damaged"},
		"other dimensions":     {sealed(edit(`"dimensions": 64`, `"dimensions": 32`)), data, "artifact_damaged"},
		"embedding denied":     {sealed(regexp.MustCompile(`(?s)"embedding": \{.*?\}`).ReplaceAll(metadata, []byte(`"embedding": null`))), data, "artifact_damaged"},
		"facet is an argument": {sealed(edit(`"taxonomy": null`, `"taxonomy": {"query": {"values": ["x"]}}`)), data, "artifact_damaged"},
		"newer format":         {edit(fmt.Sprintf(`"format_version": %d`, FormatVersion), `"format_version": 99`), data, "artifact_too_new"},
		"newer metadata":       {edit(`"metadata_version": "1`, `"metadata_version": "2`), data, "artifact_too_new"},
		"path out of the dir":  {sealed(edit(m.Index.Path, "../"+m.Index.Path)), data, "artifact_damaged"},
		"edited, not sealed":   {edit(`"dimensions": 64`, `"dimensions": 65`), data, "artifact_damaged"},
		"directory overturned": {metadata, flip(data, len(data)-60), "artifact_damaged"},
		"header overturned":    {metadata, flip(data, 3), "artifact_damaged"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			if c.metadata != nil {
				os.WriteFile(filepath.Join(dir, MetadataFile), c.metadata, 0o644)
			}
			if c.data != nil {
				os.WriteFile(filepath.Join(dir, m.Index.Path), c.data, 0o644)
			}
			r, err := Open(dir)
			if err == nil {
				r.Close()
			}
			f := fault.Of(err)
			if f == nil || f.Code != c.code || f.Hint == "" || !strings.Contains(f.Message, dir) || strings.Contains(f.Message, "\n") {
				t.Errorf("Open = %v (%+v), want fault %s that names the folder and a hint", err, f, c.code)
			}
		})
	}
}

func flip(b []byte, at int) []byte {
	b = bytes.Clone(b)
	b[at] ^= 0x40
	return b
}

func TestVerifyFindsEveryFlippedByte(t *testing.T) {
	dir := t.TempDir()
	m, _ := buildWith(t, dir, embedded(corpus(3), 10), testModel)
	path := filepath.Join(dir, m.Index.Path)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for at := 0; at < len(data); at += 1 + len(data)/200 {
		if err := os.WriteFile(path, flip(data, at), 0o644); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir)
		if err == nil {
			err = r.Verify()
			r.Close()
		}
		if f := fault.Of(err); f == nil || f.Code != "artifact_damaged" {
			t.Errorf("byte %d flipped: %v, want fault artifact_damaged", at, err)
		}
	}
}

func TestManyReadersWhileBuildsReplace(t *testing.T) {
	dir := t.TempDir()
	even, odd := corpus(2), corpus(3)
	build(t, dir, even)
	done := make(chan struct{})
	var readers sync.WaitGroup
	for range 2 {
		readers.Go(func() {
			for {
				select {
				case <-done:
					return
				default:
				}
				r, err := Open(dir)
				if err != nil {
					t.Errorf("Open while a build replaces: %v", err)
					return
				}
				if n := r.Pages(); n != len(even) && n != len(odd) {
					t.Errorf("%d pages, want all of one build", n)
				}
				if _, err := r.Lexical(terms(t, r, "word31"), 10, nil); err != nil {
					t.Error(err)
				}
				r.Close()
			}
		})
	}
	for i := range 10 {
		build(t, dir, [][]Document{odd, even}[i%2])
	}
	close(done)
	readers.Wait()
}

func TestEmptyCorpusIsServable(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, nil)
	r := reopen(t, dir)
	hits, err := r.Lexical(terms(t, r, "x"), 10, nil)
	similar, err2 := r.Similar("word", 3)
	if r.Len() != 0 || len(hits) != 0 || err != nil || len(similar) != 0 || err2 != nil {
		t.Errorf("empty index: %d chunks, %v, %v, %v, %v", r.Len(), hits, err, similar, err2)
	}
}

func TestPlanMovesFewBorders(t *testing.T) {
	var sources []Source
	for i := range 3000 {
		sources = append(sources, Source{Path: fmt.Sprintf("a/%05d.md", i), Size: int64(2000 + i%9000)})
	}
	keys := func(s []Source) map[[32]byte]bool {
		m := map[[32]byte]bool{}
		for _, g := range Plan(s) {
			m[key(g, "")] = true
		}
		return m
	}
	before := keys(sources)
	if n := len(before); n < 8 || n > 40 {
		t.Errorf("%d groups, want some 16", n)
	}
	changed := append([]Source(nil), sources...)
	changed[1500].Size += 10
	without := append(append([]Source(nil), sources[:700]...), sources[701:]...)
	for name, s := range map[string][]Source{"one changed": changed, "one deleted": without} {
		moved := 0
		for k := range keys(s) {
			if !before[k] {
				moved++
			}
		}
		if moved > 2 {
			t.Errorf("%s: %d new groups, want at most 2", name, moved)
		}
	}
}

// FuzzDataFile changes bytes of a data file and reads all of it: errors are
// fine, panics are contained by the engine above, hangs, wrong ordinals and
// scores that are no numbers are not. Where sealed is set the checksums are those
// of the changed bytes.
func FuzzDataFile(f *testing.F) {
	dir := f.TempDir()
	m, _ := buildWith(f, dir, embedded(corpus(2), 10), testModel)
	data, err := os.ReadFile(filepath.Join(dir, m.Index.Path))
	if err != nil {
		f.Fatal(err)
	}
	metadata, err := os.ReadFile(filepath.Join(dir, MetadataFile))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), byte(1), uint16(0), false)
	f.Add(uint32(len(data)/2), byte(0xff), uint16(9), false)
	f.Add(uint32(len(data)-3), byte(0x80), uint16(0), false)
	for i := range 64 {
		f.Add(uint32(i*len(data)/64+i), byte(0xff>>(i%8)), uint16(i%3), true)
	}
	f.Fuzz(func(t *testing.T, at uint32, x byte, zeros uint16, sealed bool) {
		b := bytes.Clone(data)
		i := int(at) % len(b)
		b[i] ^= x
		clear(b[i:min(len(b), i+int(zeros))])
		var dir string
		if sealed = sealed && i+int(zeros) <= len(b)-footerSize; sealed {
			dir = resealed(t, m, b)
		} else {
			dir = t.TempDir()
			os.WriteFile(filepath.Join(dir, MetadataFile), metadata, 0o644)
			os.WriteFile(filepath.Join(dir, m.Index.Path), b, 0o644)
		}
		r, err := Open(dir)
		if err != nil {
			return
		}
		defer r.Close()
		if sealed {
			defer func() { recover() }() // as search.Engine does
		}
		func() {
			defer func() { recover() }() // as search.Engine does
			p, err := r.Postings("word31")
			q, err2 := r.Postings("section")
			if err == nil && err2 == nil {
				found, _ := r.Lexical([]WeightedTerm{{Postings: p}, {Postings: q}}, 10, nil)
				checkScored(t, r, found)
			}
			r.Similar("introductin", 3)
			query := make([]float32, r.Dimensions())
			for i := range query {
				query[i] = float32(i) - 4
			}
			found, _, _ := r.Nearest(query, 3, nil)
			checkScored(t, r, found)
		}()
		for i := range r.Pages() {
			r.Page(i)
			r.FindPage(fmt.Sprintf("docs/page-%03d.md", i))
		}
		for i := range r.Len() {
			r.Chunk(i)
			r.Markdown(i)
			r.Text(nil, i)
		}
		r.PageMetadata()
		if !sealed && !bytes.Equal(b, data) && r.Verify() == nil {
			t.Errorf("Verify() = nil though byte %d was changed", i)
		}
	})
}

// checkScored wants each chunk once, in range, and falling scores.
func checkScored(t *testing.T, r *Reader, found []Scored) {
	t.Helper()
	seen := map[int]bool{}
	for i, s := range found {
		if s.Chunk < 0 || s.Chunk >= r.Len() || seen[s.Chunk] || math.IsNaN(s.Score) || math.IsInf(s.Score, 0) || i > 0 && s.Score > found[i-1].Score {
			t.Errorf("hit %d of %v: a chunk out of range or twice, or no falling scores", i, found)
		}
		seen[s.Chunk] = true
	}
}

func TestNamesAreThoseOfChunkAndPage(t *testing.T) {
	dir := t.TempDir()
	build(t, dir, corpus(40))
	r := reopen(t, dir)
	for i := range r.Len() {
		chunk, err := r.Chunk(i)
		if err != nil {
			t.Fatal(err)
		}
		page, err := r.Page(chunk.Page)
		if err != nil {
			t.Fatal(err)
		}
		names, err := r.Names(i)
		if err != nil || string(names.Heading) != chunk.Heading || string(names.Title) != page.Title || string(names.Breadcrumb) != chunk.Breadcrumb || names.Level != chunk.Level {
			t.Fatalf("Names(%d) = %q, %q, %q, %d, %v; want those of %+v and %q", i, names.Heading, names.Title, names.Breadcrumb, names.Level, err, chunk, page.Title)
		}
	}
}
