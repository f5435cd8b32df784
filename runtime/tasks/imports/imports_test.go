package imports

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

func put(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func readAll(t *testing.T, s Source) []Item {
	t.Helper()
	items, err := Read(t.Context(), s)
	if err != nil {
		t.Fatalf("Read(%s) = %v", s.Place, err)
	}
	return items
}

func shown(items []Item) string {
	var b strings.Builder
	for _, i := range items {
		fmt.Fprintf(&b, "%s|%s|%s|%v\n", i.Key, i.Title, strings.ReplaceAll(i.Description, "\n", "/"), i.Done)
	}
	return b.String()
}

func TestBeads(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".beads", "issues.jsonl"), `{"id":"bd-1","title":"First\nline","description":"Do it.","design":"So.","status":"open","external_ref":"gh-9"}
{"id":"bd-4","title":"Planned","status":"open","priority":0,"labels":["ui","a\u202eb"],"dependencies":[{"issue_id":"bd-4","depends_on_id":"bd-1","type":"blocks"},{"issue_id":"bd-4","depends_on_id":"bd-2","type":"related"}]}
{"id":"bd-2","title":"Second","status":"closed"}

{"id":"bd-1","title":"First again","status":"in_progress"}
{"id":"bd-3","title":"","status":"open"}
`)
	open := readAll(t, Source{Place: dir})
	if got, want := shown(open), "beads:bd-1|First again|Imported from beads bd-1|false\nbeads:bd-4|Planned|Imported from beads bd-4|false\n"; got != want {
		t.Errorf("got %s want %s", got, want)
	}
	if got, want := fmt.Sprint(open[1].Plan), "{urgent [ui a\ufffdb] [beads:bd-1]}"; got != want {
		t.Errorf("plan %s, want %s", got, want)
	}
	if got := readAll(t, Source{Place: filepath.Join(dir, ".beads"), Closed: true}); len(got) != 3 || !got[2].Done {
		t.Errorf("with closed ones: %s", shown(got))
	}
	_, err := Read(t.Context(), Source{Place: put(t, filepath.Join(dir, "broken.jsonl"), "{\"id\":\"a\",\"title\":\"b\"}\nnot json\n")})
	if f := fault.Of(err); f == nil || f.Code != Unreadable || !strings.Contains(f.Message, "broken.jsonl:2") {
		t.Errorf("a broken line: %v", err)
	}
}

func TestBacklog(t *testing.T) {
	dir := t.TempDir()
	put(t, filepath.Join(dir, "backlog", "tasks", "task-7 - Add.md"), "---\nid: task-7\ntitle: \"Add: search\"\nstatus: To Do\npriority: Medium\nlabels: [search, ui]\ndependencies:\n  - TASK-1\n---\n\n## Description\n\nFind things.\n")
	put(t, filepath.Join(dir, "backlog", "completed", "task-1 - Old.md"), "---\r\nid: TASK-1\r\ntitle: Old\r\nstatus: Done\r\n---\r\n")
	put(t, filepath.Join(dir, "backlog", "tasks", "notes.md"), "# no front matter\n")
	secret := put(t, filepath.Join(t.TempDir(), "secret.md"), "---\nid: x\ntitle: a secret\n---\n")
	if err := os.Symlink(secret, filepath.Join(dir, "backlog", "tasks", "link.md")); err != nil {
		t.Skip("NOT TESTED: links cannot be made here: " + err.Error())
	}
	want := "backlog:task-7|Add: search|## Description//Find things.//Imported from Backlog.md task-7, task-7 - Add.md|false\n"
	if got := shown(readAll(t, Source{Place: dir})); got != want {
		t.Errorf("got %s want %s", got, want)
	}
	if got, want := fmt.Sprint(readAll(t, Source{Place: dir})[0].Plan), "{normal [search ui] [backlog:task-1]}"; got != want {
		t.Errorf("plan %s, want %s", got, want)
	}
	put(t, filepath.Join(dir, ".beads", "issues.jsonl"), `{"id":"bd-1","title":"Both","status":"open"}`)
	if got := readAll(t, Source{Place: dir, Closed: true}); len(got) != 3 || got[0].Key != "beads:bd-1" || got[1].Key != "backlog:task-7" {
		t.Errorf("a folder with both: %s", shown(got))
	}
	if got := readAll(t, Source{Place: filepath.Join(dir, "backlog"), Closed: true}); len(got) != 2 || got[1].Key != "backlog:task-1" || !got[1].Done {
		t.Errorf("with done ones: %s", shown(got))
	}
}

func TestMarkdownLists(t *testing.T) {
	path := put(t, filepath.Join(t.TempDir(), "TODO.md"), "# Things\n\n- [ ] Round prices\n  Half up.\n\n  - [ ] Add a test\n- [x] Done\n\n## Later\n\nProse.\n\n```\n- [ ] in code\n```\n1. [ ] Numbered **bold**\n")
	got := readAll(t, Source{Place: path, Closed: true})
	if len(got) != 4 || got[0].Title != "Round prices" || got[0].Description != "Half up.\n\nImported from TODO.md, line 3" || got[1].Title != "Add a test" ||
		!got[2].Done || got[2].Description != "Imported from TODO.md, line 7" || got[3].Title != "Numbered **bold**" {
		t.Errorf("items:\n%s", shown(got))
	}
	put(t, path, "New first line\n- [x] Round   prices\n")
	if again := readAll(t, Source{Place: path, Closed: true}); len(again) != 1 || again[0].Key != got[0].Key || !again[0].Done {
		t.Errorf("after an edit:\n%s, want the same key %s", shown(again), got[0].Key)
	}
}

