//go:build unix

package main

import (
	"encoding/base64"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

func TestWorkChanges(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		id := w.ran("completed", "write new.txt hello", "run printf 'one\\nTWO\\nthree\\nfour\\n' > src/price.txt", "run rm README.md")
		w.line("T-110 T-111 arguments", func(t *testing.T, w *workDesk) {
			w.refuse("get_attempt_changes", nil, "invalid_argument", "attempt_id")
			if a, b := w.call("get_attempt_changes", m{"attempt_id": id}), w.call("get_attempt_changes", m{"attempt_id": id, "force": false}); encoded(t, a) != encoded(t, b) {
				t.Errorf("T-111 T-121: %v and %v", a, b)
			}
		})
		w.line("T-112 to T-118 T-121 a summary like git's", func(t *testing.T, w *workDesk) {
			out := w.call("get_attempt_changes", m{"attempt_id": id})
			added, deleted := 0, 0
			for line := range strings.Lines(git(t, w.dir(id), "diff", "--numstat", "main")) {
				f := strings.Fields(line)
				a, _ := strconv.Atoi(f[0])
				d, _ := strconv.Atoi(f[1])
				added, deleted = added+a, deleted+d
			}
			s := dig[m](w, out, "summary")
			if s["file_count"] != 3.0 || s["added"] != float64(added) || s["deleted"] != float64(deleted) || s["total_bytes"].(float64) <= 0 {
				t.Errorf("summary %v, git says +%d -%d", s, added, deleted)
			}
			if enum := fmt.Sprint(w.listed["get_attempt_changes"].OutputSchema.Properties["blocked_reason"].Enum); enum != "[summary_failed threshold_exceeded <nil>]" {
				t.Errorf("T-117 reasons %s", enum)
			}
			if out["blocked"] != false || out["blocked_reason"] != nil || encoded(t, out["files"]) != `["shop/README.md","shop/new.txt","shop/src/price.txt"]` {
				t.Errorf("changes %v", out)
			}
		})
		w.line("T-125 committed, uncommitted and untracked", func(t *testing.T, w *workDesk) {
			write(t, w.dir(id), map[string]string{"untracked.txt": "x\n", "new.txt": "hello again\n"})
			git(t, w.dir(id), "add", "new.txt")
			if files := encoded(t, w.call("get_attempt_changes", m{"attempt_id": id})["files"]); files != `["shop/README.md","shop/new.txt","shop/src/price.txt","shop/untracked.txt"]` {
				t.Errorf("files %s", files)
			}
			os.Remove(filepath.Join(w.dir(id), "untracked.txt"))
		})
		w.line("T-119 no contents", func(t *testing.T, w *workDesk) {
			big := w.ran("completed", "run head -c 1000000 /dev/zero | tr '\\0' x > big.txt")
			if text := encoded(t, w.call("get_attempt_changes", m{"attempt_id": big})); len(text) > 2000 {
				t.Errorf("%d bytes: %.300s", len(text), text)
			}
		})
		w.line("T-120 two repositories with the same path", func(t *testing.T, w *workDesk) {
			other := gitRepo(t, map[string]string{"README.md": "# Other\n"})
			done(t, t.TempDir(), "tasks", "project", "add", other, "--name", "shop", "--repo", "other", "--state", w.state)
			repos := w.call("list_repos", m{"project_id": w.project})
			var both []any
			for i := range 2 {
				both = append(both, m{"repo_id": dig[string](w, repos, "repos", i, "repo_id"), "target_branch": "main"})
			}
			both2 := dig[string](w, w.call("start_task_attempt", m{"task_id": w.task("both"), "executor": "fake", "repos": both,
				"prompt": "run for r in shop other; do echo more >> $r/README.md; done"}), "attempt_id")
			w.until(both2, "completed")
			if files := encoded(t, w.call("get_attempt_changes", m{"attempt_id": both2})["files"]); files != `["other/README.md","shop/README.md"]` {
				t.Errorf("files %s", files)
			}
		})
		w.line("T-122 T-123 the guard", func(t *testing.T, w *workDesk) {
			many := w.ran("completed", "run for i in $(seq 600); do echo $i > $i.txt; done")
			out := w.call("get_attempt_changes", m{"attempt_id": many})
			if out["blocked"] != true || out["blocked_reason"] != "threshold_exceeded" || len(dig[[]any](w, out, "files")) != 0 || dig[float64](w, out, "summary", "file_count") != 600 || !strings.Contains(out["hint"].(string), "force") {
				t.Errorf("T-122 %v", out)
			}
			if p := w.call("get_attempt_patch", m{"attempt_id": many, "paths": []any{"shop/1.txt"}}); p["blocked_reason"] != "threshold_exceeded" || p["hint"] != "call get_attempt_patch again with force=true" {
				t.Errorf("T-170 %v", p)
			}
			out = w.call("get_attempt_changes", m{"attempt_id": many, "force": true})
			if out["blocked"] != false || len(dig[[]any](w, out, "files")) != 600 {
				t.Errorf("T-123 %.300v", out)
			}
		})
		w.line("T-124 a worktree that is gone", func(t *testing.T, w *workDesk) {
			gone := w.ran("completed", "write a.txt a")
			if err := os.RemoveAll(w.dir(gone)); err != nil {
				t.Fatal(err)
			}
			out := w.call("get_attempt_changes", m{"attempt_id": gone})
			if out["blocked"] != true || out["blocked_reason"] != "summary_failed" || len(dig[[]any](w, out, "files")) != 0 || out["hint"] == nil {
				t.Errorf("changes %v", out)
			}
		})
	})
}

