package indexer

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
)

// opened opens the artifact in dir, with every byte checked.
func opened(t *testing.T, dir string) *artifact.Reader {
	t.Helper()
	r, err := artifact.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	if err := r.Verify(); err != nil {
		t.Fatal(err)
	}
	return r
}

// built builds o and returns the report, which must have no problems.
func built(t *testing.T, o Options) Report {
	t.Helper()
	r, err := Build(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems)
	return r
}

// contents returns the files of an artifact by name.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(text)
	}
	return files
}

func wantSameFiles(t *testing.T, what string, a, b map[string]string) {
	t.Helper()
	if !slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b))) {
		t.Errorf("%s: files %q and %q", what, slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
	}
	for name := range a {
		if a[name] != b[name] {
			t.Errorf("%s: %s differs (%d and %d bytes)", what, name, len(a[name]), len(b[name]))
		}
	}
}

// library writes a corpus of files pages of size bytes each, in folders of 50.
// Their first 2,000 bytes are prose, which is dear to encode, and the rest is a
// comment.
func library(t testing.TB, files, size int) string {
	t.Helper()
	dir := t.TempDir()
	for i := range files {
		put(t, dir, libraryPage(i), libraryText(i, size))
	}
	return dir
}

func libraryPage(i int) string { return fmt.Sprintf("part%02d/page%04d.md", i/50, i) }

func libraryText(i, size int) string {
	text := prose(i, min(size, 2000))
	if len(text) < size {
		text += "\n<!-- " + strings.Repeat("x", size-len(text)) + " -->\n"
	}
	return text
}

