package main

import (
	"strings"
	"testing"
)

// conflicting is a repository with a configuration, and an attempt whose
// README.md conflicts with main. Its agent merges as a real one would, if its
// prompt says which commit.
func conflicting(t *testing.T) (repo, id string) {
	t.Helper()
	repo, task := onTask(t)
	git(t, repo, "config", "user.name", "Ann")
	git(t, repo, "config", "user.email", "ann@example.com")
	write(t, repo, map[string]string{"deskhand.yaml": `
tasks:
  sandbox: none
  executors:
    merger:
      kind: shell
      command:
        - sh
        - -c
        - |
          tip=$(printf '%s' "$0" | sed -n 's/.*git merge \([0-9a-f]*\)$/\1/p')
          if [ -z "$tip" ]; then echo agent > README.md; exit 0; fi
          git merge "$tip" || { cat README.md | grep -v '^[<=>]' > merged; mv merged README.md; git add README.md; git -c core.editor=true commit -q --no-edit; }
        - "{{prompt}}"
`})
	done(t, repo, "trust", "--yes")
	git(t, repo, "add", "-A")
	git(t, repo, "commit", "-q", "-m", "settings")
	done(t, repo, "tasks", "start", task, "--executor", "merger", "--prompt", "work", "--follow")
	write(t, repo, map[string]string{"README.md": "person\n"})
	git(t, repo, "commit", "-q", "-a", "-m", "person")
	return repo, task
}

func TestAnAgentResolvesAndAPersonLands(t *testing.T) {
	repo, id := conflicting(t)
	before := git(t, repo, "rev-parse", "main")
	refused := deskhand(t, repo, "tasks", "land", id)
	if refused.code == 0 || !strings.Contains(refused.stderr, "README.md") || !strings.Contains(refused.stderr, "--resolve") {
		t.Fatalf("land of what conflicts: %+v", refused)
	}
	if silent := deskhand(t, repo, "tasks", "land", id, "--resolve"); silent.code == 0 || !strings.Contains(silent.stderr, "--yes") {
		t.Fatalf("land --resolve without a terminal: %+v", silent)
	}
	t.Chdir(repo)
	p := sits(t, nil, nil, "tasks", "land", id, "--resolve")
	p.sees("The conflicts are resolved: 1 files")
	p.types("n\n")
	if got := p.ends(); got.code == 0 || git(t, repo, "rev-parse", "main") != before {
		t.Fatalf("after a no: %+v", got)
	}
	done(t, repo, "tasks", "land", id, "--resolve", "--yes")
	if text := git(t, repo, "show", "main:README.md"); !strings.Contains(text, "agent") || !strings.Contains(text, "person") {
		t.Errorf("main has %q", text)
	}
}

func TestUpdateCanResolve(t *testing.T) {
	repo, id := conflicting(t)
	done(t, repo, "tasks", "update", id, "--resolve")
	if shown := done(t, repo, "tasks", "show", id); strings.Contains(shown, "conflicts") || !strings.Contains(shown, "0 behind") {
		t.Errorf("after update --resolve:\n%s", shown)
	}
}
