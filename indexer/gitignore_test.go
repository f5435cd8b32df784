package indexer

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// git runs a git command in dir without the user's configuration.
func git(t *testing.T, dir string, stdin string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "core.quotePath=false"}, args...)...)
	cmd.Stdin = strings.NewReader(stdin)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_DATE=2024-02-03T04:05:06+02:00", "GIT_COMMITTER_DATE=2024-02-03T04:05:06+02:00")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil && stderr.Len() > 0 {
		t.Fatalf("git %q: %v\n%s", args, err, &stderr)
	}
	return string(out)
}

func needGit(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("SKIPPED: no git on this machine; the rules of .gitignore are not compared with it")
	}
}

func TestGitIgnoreIsThatOfGit(t *testing.T) {
	needGit(t)
	for name, files := range map[string]map[string]string{
		"names":    {".gitignore": "drafts\n*.tmp.md\n!keep.tmp.md\nsecret.md\n"},
		"anchored": {".gitignore": "/top.md\n/a/b\ndocs/x.md\n/*.mdx\n"},
		"folders":  {".gitignore": "build/\ntop.md/\n!build/keep.md\n"},
		"reincluded": {".gitignore": "/*\n!/a\n/a/*\n!/a/b\n!top.md\n",
			"a/.gitignore": "*.md\n!page.md\n"},
		"stars": {".gitignore": "**/b/x.md\na/**\n!a/b/\n!a/b/page.md\nc/**/page.md\n**/deep\nd**e.md\n"},
		"nested": {".gitignore": "*.md\n", "a/.gitignore": "!*.md\n/page.md\n", "a/b/.gitignore": "!page.md\nx.md\n",
			"c/.gitignore": "!/d/\nd/x.md"},
		"odd lines": {".gitignore": "\uFEFFtop.md\r\n# comment.md\n\\#hash.md\n\\!bang.md\nspace.md   \nkept\\ \n\ttab.md\n/\n!\n\n  \nx\\\n"},
		"classes":   {".gitignore": "[ab].md\n[!a-c].mdx\n[^x].txt\n[]-]1.md\n[a-]2.md\n[[:digit:]]3.md\n[[:nope:]].md\n[unclosed\n[a\\]]4.md\n[/]5.md\n?.md\n"},
		"braces":    {".gitignore": "{a,b}.md\n*.{md,mdx}\n(x).md\na+.md\n^c.md\n$d.md\n"},
		"bytes":     {".gitignore": "ä.md\n?.mdx\n??.mdx\n[ä].txt\nö*\n"},
		"escapes":   {".gitignore": "\\*.md\n\\a.md\n\\?\\[.md\nback\\\\slash.md\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := corpus(t, files)
			git(t, dir, "", "init", "-q")
			for _, base := range []string{"", "a/", "a/b/", "build/", "drafts/", "c/", "c/d/", "c/d/deep/", "docs/", "a/drafts/"} {
				for _, n := range []string{"top.md", "page.md", "x.md", "secret.md", "a.md", "b.md", "keep.md", "keep.tmp.md", "y.tmp.md", "a.mdx", "ä.md", "ä.mdx",
					"ö.md", "#hash.md", "!bang.md", "space.md", "kept ", "tab.md", "d1e.md", "-1.md", "]1.md", "-2.md", "73.md", "]4.md", "{a,b}.md", "(x).md", "a+.md",
					"^c.md", "$d.md", "*.md", "?[.md", `back\slash.md`, "[unclosed", "x\\"} {
					put(t, dir, base+n, "")
				}
			}
			var want []string
			for line := range strings.SplitSeq(strings.Trim(git(t, dir, "", "ls-files", "-z", "--others", "--exclude-standard"), "\x00"), "\x00") {
				if isPage(line) && !strings.HasPrefix(filepath.Base(line), ".") {
					want = append(want, line)
				}
			}
			slices.Sort(want)
			got, _ := walked(t, dir, selection{}, true)
			for _, p := range got {
				if !slices.Contains(want, p) {
					t.Errorf("%q is taken, git ignores it", p)
				}
			}
			for _, p := range want {
				if !slices.Contains(got, p) {
					t.Errorf("%q is left out, git does not ignore it", p)
				}
			}
		})
	}
}