// prose writes page i of some size bytes: pages differ and repeat like real ones.
func prose(i, size int) string {
	words := strings.Fields("index build chunk corpus heading query server answer token request limit cursor page retry backoff timeout client agent folder manifest")
	var b strings.Builder
	fmt.Fprintf(&b, "---\ntitle: Page %d\nmetadata: {part: p%02d}\n---\n# Page %d\n", i, i/50, i)
	for n := 0; b.Len() < size; n++ {
		fmt.Fprintf(&b, "\n## Section %d of %s\n\n", n, words[(i+n)%len(words)])
		for w := range 60 {
			fmt.Fprintf(&b, "%s%d ", words[(i*7+n*3+w*w)%len(words)], (i+w)%40)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestBuildMakesAnArtifact(t *testing.T) {
	dir := corpus(t, map[string]string{
		"index.md":         "---\ntitle: Home\ndescription: Start here\n---\nWelcome.\n",
		"guides/retry.mdx": "# Retries\n\n## Backoff\n\nWait longer.\n\n## Jitter\n\nAdd noise.\n",
	})
	out := filepath.Join(t.TempDir(), "deep", "out")
	r := built(t, Options{Dir: dir, Out: out})
	if r.Files != 2 || r.Chunks != 4 || r.FilesNew != 2 || r.FilesRebuilt != 2 || r.FilesReused != 0 || r.GroupsReused != 0 || r.Bytes == 0 || r.Out != out || r.Corpus != dir {
		t.Errorf("report = %+v, want 2 new files with 4 chunks", r)
	}
	a := opened(t, out)
	m := a.Metadata()
	if m.Stats.TotalFiles != 2 || m.Stats.TotalChunks != 4 || m.CorpusDescription != DefaultDescription || m.Embedding != nil || m.Index.Bytes != r.Bytes {
		t.Errorf("metadata = %+v, want the counts of the report", m)
	}
	page, err := a.Page(1)
	if err != nil || page.Path != "index.md" || page.Title != "Home" || page.Description != "Start here" {
		t.Errorf("page 1 = %+v, %v; want index.md", page, err)
	}
	var phases []string
	for _, p := range r.Phases {
		phases = append(phases, p.Name)
	}
	wantPaths(t, "phases", phases, "walk", "read", "build", "commit")
}

func TestBuildIsDeterministic(t *testing.T) {
	dir := library(t, 80, 40_000)
	put(t, dir, "p.template.md", "Hi {{x}}")
	one, two, alone := t.TempDir(), t.TempDir(), t.TempDir()
	built(t, Options{Dir: dir, Out: one})
	built(t, Options{Dir: dir, Out: two})
	built(t, Options{Dir: dir, Out: alone, Workers: 1})
	wantSameFiles(t, "two builds", contents(t, one), contents(t, two))
	wantSameFiles(t, "one worker and several", contents(t, one), contents(t, alone))

	put(t, dir, libraryPage(70), "# Something else\n")
	if r := built(t, Options{Dir: dir, Out: two}); r.FilesChanged != 1 {
		t.Errorf("after an edit: %+v, want 1 changed", r)
	}
	put(t, dir, libraryPage(70), libraryText(70, 40_000))
	built(t, Options{Dir: dir, Out: two})
	wantSameFiles(t, "edit and revert", contents(t, one), contents(t, two))
}

func TestRebuildReusesWhatDidNotChange(t *testing.T) {
	dir, out := library(t, 110, 40_000), t.TempDir()
	o := Options{Dir: dir, Out: out}
	first := built(t, o)
	if first.Groups < 3 {
		t.Fatalf("%d groups, too few for this test", first.Groups)
	}
	type counts struct{ files, new, changed, deleted, groupsMade int }
	step := func(name string, want counts) {
		t.Helper()
		r := built(t, o)
		got := counts{r.Files, r.FilesNew, r.FilesChanged, r.FilesDeleted, r.Groups - r.GroupsReused}
		if got != want {
			t.Errorf("%s: %+v, want %+v (report %+v)", name, got, want, r)
		}
		if r.FilesReused+r.FilesRebuilt != r.Files || (want.groupsMade == 0) != (r.FilesRebuilt == 0) {
			t.Errorf("%s: %d reused and %d rebuilt of %d", name, r.FilesReused, r.FilesRebuilt, r.Files)
		}
		cold := t.TempDir()
		built(t, Options{Dir: dir, Out: cold})
		wantSameFiles(t, name, contents(t, out), contents(t, cold))
	}
	step("nothing changed", counts{files: 110})
	put(t, dir, libraryPage(90), libraryText(91, 40_000))
	step("one changed", counts{files: 110, changed: 1, groupsMade: 1})
	if err := os.Remove(filepath.Join(dir, filepath.FromSlash(libraryPage(33)))); err != nil {
		t.Fatal(err)
	}
	step("one deleted", counts{files: 109, deleted: 1, groupsMade: 1})
	put(t, dir, "part01/zz.md", "# New\n\nxylophone\n")
	step("one added", counts{files: 110, new: 1, groupsMade: 1})
	if _, found, err := opened(t, out).FindPage(libraryPage(33)); found || err != nil {
		t.Errorf("%s is still there after it was deleted", libraryPage(33))
	}
}

func TestSettingsCountAsAChangeOfTheirFiles(t *testing.T) {
	dir, out := library(t, 20, 2000), t.TempDir()
	o := Options{Dir: dir, Out: out}
	built(t, o)
	put(t, dir, "part00/.docs-mcp.json", `{"version":"1","strategy":{"chunk_by":"file"}}`)
	if r := built(t, o); r.FilesChanged != 20 || r.Chunks != 20 {
		t.Errorf("another strategy: %+v, want 20 changed files of one chunk", r)
	}
	put(t, dir, "part00/.docs-mcp.json", `{"version":"1","strategy":{"chunk_by":"file"},"overrides":[{"pattern":"page0007.md","metadata":{"kind":"seven"}}]}`)
	if r := built(t, o); r.FilesChanged != 1 {
		t.Errorf("other metadata: %+v, want 1 changed file", r)
	}
	put(t, dir, "part00/.docs-mcp.json", `{"version":"1","strategy":{"chunk_by":"file"},"overrides":[{"pattern":"page0007.md","metadata":{"kind":"seven"}}],"taxonomy":{"kind":{"vector_collapse":true}}}`)
	if r := built(t, o); r.FilesChanged != 0 || r.GroupsReused != r.Groups || !opened(t, out).Metadata().Taxonomy["kind"].VectorCollapse {
		t.Errorf("another taxonomy: %+v, want all reused and the new taxonomy", r)
	}
}

func TestReusedGroupsReportTheirProblemsAgain(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "---\nmetadata: {n: [1]}\n---\nA\n", "b.md": "B"})
	o := Options{Dir: dir, Out: t.TempDir()}
	first, err := Build(t.Context(), o)
	if err != nil || len(first.Problems) == 0 {
		t.Fatalf("Build = %+v, %v; want a problem", first, err)
	}
	second, err := Build(t.Context(), o)
	if err != nil || second.FilesReused != 2 || !slices.Equal(first.Problems, second.Problems) {
		t.Errorf("second build = %+v, %v; want all reused and problems %v", second, err, first.Problems)
	}
	check, err := Check(t.Context(), o)
	if err != nil || !slices.Equal(first.Problems, check.Problems) || check.Files != 2 || check.Chunks != first.Chunks {
		t.Errorf("Check = %+v, %v; want what Build found", check, err)
	}
}

func TestDamagedArtifactIsBuiltAnew(t *testing.T) {
	dir, out, cold := library(t, 20, 2000), t.TempDir(), t.TempDir()
	built(t, Options{Dir: dir, Out: cold})
	for name, damage := range map[string]func(data []byte) []byte{
		"flipped":   func(data []byte) []byte { data[len(data)/2] ^= 0x55; return data },
		"truncated": func(data []byte) []byte { return data[:len(data)/2] },
		"empty":     func(data []byte) []byte { return nil },
		"zeroed":    func(data []byte) []byte { return make([]byte, len(data)) },
	} {
		t.Run(name, func(t *testing.T) {
			built(t, Options{Dir: dir, Out: out})
			file := filepath.Join(out, dataFile(t, out))
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, damage(data), 0o644); err != nil {
				t.Fatal(err)
			}
			built(t, Options{Dir: dir, Out: out})
			wantSameFiles(t, name, contents(t, out), contents(t, cold))
		})
	}
}