// answering is a transport without a network.
type answering func(*http.Request) (int, string)

func (a answering) RoundTrip(r *http.Request) (*http.Response, error) {
	code, body := a(r)
	return &http.Response{StatusCode: code, Body: io.NopCloser(strings.NewReader(body)), Header: http.Header{}, Request: r}, nil
}

func TestGitHubOverREST(t *testing.T) {
	var asked []string
	client := &http.Client{Transport: answering(func(r *http.Request) (int, string) {
		asked = append(asked, r.URL.String()+" "+r.Header.Get("Authorization"))
		if r.URL.Query().Get("page") == "1" {
			var list []string
			for n := range 100 {
				list = append(list, fmt.Sprintf(`{"number":%d,"title":"Issue %d","body":null,"state":"open"}`, n+1, n+1))
			}
			return 200, "[" + strings.Join(list, ",") + "]"
		}
		return 200, `[{"number":101,"title":"Last","body":"Text","state":"closed","labels":[{"name":"bug"},"good first issue"]},{"number":102,"title":"A pull request","state":"open","pull_request":{"url":"x"}}]`
	})}
	got := readAll(t, Source{Place: "https://github.com/Acme/Shop/issues", Closed: true, Client: client, Token: func(_ context.Context, host string) (string, error) { return "for-" + host, nil }})
	if len(got) != 101 || got[0].Key != "github.com/acme/shop#1" || got[100].Description != "Text\n\nImported from https://github.com/Acme/Shop/issues/101" || !got[100].Done {
		t.Errorf("%d items, the last %+v", len(got), got[len(got)-1])
	}
	if l := got[100].Labels; len(l) != 2 || l[0] != "bug" || l[1] != "good first issue" {
		t.Errorf("labels %q", l)
	}
	if len(asked) != 2 || !strings.HasPrefix(asked[0], "https://api.github.com/repos/Acme/Shop/issues?state=all&per_page=100&") || !strings.HasSuffix(asked[0], "Bearer for-github.com") {
		t.Errorf("asked %q", asked)
	}
	client.Transport = answering(func(*http.Request) (int, string) { return 404, `{"message":"Not Found\u202e"}` })
	_, err := Read(t.Context(), Source{Place: "github:acme/none", Client: client})
	if f := fault.Of(err); f == nil || f.Message != "github.com answered 404: Not Found\ufffd" {
		t.Errorf("an unknown repository: %v", err)
	}
}

func TestGitHubWithGh(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("NOT TESTED: the double of gh is a shell script")
	}
	dir := t.TempDir()
	gh := put(t, filepath.Join(dir, "gh"), "#!/bin/sh\necho \"$@\" > "+dir+"/asked\n[ -f "+dir+"/broken ] && { echo 'no such repository' >&2; exit 1; }\necho '[{\"number\":3,\"title\":\"T\",\"body\":\"B\",\"state\":\"OPEN\",\"url\":\"https://evil.example\"}]'\n")
	if err := os.Chmod(gh, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{"git@github.com:acme/shop.git", "ssh://git@github.com/acme/shop", "github:acme/shop"} {
		got := shown(readAll(t, Source{Place: place, Program: gh}))
		if got != "github.com/acme/shop#3|T|B//Imported from https://github.com/acme/shop/issues/3|false\n" {
			t.Errorf("%s: got %s", place, got)
		}
	}
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil || string(asked) != "issue list --repo github.com/acme/shop --state open --limit 2000 --json number,title,body,state,url,labels\n" {
		t.Errorf("gh was asked %q, %v", asked, err)
	}
	put(t, filepath.Join(dir, "broken"), "")
	if _, err := Read(t.Context(), Source{Place: "github:acme/shop", Program: gh}); err == nil || !strings.Contains(err.Error(), "no such repository") {
		t.Errorf("a failure of gh: %v", err)
	}
}

func TestHostileFiles(t *testing.T) {
	dir := t.TempDir()
	many := strings.Repeat("- [ ] x\n", 1)
	for n := range maxItems + 1 {
		many += fmt.Sprintf("- [ ] task %d\n", n)
	}
	_, err := Read(t.Context(), Source{Place: put(t, filepath.Join(dir, "many.md"), many)})
	if f := fault.Of(err); f == nil || f.Code != TooMuch {
		t.Errorf("too many tasks: %v", err)
	}
	_, err = Read(t.Context(), Source{Place: put(t, filepath.Join(dir, "large.md"), strings.Repeat("x", maxFile+1))})
	if f := fault.Of(err); f == nil || f.Code != TooMuch {
		t.Errorf("a large file: %v", err)
	}
	long := readAll(t, Source{Place: put(t, filepath.Join(dir, "long.md"), "- [ ] a\x00b\xff\u202ec\n  "+strings.Repeat("é", maxDescription)+"\n")})
	if len(long) != 1 || strings.ContainsAny(long[0].Title, "\x00\u202e") || len(long[0].Description) > maxDescription || !strings.HasSuffix(long[0].Description, "Imported from long.md, line 1") {
		t.Errorf("title %q, %d bytes of text", long[0].Title, len(long[0].Description))
	}
	for _, place := range []string{filepath.Join(dir, "none.md"), dir, os.DevNull, put(t, filepath.Join(dir, "x.exe"), "x"), put(t, filepath.Join(dir, "x.json"), "{}")} {
		if _, err := Read(t.Context(), Source{Place: place}); fault.Of(err) == nil {
			t.Errorf("Read(%s) = %v, want a fault", place, err)
		}
	}
}
