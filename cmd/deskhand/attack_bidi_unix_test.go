//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// What turns the direction of text is not on the pages of the work as it is: a
// diff would be read in another order than a compiler reads the file.
func TestAttackDoorsPagesShowDirectionCharacters(t *testing.T) {
	t.Setenv("CI", "")
	state := lingering(t)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--repo", "shop", "--state", state)
	const turned = "if admin\u202e\u2066 // only admins\u2069 \u2066"
	task := strings.TrimSpace(done(t, t.TempDir(), "tasks", "add", "Fix \u202egnihtyna", "--project", "shop", "--state", state))
	s := overSocket(t, "--tools", "work", "--state", state)
	_, _, attempt := presses(t, s, "/work/tasks/"+task, url.Values{"act": {"start"}, "agent": {"fake"},
		"prompt": {"say " + turned + "\nwrite shop/a.go " + turned + "\nwrite shop/b\u202eog.txt x"}})
	if !strings.HasPrefix(attempt, "/work/attempts/") {
		t.Fatalf("starting went to %q", attempt)
	}
	eventually(t, "the end", func() error {
		_, page, _ := looks(t, s, attempt, personKey)
		if !strings.Contains(page, "only admins") || !strings.Contains(page, "a.go") || !strings.Contains(page, "og.txt") {
			return fmt.Errorf("the page is\n%s", page)
		}
		return nil
	})
	for name, path := range map[string]string{"the attempt: diff, file names, log, title": attempt, "the task: title": "/work/tasks/" + task, "the board": "/work"} {
		t.Run(name, func(t *testing.T) {
			status, page, _ := looks(t, s, path, personKey)
			page = strings.ReplaceAll(page, "data-path=\"shop/shop/b\u202e", "") // for a script
			if status != http.StatusOK || strings.ContainsAny(strings.ReplaceAll(page, `value="Fix `+"\u202e", ""), "\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") {
				for line := range strings.Lines(page) {
					if strings.ContainsAny(line, "\u202e\u2066\u2069") {
						t.Errorf("GET %s = %d with %q", path, status, line)
					}
				}
			}
		})
	}
}