func dataFile(t *testing.T, out string) string {
	t.Helper()
	for name := range contents(t, out) {
		if strings.HasSuffix(name, ".idx") {
			return name
		}
	}
	t.Fatal("no data file")
	return ""
}

func TestBuildNeedsDocuments(t *testing.T) {
	empty, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	_, err := Build(t.Context(), Options{Dir: empty, Out: out})
	wantFault(t, err, "no_documents", "no Markdown files under "+empty)
	_, err = Build(t.Context(), Options{Dir: filepath.Join(empty, "x"), Out: out})
	wantFault(t, err, "no_documents", "no such folder")
	file := filepath.Join(corpus(t, map[string]string{"a.md": "# A"}), "a.md")
	_, err = Build(t.Context(), Options{Dir: file, Out: out})
	wantFault(t, err, "not_a_folder", "a.md is a file, not a folder")
	left := corpus(t, map[string]string{"a.md": "# A"})
	_, err = Check(t.Context(), Options{Dir: left, Exclude: []string{"*"}})
	wantFault(t, err, "no_documents", "no Markdown files under")
	big := corpus(t, map[string]string{"a.md": "# A long one"})
	r, err := Build(t.Context(), Options{Dir: big, Out: out, MaxFileBytes: 3})
	wantFault(t, err, "no_documents", "could be read")
	wantProblems(t, r.Problems, "a.md: skipped: 12 bytes, more than the limit of 3")
	if _, err := os.Stat(out); err == nil {
		t.Errorf("%s exists after builds without documents", out)
	}
}

func TestBuildRefusesBadOptions(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A"})
	for name, o := range map[string]Options{
		"By":      {By: "h7"},
		"Max":     {MaxChars: -1},
		"Include": {Include: []string{"[a"}},
		"Out":     {},
	} {
		t.Run(name, func(t *testing.T) {
			o.Dir = dir
			_, err := Build(t.Context(), o)
			wantFault(t, err, "bad_option", "")
		})
	}
}

