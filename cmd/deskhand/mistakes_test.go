package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/goldentest"
)

// mistake is something that people get wrong, with the command lines that do.
type mistake struct {
	title string
	// setUp prepares the folder, which has docs/a.md, and may return variables.
	setUp func(t *testing.T, dir string) (env []string)
	lines [][]string
}

func line(words ...string) []string { return words }

// mistakes are the 36 of a newcomer's review. An answer says what is wrong, with the value
// in question, and what to do.
var mistakes = []mistake{
	{"a folder that does not exist", nil, [][]string{line("index", "dosc"), line("index", "nowhere")}},
	{"an empty folder", files("empty/.keep", ""), [][]string{line("index", "empty")}},
	{"a file instead of a folder", nil, [][]string{line("index", "docs/a.md")}},
	{"no index", nil, [][]string{line("search", "x"), line("get", "a.md"), line("serve")}},
	{"the folder of docs as index", files("docs/metadata.json", `{"corpus_description": "Acme handbook"}`), [][]string{line("serve", "--index", "docs"), line("search", "--index", "docs", "x")}},
	{"the folder of docs as argument of serve", nil, [][]string{line("serve", "docs"), line("serve", "what")}},
	{"a misspelled flag", nil, [][]string{line("index", "--exlude", "x")}},
	{"a misspelled command, a letter missing", nil, [][]string{line("indx", "docs"), line("serch", "x")}},
	{"a misspelled command, letters swapped", nil, [][]string{line("idnex"), line("tsaks"), line("evla"), line("trian"), line("aks"), line("tasks", "strat")}},
	{"the beginning of a command", nil, [][]string{line("task", "ls"), line("conf")}},
	{"a command of another program", nil, [][]string{line("run"), line("status"), line("ls"), line("query"), line("find"), line("mcp"), line("upgrade"), line("build", "--watch")}},
	{"a misspelled command of ask", nil, [][]string{line("ask", "lsit"), line("ask", "lit"), line("ask", "anwser", "elc_1")}},
	{"values that do not exist", indexDocs, [][]string{line("index", "--chunk-by", "h9"), line("search", "-n", "500", "x"), line("search", "-n", "abc", "x"), line("search", "--by", "vibes", "x"), line("search", "--limit", "5", "--limit", "6", "x"), line("serve", "--index", "a", "--index", "b")}},
	{"a port in use", busyPort, [][]string{line("serve", "--tools", "ask", "--http", "$ADDR"), line("serve", "--tools", "ask", "--http", "$PORT")}},
	{"an address that is no address", nil, [][]string{line("serve", "--http", "localhost"), line("serve", "--http", "99999")}},
	{"everybody without a token", nil, [][]string{line("serve", "--tools", "ask", "--http", "0.0.0.0:8080", "--no-token"), line("serve", "--tools", "ask", "--http", ":8080", "--no-token")}},
	{"an address of another machine", nil, [][]string{line("serve", "--tools", "ask", "--http", "192.0.2.1:8080")}},
	{"output on a file", files("file", "x"), [][]string{line("index", "docs", "-o", "file")}},
	{"output among the docs, or swapped with them", nil, [][]string{line("index", "docs", "-o", "docs"), line("index", ".", "-o", "docs")}},
	{"output that cannot be written", files("file", "x"), [][]string{line("index", "docs", "-o", "file/index")}},
	{"a page that cannot be read", unreadable, [][]string{line("index", "docs")}},
	{"files that are no pages", oddFiles, [][]string{line("index", "docs")}},
	{"a damaged index", damagedIndex, [][]string{line("search", "roll"), line("search", "--index", "gone", "roll")}},
	{"a broken metadata.json", files("docs/metadata.json", "{\n  \"corpus_description\": 1\n}", "other/a.md", "# A", "other/metadata.json", `{"corpus_descripton": "x"}`), [][]string{line("index", "docs"), line("index", "other")}},
	{"a provider that is not there", nil, [][]string{line("index", "docs", "--embed", "openia:x"), line("index", "docs", "--embed", "openai:text-embedding-3-small")}},
	{"no terminal for the inbox", nil, [][]string{line("inbox")}},
	{"no project, no such id, several ids", nil, [][]string{line("tasks", "ls"), line("tasks", "show", "newest"), line("tasks", "show", "abcdef"), line("tasks", "logs", "newest")}},
	{"a folder that is no git repository", nil, [][]string{line("tasks", "project", "add", "docs", "--name", "shop")}},
	{"a status that does not exist", docsProject, [][]string{line("tasks", "ls", "--status", "foo")}},
	{"an executor that is not installed", oneTask, [][]string{line("tasks", "start", "newest", "--executor", "claude"), line("tasks", "start", "newest"), line("tasks", "start", "newest", "--executor", "cluade")}},
	{"an agent that is not signed in", oneTask, [][]string{line("tasks", "start", "newest", "--executor", "fake", "--follow", "--prompt", "fail Not logged in · Please run /login")}},
	{"a question for a secret", nil, [][]string{line("ask", "What is the password?")}},
	{"nobody there", variables("CI=1"), [][]string{line("ask", "Which port?")}},
	{"cases that are none", files("none.json", "[]", "bare.json", `[{"query": "roll"}]`, "no.json", "{"), [][]string{line("eval", "missing.json"), line("eval", "none.json"), line("eval", "bare.json"), line("eval", "no.json")}},
	{"an unknown key in deskhand.yaml", files("deskhand.yaml", "indx: docs\n"), [][]string{line("search", "x")}},
	{"a state folder that cannot be written", files("file", "x"), [][]string{line("ask", "Which port?", "--state", "file/state")}},
}