func TestGitIgnoreAboveTheCorpusCounts(t *testing.T) {
	dir := corpus(t, map[string]string{
		".git/HEAD": "", ".gitignore": "/docs/generated/\n*.draft.md\n", "docs/.gitignore": "!b.draft.md\n",
		"docs/a.md": "", "docs/a.draft.md": "", "docs/b.draft.md": "", "docs/generated/c.md": "",
	})
	pages, f := walked(t, filepath.Join(dir, "docs"), selection{}, true)
	wantPaths(t, "pages", pages, "a.md", "b.draft.md")
	wantProblems(t, f.problems)
	pages, _ = walked(t, filepath.Join(dir, "docs"), selection{}, false)
	wantPaths(t, "pages without gitignore", pages, "a.draft.md", "a.md", "b.draft.md", "generated/c.md")
}

// The checkout's and the user's own excludes count below all .gitignore files, as in git, in
// worktrees too.
func TestGitExcludesAreThoseOfGit(t *testing.T) {
	needGit(t)
	home := t.TempDir()
	dir := corpus(t, map[string]string{".gitignore": "!kept.user.md\n", "docs/a.md": "", "docs/private.md": "", "docs/x.user.md": "", "docs/kept.user.md": "", "docs/kept.own.md": "", "docs/.gitignore": "!kept.own.md\n"})
	git(t, dir, "", "init", "-q")
	put(t, dir, ".git/info/exclude", "/docs/private.md\n*.own.md\n")
	put(t, home, "config", "[core]\n\texcludesFile = "+filepath.ToSlash(filepath.Join(home, "mine"))+"\n")
	put(t, home, "mine", "*.user.md\n!private.md\n")
	put(t, home, "git/ignore", "a.md\n")
	t.Setenv("XDG_CONFIG_HOME", home)
	t.Setenv("GIT_CONFIG_NOSYSTEM", "1")
	t.Setenv("GIT_DIR", filepath.Join(home, "elsewhere")) // as in a hook
	for _, test := range []struct {
		config, of string
		excludes   bool
		want       []string
	}{
		{"config", dir, true, []string{"a.md", "kept.own.md", "kept.user.md"}},
		{"none", dir, true, []string{"kept.own.md", "kept.user.md", "x.user.md"}},
		{"config", dir, false, []string{"a.md", "kept.own.md", "kept.user.md", "private.md", "x.user.md"}},
	} {
		t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, test.config))
		pages, _ := walked(t, filepath.Join(test.of, "docs"), selection{gitExcludes: test.excludes}, true)
		wantPaths(t, fmt.Sprintf("pages with %s and excludes %v", test.config, test.excludes), pages, test.want...)
	}

	t.Setenv("GIT_CONFIG_GLOBAL", filepath.Join(home, "config"))
	os.Unsetenv("GIT_DIR") // Setenv restores it
	git(t, dir, "", "add", "-f", ".")
	git(t, dir, "", "commit", "-q", "-m", "one")
	tree := filepath.Join(t.TempDir(), "tree")
	git(t, dir, "", "worktree", "add", "-q", tree)
	pages, _ := walked(t, filepath.Join(tree, "docs"), selection{gitExcludes: true}, true)
	wantPaths(t, "pages of a worktree", pages, "a.md", "kept.own.md", "kept.user.md")
}

func TestGitIgnoreOutsideOfACheckoutReachesNoFurtherUp(t *testing.T) {
	dir := corpus(t, map[string]string{".gitignore": "*\n", "docs/a.md": ""})
	for up := filepath.Dir(dir); up != filepath.Dir(up); up = filepath.Dir(up) {
		if _, err := os.Stat(filepath.Join(up, ".git")); err == nil {
			t.Skipf("NOT TESTED: the temporary folder is in the checkout at %s", up)
		}
	}
	pages, _ := walked(t, filepath.Join(dir, "docs"), selection{}, true)
	wantPaths(t, "pages", pages, "a.md")
}

func FuzzGitignore(f *testing.F) {
	for _, seed := range []string{"*.md\n!a", "a/**/b", "[a-z]", "[[:alpha:]", "\\", "**", "***/x", "[!]]", "[z-a]", "[^/]x\\ "} {
		f.Add([]byte(seed), "a/b/c.md")
	}
	f.Fuzz(func(t *testing.T, src []byte, name string) {
		if len(src) > 4096 || len(name) > 1024 {
			return
		}
		began := time.Now()
		files := ignores{{rules: parseIgnore(src)}}
		files.ignored(name, false)
		files.ignored(name, true)
		if took := time.Since(began); took > 20*time.Second {
			t.Errorf("%d bytes of rules take %v", len(src), took)
		}
	})
}
