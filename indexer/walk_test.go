package indexer

import (
	"context"
	"os"
	"path/filepath"
	"testing"
)

func TestWalkTakesMarkdownInByteOrder(t *testing.T) {
	dir := corpus(t, map[string]string{
		"b.md": "b", "a.md": "a", "B.md": "B", "a/z.markdown": "z", "a-b/c.mdx": "c", "ä.MD": "ä",
		"notes.txt": "", "a.md.bak": "", "md": "", ".hidden.md": "", ".git/x.md": "", "a/.cache/y.md": "",
		"a/p.template.md": "", "q.template.yaml": "",
	})
	pages, f := walked(t, dir, selection{}, false)
	wantPaths(t, "pages", pages, "B.md", "a-b/c.mdx", "a.md", "a/z.markdown", "b.md", "ä.MD")
	var templates []string
	for _, p := range f.templates {
		templates = append(templates, p.path)
	}
	wantPaths(t, "templates", templates, "a/p.template.md", "q.template.yaml")
	wantProblems(t, f.problems)
}

func TestWalkTakesHostileNames(t *testing.T) {
	names := []string{"a b.md", `it's "quoted".md`, "line\nbreak.md", "#%?*[x].md", "日本.md", `back\slash.md`}
	files := map[string]string{}
	for _, n := range names {
		files[n] = "# x"
	}
	dir := corpus(t, files)
	pages, f := walked(t, dir, selection{}, false)
	if len(pages) != len(names) {
		t.Errorf("pages = %q, want those of %q", pages, names)
	}
	wantProblems(t, f.problems)
}

func TestWalkReportsNamesThatAreNotUTF8(t *testing.T) {
	dir := corpus(t, map[string]string{"good.md": "x"})
	if err := os.WriteFile(filepath.Join(dir, "bad\xff.md"), []byte("x"), 0o644); err != nil {
		t.Skipf("SKIPPED: this file system refuses such names: %v", err)
	}
	pages, f := walked(t, dir, selection{}, false)
	wantPaths(t, "pages", pages, "good.md")
	wantProblems(t, f.problems, `"bad\xff.md": the name is not UTF-8; rename it`)
}

func TestWalkTakesFolderCalledLikeAPage(t *testing.T) {
	dir := corpus(t, map[string]string{"x.md/inner.md": "x", "p.template.md/page.md": "y"})
	pages, f := walked(t, dir, selection{}, false)
	wantPaths(t, "pages", pages, "p.template.md/page.md", "x.md/inner.md")
	wantProblems(t, f.problems)
}

func TestWalkSelectsByGlobs(t *testing.T) {
	files := map[string]string{
		"index.md": "", "guides/a.md": "", "guides/deep/b.mdx": "", "drafts/c.md": "", "api/drafts/d.md": "", "api/v1/e.md": "",
	}
	for name, test := range map[string]struct {
		pick selection
		want []string
	}{
		"a folder":        {selection{include: []string{"guides"}}, []string{"guides/a.md", "guides/deep/b.mdx"}},
		"with a slash":    {selection{include: []string{"./guides/"}}, []string{"guides/a.md", "guides/deep/b.mdx"}},
		"a name anywhere": {selection{exclude: []string{"drafts"}}, []string{"api/v1/e.md", "guides/a.md", "guides/deep/b.mdx", "index.md"}},
		"an extension":    {selection{include: []string{"*.mdx"}}, []string{"guides/deep/b.mdx"}},
		"one level":       {selection{include: []string{"guides/*.md"}}, []string{"guides/a.md"}},
		"any level":       {selection{include: []string{"**/v1/**"}}, []string{"api/v1/e.md"}},
		"braces":          {selection{include: []string{"{guides,api}/**/*.md"}}, []string{"api/drafts/d.md", "api/v1/e.md", "guides/a.md"}},
		"both": {selection{include: []string{"api/**", "index.md"}, exclude: []string{"**/drafts/**"}},
			[]string{"api/v1/e.md", "index.md"}},
	} {
		t.Run(name, func(t *testing.T) {
			pages, f := walked(t, corpus(t, files), test.pick, false)
			wantPaths(t, "pages", pages, test.want...)
			wantProblems(t, f.problems)
		})
	}
}

func TestCheckGlobRefusesWhatItCannotMatch(t *testing.T) {
	for glob, good := range map[string]bool{
		"**/*.md": true, "a{b,c}": true, "{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}": true, `\{x`: true, "[a-z]?": true,
		"": false, "[a": false, "{a,b": false, "@(a|b).md": false, "!(x)": false, `x\`: false,
		"{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}x": false,
	} {
		if reason := checkGlob(glob); (reason == "") != good {
			t.Errorf("checkGlob(%q) = %q, want usable %v", glob, reason, good)
		}
	}
}

func TestWalkEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := walk(ctx, corpus(t, map[string]string{"a.md": ""}), selection{}, false)
	mustBe(t, err, context.Canceled)
}