// A bad file costs itself, never the build.
func TestHostileFilesLoseNoGoodOne(t *testing.T) {
	dir := corpus(t, map[string]string{
		"good.md":         "# Good\n\nxylophone\n",
		"bom.md":          "\uFEFF# Mark\r\n\r\ntext\r\n",
		"utf8.md":         "# Bad \xff\xfe bytes\n\n\xc3\x28\n",
		"nul.md":          "# Nul\x00\n\na\x00b\n",
		"line.md":         "# Line\n\n" + strings.Repeat("x", 5<<20),
		"headings.md":     strings.Repeat("## Same\n\ntext\n\n", 10_000),
		"deep.md":         strings.Repeat("> ", 2000) + "deep\n\n" + strings.Repeat("- ", 1000) + "x\n",
		"brackets.md":     strings.Repeat("[", 50_000) + "\n",
		"stars.md":        strings.Repeat("*a_ ", 50_000) + "\n",
		"front.md":        "---\n- % : {\n\t!!\n---\n# Front\n",
		"front-bomb.md":   "---\n" + bomb() + "---\n# Bomb\n",
		"front-open.md":   "---\ntitle: never closed\n",
		"front-list.md":   "---\n- a\n---\n# List\n",
		"metadata.md":     "---\nmetadata: {n: 5, l: [a]}\n---\n# Number\n",
		"empty.md":        "",
		"blank.md":        "\n\n  \n",
		"x.md/inner.md":   "# Inner\n",
		"it's \"a\" b.md": "# Quotes\n",
		"new\nline.md":    "# Newline\n",
		"日本 語.md":         "# 日本\n",
		"# % ?.md":        "# Signs\n",
	})
	began := time.Now()
	out := t.TempDir()
	r, err := Build(t.Context(), Options{Dir: dir, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	if r.Files != 21 {
		t.Errorf("Files = %d, want 21; problems %v", r.Files, r.Problems)
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("took %v", took)
	}
	for _, p := range r.Problems {
		if p.File == "good.md" || p.Reason == "" {
			t.Errorf("problem %+v", p)
		}
		if line := p.String(); strings.ContainsAny(line, "\n\r\x00") {
			t.Errorf("problem %q is not one line", line)
		}
	}
	opened(t, out)
}

func TestLargeFilesAreProblems(t *testing.T) {
	dir := corpus(t, map[string]string{"big.md": strings.Repeat("x", 1001), "fits.md": strings.Repeat("x", 1000)})
	r, err := Check(t.Context(), Options{Dir: dir, MaxFileBytes: 1000})
	if err != nil || r.Files != 1 {
		t.Errorf("Check = %+v, %v; want one file", r, err)
	}
	wantProblems(t, r.Problems, "big.md: skipped: 1001 bytes, more than the limit of 1000")
}

func TestStrictFailsOnAnyProblemAndKeepsTheOldArtifact(t *testing.T) {
	dir, out := corpus(t, map[string]string{"a.md": "# A"}), t.TempDir()
	o := Options{Dir: dir, Out: out, Strict: true}
	built(t, o)
	before := contents(t, out)
	put(t, dir, "b.md", "# B")
	put(t, dir, ".docs-mcp.json", "{}")
	r, err := Build(t.Context(), o)
	wantFault(t, err, "strict", "1 problem: .docs-mcp.json:1: manifest.version must be '1'")
	wantProblems(t, r.Problems, ".docs-mcp.json:1: manifest.version must be '1'")
	wantSameFiles(t, "after a strict failure", before, contents(t, out))
	_, err = Check(t.Context(), o)
	wantFault(t, err, "strict", "1 problem")
}

func TestCancelKeepsTheOldArtifact(t *testing.T) {
	dir, out := library(t, 60, 40_000), t.TempDir()
	o := Options{Dir: dir, Out: out}
	built(t, o)
	before := contents(t, out)
	for i := range 60 {
		put(t, dir, libraryPage(i), libraryText(i+1, 40_000))
	}
	for _, phase := range []string{"walk", "read", "build"} {
		ctx, cancel := context.WithCancel(t.Context())
		o.Progress = func(p Progress) {
			if p.Phase == phase && (p.Done > 0 || p.Total == 0) {
				cancel()
			}
		}
		_, err := Build(ctx, o)
		mustBe(t, err, context.Canceled)
		wantSameFiles(t, "cancelled in "+phase, before, contents(t, out))
		cancel()
	}
	o.Progress = nil
	if r := built(t, o); r.FilesChanged != 60 {
		t.Errorf("build after cancels: %+v, want 60 changed", r)
	}
}

func TestProgressCountsUp(t *testing.T) {
	dir := library(t, 30, 2000)
	last := map[string]Progress{}
	var order []string
	_, err := Build(t.Context(), Options{Dir: dir, Out: t.TempDir(), Progress: func(p Progress) {
		before, seen := last[p.Phase]
		if !seen {
			order = append(order, p.Phase)
		} else if p.Done < before.Done {
			t.Errorf("progress %+v after %+v", p, before)
		}
		last[p.Phase] = p
	}})
	if err != nil {
		t.Fatal(err)
	}
	wantPaths(t, "phases", order, "walk", "read", "build")
	for _, phase := range []string{"read", "build"} {
		if p := last[phase]; p.Done != 30 || p.Total != 30 {
			t.Errorf("last of %s = %+v, want 30 of 30", phase, p)
		}
	}
}

func TestSecondBuildAtOnceIsRefused(t *testing.T) {
	dir, out := corpus(t, map[string]string{"a.md": "# A"}), t.TempDir()
	w, err := artifact.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Abort()
	_, err = Build(t.Context(), Options{Dir: dir, Out: out})
	wantFault(t, err, "locked", out)
}

func TestFileThatVanishesIsAProblem(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A", "b.md": "# B"})
	o := Options{Dir: dir, Out: t.TempDir(), Workers: 1}
	o.Progress = func(p Progress) {
		if p.Phase == "build" && p.Done == 0 {
			os.Remove(filepath.Join(dir, "b.md"))
		}
	}
	r, err := Build(t.Context(), o)
	if err != nil || r.Files != 1 {
		t.Errorf("Build = %+v, %v; want the other file", r, err)
	}
	wantProblems(t, r.Problems, "b.md: skipped: no such file or directory")
}

func TestFileThatChangesMeanwhileIsTakenAsItIs(t *testing.T) {
	dir, out, cold := corpus(t, map[string]string{"a.md": "# Before", "b.md": "# B"}), t.TempDir(), t.TempDir()
	o := Options{Dir: dir, Out: out}
	o.Progress = func(p Progress) {
		if p.Phase == "build" && p.Done == 0 {
			put(t, dir, "a.md", "# Afterwards")
		}
	}
	built(t, o)
	built(t, Options{Dir: dir, Out: cold})
	wantSameFiles(t, "changed while building", contents(t, out), contents(t, cold))
}

func TestPanicOfOnePageIsItsProblem(t *testing.T) {
	dir, out := corpus(t, map[string]string{"a.md": "# A", "b.md": "# B", "c.md": "# C", "d.md": "# D"}), t.TempDir()
	b, err := prepare(t.Context(), Options{Dir: dir, Out: out})
	if err != nil {
		t.Fatal(err)
	}
	b.split = func(path string, src []byte, o chunker.Options) chunker.Page {
		if path == "b.md" {
			panic("cut")
		}
		return chunker.Split(path, src, o)
	}
	b.encode = func(docs []artifact.Document) (*artifact.Group, error) {
		for _, d := range docs {
			if d.Path == "c.md" {
				panic("encode")
			}
		}
		return artifact.Encode(docs)
	}
	r, err := b.finish(b.write(t.Context()))
	if err != nil || r.Files != 2 {
		t.Errorf("build = %+v, %v; want 2 of 4 files", r, err)
	}
	wantProblems(t, r.Problems, "b.md: skipped: splitting it failed: cut", "c.md: skipped: encoding it failed: encode")
	if r := built(t, Options{Dir: dir, Out: out}); r.Files != 4 {
		t.Errorf("next build = %+v, want all 4 files", r)
	}
}

func TestDigestCoversWhatDecidesADocument(t *testing.T) {
	base := func() (string, settings, []byte) {
		return "a.md", settings{metadata: map[string]string{"a": "b"}}, []byte("text")
	}
	sum := func(change func(file *string, s *settings, src *[]byte)) string {
		file, s, src := base()
		change(&file, &s, &src)
		p := &page{path: file, settings: s}
		got := p.source(sha256.New(), src)
		return string(got.Digest[:])
	}
	seen := map[string]string{}
	for name, change := range map[string]func(*string, *settings, *[]byte){
		"nothing":        func(*string, *settings, *[]byte) {},
		"extension":      func(f *string, _ *settings, _ *[]byte) { *f = "a.mdx" },
		"by":             func(_ *string, s *settings, _ *[]byte) { s.strategy.By = "h1" },
		"max":            func(_ *string, s *settings, _ *[]byte) { s.strategy.MaxChars = 1 },
		"min":            func(_ *string, s *settings, _ *[]byte) { s.strategy.MinChars = 1 },
		"metadata value": func(_ *string, s *settings, _ *[]byte) { s.metadata = map[string]string{"a": "c"} },
		"metadata shift": func(_ *string, s *settings, _ *[]byte) { s.metadata = map[string]string{"ab": ""} },
		"metadata more":  func(_ *string, s *settings, _ *[]byte) { s.metadata = map[string]string{"a": "b", "c": "d"} },
		"path's claim":   func(f *string, _ *settings, _ *[]byte) { *f = "de/a.md" },
		"text":           func(_ *string, _ *settings, src *[]byte) { *src = []byte("texT") },
	} {
		d := sum(change)
		if other, dup := seen[d]; dup {
			t.Errorf("%q and %q have one digest", name, other)
		}
		seen[d] = name
		if !bytes.Equal([]byte(d), []byte(sum(change))) {
			t.Errorf("%q has two digests", name)
		}
	}
}
