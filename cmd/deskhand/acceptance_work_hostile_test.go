//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// hostile are values that no argument is meant to have.
var hostile = map[string]any{
	"null": nil, "empty": "", "blank": " \t\n", "a word": "abc", "NUL": noID + "\x00", "a mark that turns text round": "\u202e" + noID,
	"a byte order mark": "\ufeff" + noID, "in braces": "{" + noID + "}", "as a URN": "urn:uuid:" + noID, "a short id": noID[:8],
	"an option": "--help", "a command": "$(id)", "a way up": "../..", "very long": strings.Repeat("x", 300_000),
	"zero": 0, "negative": -1, "huge": 1e300, "very negative": -9.3e18, "a fraction": 1.5, "true": true,
	"a list": []any{}, "a list of null": []any{nil}, "a deep list": []any{[]any{[]any{}}}, "an object": m{"a": 1},
}

// Whatever an argument is, a tool answers, and what it refuses it refuses in
// words that help, with no more bytes than a caller can read.
func TestWorkRefusesHostileArguments(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		usual := map[string]m{
			"create_task": {"project_id": noID, "title": "x"}, "start_task_attempt": {"task_id": noID, "executor": "fake", "repos": []any{m{"repo_id": noID}}},
			"follow_up": {"attempt_id": noID, "action": "cancel"}, "get_attempt_file": {"attempt_id": noID, "path": "shop/a"},
			"get_attempt_patch": {"attempt_id": noID, "paths": []any{"shop/a"}},
		}
		for _, tool := range workNames() {
			args := usual[tool]
			if args == nil {
				args = m{}
				for _, name := range w.listed[tool].InputSchema.Required {
					args[name] = noID
				}
			}
			fields := []string{"bogus", "__proto__", ""}
			for name := range w.listed[tool].InputSchema.Properties {
				fields = append(fields, name)
			}
			for _, name := range fields {
				for what, v := range hostile {
					own := m{name: v}
					for k, usual := range args {
						if k != name {
							own[k] = usual
						}
					}
					out, failed := w.result(tool, own)
					if !failed {
						continue
					}
					text := encoded(t, out)
					if code := fmt.Sprint(out["code"]); !slices.Contains([]string{"invalid_argument", "not_found"}, code) || strings.Contains(text, "reflect") || len(text) > 2000 {
						t.Errorf("%s with %s as %s = %.400s", tool, what, name, text)
					}
				}
			}
		}
		if list := w.call("list_tasks", m{"project_id": w.project}); list["count"] != 0.0 {
			t.Errorf("it made tasks: %v", list)
		}
	})
}

// T-077, with an alphabet of more than a byte a letter: the schema counts
// characters, and so does the call.
func TestWorkCountsCharacters(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		title := func(n int) m { return m{"project_id": w.project, "title": strings.Repeat("価", n)} }
		made := w.call("create_task", title(500))
		if got := dig[string](w, w.call("get_task", m{"task_id": made["task_id"]}), "task", "title"); got != title(500)["title"] {
			t.Errorf("title %.40s of %d bytes", got, len(got))
		}
		w.refuse("create_task", title(501), "invalid_argument", "500")
		args := title(1)
		args["request_id"] = strings.Repeat("é", 200)
		if a, b := w.call("create_task", args), w.call("create_task", args); a["task_id"] != b["task_id"] {
			t.Errorf("%v, then %v", a, b)
		}
		args["request_id"] = strings.Repeat("é", 201)
		w.refuse("create_task", args, "invalid_argument", "request_id")
	})
}