func files(pairs ...string) func(*testing.T, string) []string {
	return func(t *testing.T, dir string) []string {
		all := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			all[pairs[i]] = pairs[i+1]
		}
		write(t, dir, all)
		return nil
	}
}

func variables(env ...string) func(*testing.T, string) []string {
	return func(*testing.T, string) []string { return env }
}

func indexDocs(t *testing.T, dir string) []string {
	done(t, dir, "index", "docs", "-q")
	return nil
}

func busyPort(t *testing.T, _ string) []string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	_, port, _ := net.SplitHostPort(l.Addr().String())
	return []string{"ADDR=" + l.Addr().String(), "PORT=" + port}
}

// unreadable has a page that leads nowhere, which root cannot read either.
func unreadable(t *testing.T, dir string) []string {
	if err := os.Symlink("gone.md", filepath.Join(dir, "docs", "b.md")); err != nil {
		t.Skip("NOT TESTED: a page that cannot be read: this machine makes no links")
	}
	return nil
}

func oddFiles(t *testing.T, dir string) []string {
	write(t, dir, map[string]string{
		"docs/big.md": strings.Repeat("word ", 4<<20), "docs/binary.md": "\x7fELF\x00\x01\x02\x00\x00", "docs/guide.rst": "x", "docs/book.pdf": "x",
	})
	return nil
}

func damagedIndex(t *testing.T, dir string) []string {
	indexDocs(t, dir)
	done(t, dir, "index", "docs", "-q", "-o", "gone")
	for _, index := range []string{".deskhand/index", "gone"} {
		found, err := filepath.Glob(filepath.Join(dir, index, "index-*.idx"))
		if err != nil || len(found) != 1 {
			t.Fatal(found, err)
		}
		if index == "gone" {
			err = os.Remove(found[0])
		} else {
			err = os.Truncate(found[0], 100)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return nil
}

func docsProject(t *testing.T, dir string) []string {
	write(t, dir, map[string]string{"shop/price.txt": "1"})
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "-A"}, {"-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "first"}} {
		cmd := exec.Command("git", args...)
		cmd.Dir = filepath.Join(dir, "shop")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, out)
		}
	}
	done(t, dir, "tasks", "project", "add", "shop", "--name", "shop")
	return nil
}