func TestWorkFiles(t *testing.T) {
	everyWorkDoor(t, func(t *testing.T, w *workDesk) {
		id := w.ran("completed", "run printf 'one\\nTWO\\nthree\\nfour\\n' > src/price.txt", "write new.txt hello",
			"run ln -s /etc/passwd out; ln -s ../../.. up", "run printf 'a\\0b\\377' > blob.bin", "run head -c 700000 /dev/zero | tr '\\0' x > big.txt")
		file := func(args m) m {
			w.t.Helper()
			args["attempt_id"] = id
			return w.call("get_attempt_file", args)
		}
		patch := func(args m) m {
			w.t.Helper()
			args["attempt_id"] = id
			return w.call("get_attempt_patch", args)
		}
		w.line("T-167 T-169 to T-171 ranges of a file", func(t *testing.T, w *workDesk) {
			for _, c := range []struct {
				args      m
				content   string
				truncated bool
			}{
				{m{}, "one\nTWO\nthree\nfour\n", false},
				{m{"start_line": 2, "end_line": 3}, "TWO\nthree\n", false},
				{m{"start_line": 4}, "four\n", false},
				{m{"start": 4, "max_bytes": 3}, "TWO", true},
				{m{"start": 14}, "four\n", false},
				{m{"start": 5000}, "", false},
			} {
				c.args["path"] = "shop/src/price.txt"
				out := file(c.args)
				if out["content"] != c.content || out["truncated"] != c.truncated || out["blocked"] != false || out["blocked_reason"] != nil || out["total_bytes"] != 19.0 {
					t.Errorf("get_attempt_file %v = %v", c.args, out)
				}
			}
		})
		w.line("T-172 nothing outside is read", func(t *testing.T, w *workDesk) {
			for _, path := range []string{"../../etc/passwd", "/etc/passwd", "shop/../../../etc/passwd", "shop/out", "shop/up/etc/passwd", "shop/.git", "shop/.git/../../x", "nope/a.txt", "shop/../shop/../x", filepath.Join(w.dir(id), "new.txt")} {
				if out := file(m{"path": path}); out["blocked"] != true || out["blocked_reason"] != "path_outside_workspace" || out["content"] != nil || out["hint"] == nil {
					t.Errorf("get_attempt_file %s = %v", path, out)
				}
				if out := patch(m{"paths": []any{path}}); path != "shop/out" && out["patch"] != nil && out["patch"] != "" {
					t.Errorf("get_attempt_patch %s = %v", path, out)
				}
			}
			if out := patch(m{"paths": []any{"shop/up/etc/passwd"}}); out["blocked"] != true || out["blocked_reason"] != "path_outside_workspace" || out["hint"] == nil {
				t.Errorf("get_attempt_patch behind a link that leads out = %v", out)
			}
			w.refuse("get_attempt_file", m{"attempt_id": id, "path": "shop/missing.txt"}, "not_found", "get_attempt_changes")
		})
		w.line("T-168 a patch that git applies", func(t *testing.T, w *workDesk) {
			out := patch(m{"paths": []any{"shop/src/price.txt", "shop/new.txt"}})
			text := dig[string](w, out, "patch")
			if out["blocked"] != false || strings.Contains(text, "blob.bin") {
				t.Errorf("patch %v", out)
			}
			cmd := exec.Command("git", "apply", "--check", "-p1", "-")
			cmd.Dir, cmd.Stdin = w.repo, strings.NewReader(strings.NewReplacer("a/shop/", "a/", "b/shop/", "b/").Replace(text))
			if said, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("git apply: %v %s\n%s", err, said, text)
			}
		})
		w.line("T-171 T-173 T-174 bounds", func(t *testing.T, w *workDesk) {
			if out := file(m{"path": "shop/big.txt"}); out["truncated"] != true || out["bytes"] != 65536.0 || out["total_bytes"] != 700000.0 || !strings.Contains(fmt.Sprint(out["hint"]), "start=65536") {
				t.Errorf("T-171 %.200v", out)
			}
			if out := file(m{"path": "shop/big.txt", "max_bytes": 1 << 20}); out["blocked"] != true || out["blocked_reason"] != "size_exceeded" || !strings.Contains(fmt.Sprint(out["hint"]), "max_bytes") {
				t.Errorf("T-174 %.200v", out)
			}
			if out := patch(m{"paths": []any{"shop/new.txt"}, "max_bytes": 3 << 20}); out["blocked"] != true || out["blocked_reason"] != "size_exceeded" {
				t.Errorf("T-174 %.200v", out)
			}
			if out := patch(m{"paths": []any{"shop"}, "max_bytes": 2000}); out["truncated"] != true || !strings.Contains(encoded(t, out["omitted_paths"]), "shop/big.txt") {
				t.Errorf("T-171 %.300v", out)
			}
			if out := patch(m{"paths": []any{"shop/big.txt"}, "max_bytes": 2000}); out["truncated"] != true || out["patch"] != "" || !strings.Contains(fmt.Sprint(out["hint"]), "get_attempt_file") {
				t.Errorf("T-171 %.300v", out)
			}
			var paths []any
			for i := range 10_000 {
				paths = append(paths, fmt.Sprintf("shop/%d.txt", i))
			}
			if out := patch(m{"paths": paths}); out["blocked"] != true || out["blocked_reason"] != "too_many_paths" || len(encoded(t, out)) > 10_000 {
				t.Errorf("T-173 %.200v", out)
			}
		})
		w.line("T-175 binary files", func(t *testing.T, w *workDesk) {
			out := file(m{"path": "shop/blob.bin"})
			if b, err := base64.StdEncoding.DecodeString(dig[string](w, out, "content")); err != nil || string(b) != "a\x00b\xff" || out["encoding"] != "base64" || out["bytes"] != 4.0 {
				t.Errorf("get_attempt_file = %v", out)
			}
			patch(m{"paths": []any{"shop/blob.bin"}})
		})
	})
}