// A repository may have any name, any hook and any branch: what an attempt does
// there is done, and the repository is as it was.
func TestWorkInHostileRepositories(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		repo := filepath.Join(t.TempDir(), "-quo\"te's\n$(id)")
		if err := os.Rename(gitRepo(t, map[string]string{"README.md": "# Odd\n"}), repo); err != nil {
			t.Fatal(err)
		}
		for _, branch := range []string{"--evil", `qu"ote$(id)`, "ümläut", "deskhand"} {
			git(t, repo, "update-ref", "refs/heads/"+branch, "HEAD")
		}
		state := func() string {
			return git(t, repo, "status", "--porcelain") + git(t, repo, "symbolic-ref", "HEAD") + git(t, repo, "for-each-ref", "refs/heads/[!d]*") + git(t, repo, "config", "--list", "--local")
		}
		before, ran := state(), filepath.Join(t.TempDir(), "ran")
		for _, hook := range []string{"post-checkout", "pre-commit", "commit-msg", "post-commit", "reference-transaction", "post-index-change"} {
			script := "#!/bin/sh\necho " + hook + " >> '" + ran + "'\nexit 1\n"
			if err := os.WriteFile(filepath.Join(repo, ".git", "hooks", hook), []byte(script), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "odd", "--repo", "odd", "--state", w.state)
		projects := w.call("list_projects", nil)
		at := slices.IndexFunc(dig[[]any](w, projects, "projects"), func(p any) bool { return p.(m)["name"] == "odd" })
		project := dig[string](w, projects, "projects", at, "project_id")
		repoID := dig[string](w, w.call("list_repos", m{"project_id": project}), "repos", 0, "repo_id")
		start := func(branch string) m {
			task := dig[string](w, w.call("create_task", m{"project_id": project, "title": "\x1b[31m\u202e$(id) --evil\n../.."}), "task_id")
			return m{"task_id": task, "executor": "fake", "repos": []any{m{"repo_id": repoID, "target_branch": branch}},
				"prompt": `run printf a > -dash; printf b > '"q"'; printf c > "$(printf 'a\nb')"; printf d > "$(printf '\377')"`}
		}
		for _, branch := range []string{"main~0", "main@{0}", "@{-1}", "refs/heads/main", "main^{tree}", ":/first", "--upload-pack=x", "a\nb", "ma*", "../../x"} {
			w.refuse("start_task_attempt", start(branch), "not_found", "branch")
		}
		w.refuse("start_task_attempt", start(strings.Repeat("x", 200_000)), "invalid_argument", "target_branch")
		for _, branch := range []string{"main", "--evil", `qu"ote$(id)`, "ümläut"} {
			id := dig[string](w, w.call("start_task_attempt", start(branch)), "attempt_id")
			w.until(id, "completed")
			files := dig[[]any](w, w.call("get_attempt_changes", m{"attempt_id": id}), "files")
			if got, want := encoded(t, files), encoded(t, []string{`"odd/\377"`, `odd/"q"`, "odd/-dash", "odd/a\nb"}); got != want {
				t.Errorf("from %s: files %s, want %s", branch, got, want)
			}
			for i, path := range files {
				if out := w.call("get_attempt_file", m{"attempt_id": id, "path": path}); out["content"] != string("dbac"[i]) {
					t.Errorf("get_attempt_file %q = %v", path, out)
				}
				if out := w.call("get_attempt_patch", m{"attempt_id": id, "paths": []any{path}}); !strings.Contains(fmt.Sprint(out["patch"]), "\n+"+string("dbac"[i])) {
					t.Errorf("get_attempt_patch %q = %v", path, out)
				}
			}
		}
		if said, err := os.ReadFile(ran); err == nil {
			t.Errorf("hooks ran: %s", said)
		}
		if after := state(); after != before {
			t.Errorf("the repository was\n%s\nand is\n%s", before, after)
		}
		git(t, repo, "fsck")
	})
}

// A repository that is none, or has nothing, is refused when it is added, and
// the command line says why.
func TestProjectAddRefusesWhatIsNoRepository(t *testing.T) {
	dir := t.TempDir()
	empty, broken, folder := filepath.Join(dir, "empty"), filepath.Join(dir, "broken"), filepath.Join(dir, "folder")
	for _, d := range []string{empty, folder} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	git(t, empty, "init", "-q")
	if err := os.Rename(gitRepo(t, map[string]string{"a.txt": "a\n"}), broken); err != nil {
		t.Fatal(err)
	}
	fine := gitRepo(t, map[string]string{"a.txt": "a\n"})
	if err := os.Rename(filepath.Join(broken, ".git", "objects"), filepath.Join(dir, "objects")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(broken, ".git", "objects"), 0o700); err != nil {
		t.Fatal(err)
	}
	odd := filepath.Join(dir, `a"b`)
	if err := os.Rename(gitRepo(t, map[string]string{"a.txt": "a\n"}), odd); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path, name string
		code       int
		says       []string
	}{
		{"", "p", 2, []string{"empty", "hint: name the folder"}},
		{folder, "p", 1, []string{"not in a git repository", "hint: run git init"}},
		{filepath.Join(dir, "none"), "p", 1, []string{"not a folder", "hint: name the folder"}},
		{empty, "p", 1, []string{"no commit yet", "hint: commit something"}},
		{broken, "p", 1, []string{"git cannot read", "hint: run git fsck there"}},
		{odd, "p", 2, []string{"cannot be a folder", "hint: pass --repo NAME"}},
		{fine, "two\nlines", 2, []string{"control characters", "hint: use a name without control characters"}},
	} {
		got := deskhand(t, dir, "tasks", "project", "add", c.path, "--name", c.name, "--state", filepath.Join(dir, "state"))
		if got.code != c.code || slices.ContainsFunc(c.says, func(s string) bool { return !strings.Contains(got.stderr, s) }) {
			t.Errorf("project add %q --name %q = %d, %s; want %d, %q", c.path, c.name, got.code, got.stderr, c.code, c.says)
		}
	}
	var list struct{ Count int }
	if err := json.Unmarshal([]byte(done(t, dir, "tasks", "project", "ls", "--json", "--state", filepath.Join(dir, "state"))), &list); err != nil || list.Count != 0 {
		t.Errorf("projects %+v, %v; want none", list, err)
	}
}
