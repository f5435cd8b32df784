package diff

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// gitDiff returns Git's patch between two texts.
func gitDiff(t *testing.T, old, now string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"old": old, "new": now} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "diff", "--no-index", "--unified=3", "old", "new")
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil && cmd.ProcessState.ExitCode() != 1 {
		t.Fatal(err)
	}
	return string(out)
}

var tags = regexp.MustCompile(`<[^>]*>`)

func text(r Row) (was, is string) {
	bare := func(html string) string {
		return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&#34;", `"`, "&#39;", "'", "&amp;", "&").Replace(tags.ReplaceAllString(html, ""))
	}
	return bare(string(r.Was)), bare(string(r.Is))
}

// If all rows of a file are shown, they contain the old and the new file
// completely, with the right numbers, whatever has changed.
func TestRowsAreBothFilesWhole(t *testing.T) {
	base := make([]string, 60)
	for i := range base {
		base[i] = fmt.Sprintf("\tx%d := \"<%d>\" // & more", i, i)
	}
	join := func(lines ...[]string) string { return strings.Join(slices.Concat(lines...), "\n") + "\n" }
	for name, pair := range map[string][2]string{
		"a line changed":       {join(base), join(base[:30], []string{"\tx30 := 1"}, base[31:])},
		"lines at both ends":   {join(base), join([]string{"first"}, base, []string{"last"})},
		"lines deleted":        {join(base), join(base[:10], base[20:])},
		"everything is new":    {"", join(base)},
		"everything is gone":   {join(base), ""},
		"two changes far away": {join(base), join(base[:5], []string{"a"}, base[6:50], base[52:])},
		"no newline at end":    {join(base), strings.TrimSuffix(join(base[:59], []string{"x"}), "\n")},
		"lines like headers":   {"--- a\n+++ b\n@@ -1 +1 @@\n", "--- a\n+++ c\n@@ -1 +1 @@\n"},
	} {
		t.Run(name, func(t *testing.T) {
			rows := Rows(Input{Name: "x.go", Patch: gitDiff(t, pair[0], pair[1]), Old: []byte(pair[0]), New: []byte(pair[1]), All: true})
			for _, shown := range [][]Row{rows, Beside(rows)} {
				var old, now []string
				for _, r := range shown {
					was, is := text(r)
					if r.Old > 0 {
						if old = append(old, was); r.Old != len(old) {
							t.Errorf("old line %d has the number %d", len(old), r.Old)
						}
					}
					if r.New > 0 && r.Gap == 0 {
						if now = append(now, is); r.New != len(now) {
							t.Errorf("new line %d has the number %d", len(now), r.New)
						}
					}
				}
				if !slices.Equal(old, Lines([]byte(pair[0]))) || !slices.Equal(now, Lines([]byte(pair[1]))) {
					t.Errorf("the rows are\n%q\n%q", old, now)
				}
			}
		})
	}
}

func TestAGapCountsWhatItHides(t *testing.T) {
	var old []string
	for i := range 40 {
		old = append(old, fmt.Sprint("line ", i))
	}
	now := slices.Clone(old)
	now[20] = "other"
	in := Input{Name: "x.txt", Patch: gitDiff(t, strings.Join(old, "\n")+"\n", strings.Join(now, "\n")+"\n"), New: []byte(strings.Join(now, "\n") + "\n")}
	gaps := func() (all []int) {
		for _, r := range Rows(in) {
			if r.Gap > 0 {
				all = append(all, r.New, r.Gap)
			}
		}
		return all
	}
	if got := gaps(); !slices.Equal(got, []int{1, 17, 25, 16}) {
		t.Errorf("gaps = %v, want 17 lines from 1 on and 16 from 25 on", got)
	}
	in.Open = map[int]bool{25: true}
	if got := gaps(); !slices.Equal(got, []int{1, 17}) {
		t.Errorf("with one open the gaps = %v", got)
	}
}

func TestChangedWordsAreMarked(t *testing.T) {
	for _, c := range []struct{ old, now, was, is string }{
		{"return int(euros * 100)", "return int(euros*100 + 0.5)", "return int(euros[ ]*[ ]100)", "return int(euros*100[ + 0.5])"},
		{`"line 50",`, `"line fifty",`, `"line [50]",`, `"line [fifty]",`},
		{"all of this goes", "nothing stays here now", "all of this goes", "nothing stays here now"},
		{"straße", "strasse", "straße", "strasse"},
	} {
		old, now := changed(c.old, c.now)
		if was, is := bracketed(c.old, old), bracketed(c.now, now); was != c.was || is != c.is {
			t.Errorf("changed(%q, %q) = %s, %s; want %s, %s", c.old, c.now, was, is, c.was, c.is)
		}
	}
}

