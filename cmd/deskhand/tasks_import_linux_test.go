package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// gitHubIssues is a server with the issues of acme/shop that answers like GitHub's REST
// API, version 2022-11-28, to those who send its token.
type gitHubIssues struct {
	mu     sync.Mutex
	titles []string // issue n has titles[n-1]
	closed map[int]bool
}

func (g *gitHubIssues) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r.URL.Path != "/api/v3/repos/acme/shop/issues" || r.Header.Get("Authorization") != "Bearer issues-token-1" {
		w.WriteHeader(http.StatusNotFound)
		fmt.Fprintln(w, `{"message":"Not Found"}`)
		return
	}
	var page int
	fmt.Sscan(r.URL.Query().Get("page"), &page)
	list := []map[string]any{}
	for i, title := range g.titles {
		if state := map[bool]string{false: "open", true: "closed"}[g.closed[i+1]]; state == "open" || r.URL.Query().Get("state") == "all" {
			list = append(list, map[string]any{"number": i + 1, "title": title, "body": "Body of " + title, "state": state})
		}
	}
	start := min((page-1)*100, len(list))
	_ = json.NewEncoder(w).Encode(list[start:min(start+100, len(list))])
}

// The issues of a GitHub server become tasks over its REST API, with the token that was
// stored for its host: once, with links back, and without losing what was changed here.
func TestIssuesOfAGitHubServerBecomeTasks(t *testing.T) {
	g := &gitHubIssues{closed: map[int]bool{2: true}}
	for n := range 102 {
		g.titles = append(g.titles, fmt.Sprintf("Issue %d", n+1))
	}
	server := httptest.NewTLSServer(g)
	t.Cleanup(server.Close)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", ca)
	t.Setenv("PATH", pathWithout(t, "gh"))
	t.Setenv("DESKHAND_STATE", lingering(t))
	repo := gitRepo(t, map[string]string{"README.md": "# Shop\n"})
	done(t, repo, "tasks", "project", "add", ".", "--name", "shop")
	host := strings.TrimPrefix(server.URL, "https://")

	got := deskhand(t, repo, "tasks", "import", server.URL+"/acme/shop")
	if got.code != 1 || !strings.Contains(got.stderr, "answered 404: Not Found") || !strings.Contains(got.stderr, "deskhand connect "+host) {
		t.Errorf("without a token: %+v", got)
	}
	if got := fed(t, repo, "issues-token-1", "connect", host); got.code != 0 {
		t.Fatalf("connect: %+v", got)
	}
	type outcomes struct {
		DryRun bool `json:"dry_run"`
		Items  []struct {
			Source, Outcome, Title string
			TaskID                 string `json:"task_id"`
		}
	}
	imported := func(args ...string) (counts map[string]int, all outcomes) {
		t.Helper()
		out := done(t, repo, append([]string{"tasks", "import", server.URL + "/acme/shop", "--json"}, args...)...)
		if err := json.Unmarshal([]byte(out), &all); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		counts = map[string]int{}
		for _, i := range all.Items {
			counts[i.Outcome]++
		}
		return counts, all
	}
	want := func(what string, counts, want map[string]int) {
		t.Helper()
		if !maps.Equal(counts, want) {
			t.Errorf("%s: %v, want %v", what, counts, want)
		}
	}
	counts, _ := imported("--dry-run")
	want("a dry run", counts, map[string]int{"created": 101})
	counts, all := imported()
	want("the first import", counts, map[string]int{"created": 101})
	first := all.Items[0]
	if out := done(t, repo, "tasks", "show", first.TaskID); !strings.Contains(out, "Body of Issue 1") || !strings.Contains(out, "Imported from "+server.URL+"/acme/shop/issues/1") {
		t.Errorf("the task:\n%s", out)
	}
	counts, _ = imported()
	want("again", counts, map[string]int{"unchanged": 101})

	done(t, repo, "tasks", "set", first.TaskID, "--title", "Ours")
	done(t, repo, "tasks", "rm", all.Items[1].TaskID)
	g.mu.Lock()
	g.titles[0], g.titles[3], g.closed[5] = "Theirs", "Issue four", true
	g.mu.Unlock()
	counts, _ = imported("--closed")
	want("after changes on both sides", counts, map[string]int{"created": 1, "kept": 1, "deleted": 1, "updated": 2, "unchanged": 97})
	counts, _ = imported("--closed")
	want("and again", counts, map[string]int{"kept": 1, "deleted": 1, "unchanged": 100})

	var exported struct {
		Tasks []struct{ Title, Status, Source string }
	}
	if err := json.Unmarshal([]byte(done(t, repo, "tasks", "export")), &exported); err != nil || len(exported.Tasks) != 101 {
		t.Fatalf("exported %d tasks, %v", len(exported.Tasks), err)
	}
	for _, one := range exported.Tasks {
		source, title, status := strings.TrimPrefix(one.Source, host+"/acme/shop#"), one.Title, "todo"
		switch source {
		case "1":
			title = "Ours"
		case "4":
			title = "Issue four"
		case "2", "5":
			status = "done"
		}
		if one.Title != title || one.Status != status || source == one.Source {
			t.Errorf("exported %+v", one)
		}
	}
	if got := fmt.Sprint(deskhand(t, repo, "tasks", "export").stdout, done(t, repo, "connections")); strings.Contains(got, "issues-token") {
		t.Error("the token is shown")
	}
}