func oneTask(t *testing.T, dir string) []string {
	docsProject(t, dir)
	done(t, dir, "tasks", "add", "Round prices")
	if git, err := exec.LookPath("git"); err == nil { // the programs of no agent
		bin := filepath.Join(dir, "bin")
		if err := os.MkdirAll(bin, 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{git, "/bin/sh", mustFind(t, "deskhand")} {
			if err := os.Symlink(name, filepath.Join(bin, filepath.Base(name))); err != nil {
				t.Fatal(err)
			}
		}
		return []string{"PATH=" + bin}
	}
	return nil
}

func mustFind(t *testing.T, name string) string {
	path, err := exec.LookPath(name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// changing matches what differs from one run to the next.
var changing = []struct {
	found *regexp.Regexp
	as    string
}{
	{regexp.MustCompile(`(?i)\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`), "UUID"},
	{regexp.MustCompile(`\b(attempt|logs|show|diff|start|deskhand/) ?[0-9a-f]{4,6}\b`), "${1} ID"},
	{regexp.MustCompile(`\btime=\S+`), "time=TIME"},
	{regexp.MustCompile(`index-[0-9a-f]{16}`), "index-DIGEST"},
	{regexp.MustCompile(`static:[0-9a-f]{16}`), "static:DIGEST"},
	{regexp.MustCompile(`elc_[0-9A-Z]{26}`), "elc_ID"},
}

// Every answer to a mistake, as people see it. Read the golden file as they would: does it
// say what is wrong, and what to do?
func TestMistakesGolden(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("NOT TESTED: answers to mistakes: git is not there")
	}
	if os.PathSeparator != '/' {
		t.Skip("NOT TESTED: answers to mistakes: their paths are those of Unix")
	}
	if len(mistakes) != 36 {
		t.Errorf("there are %d mistakes, want the 36 of the review", len(mistakes))
	}
	answers := make([]string, len(mistakes))
	t.Run("all", func(t *testing.T) {
		for i, m := range mistakes {
			t.Run(m.title, func(t *testing.T) { answers[i] = m.answers(t, i+1) })
		}
	})
	goldentest.Compare(t, filepath.Join("testdata", "mistakes.golden"), strings.Join(answers, "\n"))
}

// answers runs the command lines and returns what they print.
func (m mistake) answers(t *testing.T, n int) string {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	state := filepath.Join(dir, "state")
	t.Setenv("DESKHAND_STATE", state)
	write(t, dir, map[string]string{"docs/a.md": "# A\n\nHow to roll back.\n"})
	env := os.Environ()
	var own []string
	if m.setUp != nil {
		own = m.setUp(t, dir)
	}
	text := fmt.Sprintf("## %d. %s\n", n, m.title)
	for _, words := range m.lines {
		shown := "$ deskhand"
		args := make([]string, len(words))
		for i, word := range words {
			args[i] = os.Expand(word, func(name string) string {
				for _, v := range own {
					if value, ok := strings.CutPrefix(v, name+"="); ok {
						return value
					}
				}
				return ""
			})
			if strings.Contains(word, " ") {
				word = "'" + word + "'"
			}
			shown += " " + word
		}
		cmd := exec.Command("deskhand", args...)
		var stderr strings.Builder
		cmd.Dir, cmd.Env, cmd.Stderr, cmd.WaitDelay = dir, append(env, own...), &stderr, time.Second
		began := time.Now()
		_ = cmd.Run() // the exit code tells
		if took := time.Since(began); took > time.Minute {
			t.Errorf("%s took %v: nobody waits that long for an error", shown, took)
		}
		text += fmt.Sprintf("\n%s\n%s[%d]\n", shown, m.plain(stderr.String(), dir, own), cmd.ProcessState.ExitCode())
	}
	return text
}

// plain replaces what differs from one run to the next.
func (m mistake) plain(text, dir string, own []string) string {
	text = strings.ReplaceAll(text, dir, "$WORK")
	for _, v := range own {
		if name, value, _ := strings.Cut(v, "="); name == "ADDR" || name == "PORT" {
			text = strings.ReplaceAll(text, value, "$"+name)
		}
	}
	for _, c := range changing {
		text = c.found.ReplaceAllString(text, c.as)
	}
	return text
}