func bracketed(text string, spans []span) string {
	for _, s := range slices.Backward(spans) {
		text = text[:s.from] + "[" + text[s.from:s.to] + "]" + text[s.to:]
	}
	return text
}

// A file's content cannot become markup, whatever language it is assumed to be.
func FuzzLinesAreText(f *testing.F) {
	f.Add("x.html", "<script>alert(1)</script>\n", "<img src=x onerror=alert(1)>\n")
	f.Add("x.go", "a := `\n", "b := \"</i><b>\"\n")
	f.Fuzz(func(t *testing.T, name, old, now string) {
		patch := "@@ -1 +1 @@\n-" + strings.ReplaceAll(old, "\n", "\n-") + "\n+" + strings.ReplaceAll(now, "\n", "\n+")
		for _, r := range Rows(Input{Name: name, Patch: patch, Old: []byte(old), New: []byte(now), All: true}) {
			rest := regexp.MustCompile(`</?mark>|<i class="[a-z]">|</i>`).ReplaceAllString(string(r.Was)+string(r.Is), "")
			if strings.ContainsAny(rest, "<>\"") {
				t.Errorf("%q leaves %q", now, rest)
			}
		}
	})
}

func TestAQuoteIsFoundWhereItStandsNow(t *testing.T) {
	lines := []string{"a", "b", "c", "a", "b", "d"}
	for _, c := range []struct {
		quote []string
		near  int
		want  int
	}{{[]string{"a", "b"}, 1, 1}, {[]string{"a", "b"}, 5, 4}, {[]string{"b", "c"}, 6, 2}, {[]string{"x"}, 1, 0}, {nil, 1, 0}} {
		if got := Find(lines, c.quote, c.near); got != c.want {
			t.Errorf("Find(%q, near %d) = %d, want %d", c.quote, c.near, got, c.want)
		}
	}
}

func BenchmarkRowsOf700Lines(b *testing.B) {
	var lines []string
	for i := range 700 {
		lines = append(lines, fmt.Sprintf("func line%d() int { return %d } // %d", i, i, i))
	}
	now := strings.Join(lines, "\n") + "\n"
	in := Input{Name: "x.go", New: []byte(now), Patch: "@@ -0,0 +1,700 @@\n+" + strings.ReplaceAll(strings.TrimSuffix(now, "\n"), "\n", "\n+")}
	for b.Loop() {
		if len(Rows(in)) != 700 {
			b.Fatal("not 700 rows")
		}
	}
}

// A line of a minified file is not shown to its end, unless the whole file is.
func TestRowsCutLongLines(t *testing.T) {
	now := "var a = \"" + strings.Repeat("é", 50_000) + "\"\n"
	in := Input{Name: "x.js", Patch: gitDiff(t, "", now), New: []byte(now)}
	rows := Rows(in)
	if _, is := text(rows[0]); len(is) > 2100 || !rows[0].Long() || !strings.HasPrefix(is, "var a = \"é") || !strings.HasSuffix(is, "… 49006 more characters") {
		t.Errorf("Rows of a line of 100,000 bytes shows %d bytes, ending with %q", len(is), is[max(0, len(is)-60):])
	}
	in.All = true
	if _, is := text(Rows(in)[0]); is+"\n" != now {
		t.Errorf("Rows with All shows %d bytes of the line, want all %d", len(is), len(now)-1)
	}
}

func TestTheOppositeOfOldLinesIsWhatReplacesThem(t *testing.T) {
	patch := func(a, b string) string {
		return "@@ -1,3 +1,3 @@\n-one\n+" + a + "\n same\n-two\n-three\n+" + b + "\n+more\n"
	}
	before := patch("1", "2")
	for _, c := range []struct {
		what, patch string
		first, last int
		same        bool
	}{
		{"nothing changes", before, 1, 1, true},
		{"its replacement changes", patch("I", "2"), 1, 1, false},
		{"another replacement changes", patch("1", "II"), 1, 1, true},
		{"a neighbour in the same change", patch("1", "II"), 4, 4, false},
		{"one of several", patch("1", "II"), 1, 3, false},
		{"an unchanged line", patch("I", "II"), 2, 2, true},
	} {
		if got := Opposite(c.patch, c.first, c.last) == Opposite(before, c.first, c.last); got != c.same {
			t.Errorf("%s: Opposite(lines %d to %d) is the same: %v, want %v", c.what, c.first, c.last, got, c.same)
		}
	}
	if Opposite(before, 1, 1) == Opposite(before, 2, 2) {
		t.Error("a replaced line and an unchanged one have the same opposite")
	}
}
