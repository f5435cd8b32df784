//go:build unix

package main

import (
	"fmt"
	"net/http"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/web"
)

// presses sends a form of a page as a signed-in person does, and returns where
// the browser is sent.
func presses(t *testing.T, s *socket, path string, form url.Values) (status int, body, location string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, strings.TrimSuffix(s.url, "/mcp")+path, strings.NewReader(form.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return browsed(t, r, personKey)
}

// The pages of the work do what the tools do: here the whole way of a task.
func TestATaskIsDoneOnThePagesOfTheWork(t *testing.T) {
	t.Setenv("CI", "")
	state := lingering(t)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--repo", "shop", "--state", state)
	s := overSocket(t, "--tools", "work,ask", "--state", state)
	page := func(path string, has ...string) string {
		t.Helper()
		status, body, _ := looks(t, s, path, personKey)
		for _, want := range has {
			if status != http.StatusOK || !strings.Contains(body, want) {
				t.Fatalf("GET %s = %d, without %q:\n%s", path, status, want, body)
			}
		}
		return body
	}
	board := page("/work", "shop", "To do", "No tasks")
	_, after, _ := strings.Cut(board, `name="project" value="`)
	project, _, _ := strings.Cut(after, `"`)

	status, body, task := presses(t, s, "/work", url.Values{"project": {project}, "title": {"Round <b>prices</b>"}, "description": {"say hello\r\nwrite prices.txt 1.50\r\nask Which team?"}})
	if status != http.StatusSeeOther {
		t.Fatalf("adding a task = %d\n%s", status, body)
	}
	if shown := page(task, "Round &lt;b&gt;prices&lt;/b&gt;", "No attempt yet"); strings.Contains(shown, "<b>prices") {
		t.Errorf("the title is markup:\n%s", shown)
	}
	status, body, attempt := presses(t, s, task, url.Values{"act": {"start"}, "agent": {"fake"}})
	if status != http.StatusSeeOther {
		t.Fatalf("starting an attempt = %d\n%s", status, body)
	}
	eventually(t, "the question", func() error {
		_, body, _ := looks(t, s, attempt, personKey)
		return holds(body, "waiting for you", "Which team?", `action="/inbox/elc_`, "hello")
	})
	page("/work", "waiting for you")
	page(attempt+"/news?after=0", `"html":"`, "hello")
	if status, _, _ := presses(t, s, attempt, url.Values{"act": {"queue"}, "prompt": {"say afterwards"}}); status != http.StatusSeeOther {
		t.Errorf("queueing = %d", status)
	}
	page(attempt, "Queued:", "say afterwards")
	presses(t, s, attempt, url.Values{"act": {"stop"}})
	eventually(t, "the end", func() error {
		_, body, _ := looks(t, s, attempt, personKey)
		return holds(body, "stopped", "prices.txt", "1.50</td>", "Not sent:")
	})
	presses(t, s, attempt, url.Values{"act": {"send"}, "prompt": {"say once more"}})
	eventually(t, "the follow-up", func() error {
		_, body, _ := looks(t, s, attempt, personKey)
		return holds(body, "completed", "once more")
	})
	page(task, "1 attempt", "completed", "once more", "1 file")
	presses(t, s, task, url.Values{"act": {"status"}, "status": {"done"}})
	for path, form := range map[string]url.Values{
		attempt: {"act": {"send"}, "prompt": {" "}},
		task:    {"act": {"start"}, "agent": {"nobody"}},
		"/work": {"project": {project}, "title": {""}},
	} {
		if status, body, _ := presses(t, s, path, form); status != http.StatusUnprocessableEntity || !strings.Contains(body, `role="alert"`) {
			t.Errorf("POST %s %v = %d\n%s\nwant 422 and what is wrong", path, form, status, body)
		}
	}
	for _, path := range []string{"/work/tasks/x", "/work/attempts/01a20033-0000-7000-8000-000000000000", "/work?project=x"} {
		if status, body, _ := looks(t, s, path, personKey); status != http.StatusNotFound && status != http.StatusConflict {
			t.Errorf("GET %s = %d\n%s", path, status, body)
		}
	}
	if status, body, _ := looks(t, s, "/work", ""); status == http.StatusOK && strings.Contains(body, "shop") {
		t.Errorf("GET /work without a token shows the board")
	}
}

func holds(body string, all ...string) error {
	for _, want := range all {
		if !strings.Contains(body, want) {
			return fmt.Errorf("no %q in\n%s", want, body)
		}
	}
	return nil
}

func TestAWindowThatWaitsForNewsDoesNotHoldUpTheEnd(t *testing.T) {
	state := lingering(t)
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--state", state)
	s := overSocket(t, "--tools", "work", "--state", state)
	_, board, _ := looks(t, s, "/work", personKey)
	_, after, _ := strings.Cut(board, `name="project" value="`)
	project, _, _ := strings.Cut(after, `"`)
	_, _, task := presses(t, s, "/work", url.Values{"project": {project}, "title": {"sleep 60"}})
	_, _, attempt := presses(t, s, task, url.Values{"act": {"start"}, "agent": {"fake"}})
	process := ""
	eventually(t, "the log", func() error {
		_, page, _ := looks(t, s, attempt, personKey)
		_, after, _ := strings.Cut(page, `data-process="`)
		if process, _, _ = strings.Cut(after, `"`); process == "" {
			return fmt.Errorf("no process yet")
		}
		return nil
	})
	answered := make(chan int, 1)
	go func() {
		status, _, _ := looks(t, s, attempt+"/news?after=9999&process="+process, personKey)
		answered <- status
	}()
	time.Sleep(200 * time.Millisecond) // for it to wait
	s.endsSoon()
	if got := <-answered; got != http.StatusServiceUnavailable {
		t.Errorf("the window was answered %d, want 503", got)
	}
}

func TestFilesOfTwoRepositoriesAreShownApart(t *testing.T) {
	state := lingering(t)
	for _, name := range []string{"api", "web"} {
		repo := gitRepo(t, map[string]string{"README.md": name + " of old\n"})
		done(t, t.TempDir(), "tasks", "project", "add", repo, "--name", "shop", "--repo", name, "--state", state)
	}
	done(t, t.TempDir(), "tasks", "add", "write api/README.md api of now\nwrite web/README.md web of now", "--state", state)
	s := overSocket(t, "--tools", "work", "--state", state)
	_, board, _ := looks(t, s, "/work", personKey)
	_, after, _ := strings.Cut(board, `href="/work/tasks/`)
	task, _, _ := strings.Cut(after, `"`)
	_, _, attempt := presses(t, s, "/work/tasks/"+task, url.Values{"act": {"start"}, "agent": {"fake"}})
	eventually(t, "the end", func() error {
		_, page, _ := looks(t, s, attempt, personKey)
		for _, line := range []string{"api of <mark>old</mark></td>", "web of <mark>old</mark></td>"} {
			if n := strings.Count(page, line); n != 1 {
				return fmt.Errorf("%q is there %d times, want once:\n%s", line, n, page)
			}
		}
		return nil
	})
}

// A link that lets a browser in does so once, whichever server of the store it
// is opened at.
func TestALinkThatWasUsedLetsNobodyInElsewhere(t *testing.T) {
	state := filepath.Join(t.TempDir(), "state")
	first, second := overSocket(t, "--tools", "ask", "--state", state), overSocket(t, "--tools", "work", "--state", state)
	link, err := url.Parse(web.People{Key: personKey}.LoginLink("http://127.0.0.1", "/"))
	if err != nil {
		t.Fatal(err)
	}
	path, home := link.RequestURI(), "Host: "+link.Host
	if status, _ := first.sends("GET", path, "", home); status != http.StatusSeeOther {
		t.Fatalf("the link: %d, want to be let in", status)
	}
	for name, s := range map[string]*socket{"there": first, "elsewhere": second} {
		if status, _ := s.sends("GET", path, "", home); status != http.StatusUnauthorized {
			t.Errorf("the same link %s: %d, want 401", name, status)
		}
	}
}
