// Package forgetest provides a forge for tests. It answers over HTTP like the
// documented APIs of GitHub (2022-11-28), GitLab (v4) and Gitea (v1), as far as pull
// requests require.
package forgetest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// Token is the token that the forge accepts.
const Token = "forge-token-1a2b3c"

// Forge hosts one repository, acme/shop, on a forge of each kind. Its API is at URL
// followed by /github, /gitlab or /gitea.
type Forge struct {
	URL string

	mu    sync.Mutex
	pulls []*Pull
	calls []string
}

// Pull is a pull request as stored by the forge.
type Pull struct {
	Number                    int
	Kind                      string
	Head, Base, Title, Body   string
	Draft, Merged, Closed     bool
	Check, Review, ReviewedBy string // in the forge's own terms
	Comments                  []Comment
}

// Comment is a reviewer's comment on a line.
type Comment struct {
	Author, Path, Quote, Text string
	Line                      int
	Resolved                  bool
}

// New starts a forge that stops at the end of the test.
func New(t testing.TB) *Forge {
	f := &Forge{}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.URL = server.URL
	return f
}

// Pulls returns copies of the opened pull requests.
func (f *Forge) Pulls() (all []Pull) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.pulls {
		all = append(all, *p)
	}
	return all
}

// Change changes a pull request, as a person would on the forge.
func (f *Forge) Change(number int, do func(*Pull)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f.pulls[number-1])
}

// Calls returns the received requests, for example "POST
// /github/repos/acme/shop/pulls".
func (f *Forge) Calls() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]string{}, f.calls...)
}

type object = map[string]any

// ServeHTTP implements [http.Handler].
func (f *Forge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, r.Method+" "+r.URL.EscapedPath())
	kind, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.EscapedPath(), "/"), "/")
	sent := map[string]string{"github": r.Header.Get("Authorization"), "gitlab": r.Header.Get("Private-Token"), "gitea": r.Header.Get("Authorization")}[kind]
	want := map[string]string{"github": "Bearer " + Token, "gitlab": Token, "gitea": "token " + Token}[kind]
	repo := map[string]string{"github": "repos/acme/shop/", "gitlab": "projects/acme%2Fshop/", "gitea": "repos/acme/shop/"}[kind]
	switch path, ours := strings.CutPrefix(rest, repo); {
	case want == "" || sent != want:
		answer(w, http.StatusUnauthorized, object{"message": "Bad credentials"})
	case kind == "github" && rest == "graphql":
		f.threads(w, r)
	case !ours:
		answer(w, http.StatusNotFound, object{"message": "Not Found"})
	case path == "pulls" || path == "merge_requests":
		f.list(w, r, kind)
	case strings.HasPrefix(path, "commits/"):
		f.commit(w, kind, path)
	default:
		f.one(w, r, kind, path)
	}
}

// pageOf returns the page that a request asks for, as the REST APIs cut their lists.
// Gitea's servers give at most 30 entries if they are set so, whatever is asked for.
func pageOf(r *http.Request, kind string, all []object) []object {
	number := func(name string, otherwise int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil && n > 0 {
			return n
		}
		return otherwise
	}
	size := min(number("per_page", map[string]int{"github": 30, "gitlab": 20}[kind]), 100)
	if kind == "gitea" {
		size = min(number("limit", 30), 30)
	}
	start := min((number("page", 1)-1)*size, len(all))
	return all[start:min(start+size, len(all))]
}

func answer(w http.ResponseWriter, status int, what any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(what) // an error means that the client has disconnected
}

// list opens a pull request, or lists the open pull requests.
func (f *Forge) list(w http.ResponseWriter, r *http.Request, kind string) {
	if r.Method == http.MethodGet {
		head := strings.TrimPrefix(r.URL.Query().Get("head"), "acme:") + r.URL.Query().Get("source_branch")
		found := []object{}
		for _, p := range f.pulls {
			if p.Kind == kind && !p.Merged && !p.Closed && (head == "" || p.Head == head) {
				found = append(found, p.as(f.URL))
			}
		}
		answer(w, http.StatusOK, pageOf(r, kind, found))
		return
	}
	var in struct {
		Title, Head, Base, Body, Description string
		Draft                                bool
		Source                               string `json:"source_branch"`
		Target                               string `json:"target_branch"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Title == "" {
		answer(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{{"field": "title", "code": "missing_field"}}})
		return
	}
	p := &Pull{Number: len(f.pulls) + 1, Kind: kind, Head: in.Head + in.Source, Base: in.Base + in.Target, Title: in.Title, Body: in.Body + in.Description, Draft: in.Draft}
	for prefix, of := range map[string]string{"Draft: ": "gitlab", "WIP: ": "gitea"} {
		p.Draft = p.Draft || kind == of && strings.HasPrefix(in.Title, prefix)
	}
	for _, old := range f.pulls {
		if old.Kind != kind || old.Head != p.Head || old.Merged || old.Closed {
			continue
		}
		switch kind {
		case "github":
			answer(w, http.StatusUnprocessableEntity, object{"message": "Validation Failed", "errors": []object{{"resource": "PullRequest", "code": "custom", "message": "A pull request already exists for acme:" + p.Head + "."}}})
		case "gitlab":
			answer(w, http.StatusConflict, object{"message": []string{fmt.Sprintf("Another open merge request already exists for this source branch: !%d", old.Number)}})
		default:
			answer(w, http.StatusConflict, object{"message": "pull request already exists for these targets"})
		}
		return
	}
	f.pulls = append(f.pulls, p)
	answer(w, http.StatusCreated, p.as(f.URL))
}

// one serves a pull request, or its reviews or approvals.
func (f *Forge) one(w http.ResponseWriter, r *http.Request, kind, path string) {
	parts := strings.Split(path, "/")
	n, err := strconv.Atoi(parts[min(1, len(parts)-1)])
	if err != nil || n < 1 || n > len(f.pulls) || f.pulls[n-1].Kind != kind {
		answer(w, http.StatusNotFound, object{"message": "Not Found"})
		return
	}
	p := f.pulls[n-1]
	switch {
	case len(parts) == 2:
		answer(w, http.StatusOK, p.as(f.URL))
	case kind == "gitlab" && parts[2] == "discussions":
		answer(w, http.StatusOK, pageOf(r, kind, p.discussions()))
	case kind == "gitea" && len(parts) == 5:
		answer(w, http.StatusOK, p.reviewComments(parts[3]))
	case parts[2] == "reviews":
		answer(w, http.StatusOK, pageOf(r, kind, p.reviews()))
	case parts[2] == "approvals":
		by := []object{}
		if p.Review == "approved" {
			by = append(by, object{"user": object{"username": "grace"}})
		}
		answer(w, http.StatusOK, object{"approved": true, "approved_by": by}) // as if no approval were required
	default:
		answer(w, http.StatusNotFound, object{"message": "Not Found"})
	}
}

// commit serves the checks of a commit. Each commit is named after its pull
// request.
func (f *Forge) commit(w http.ResponseWriter, kind, path string) {
	parts := strings.Split(path, "/")
	n, _ := strconv.Atoi(strings.TrimPrefix(parts[1], "sha"))
	if n < 1 || n > len(f.pulls) {
		answer(w, http.StatusNotFound, object{"message": "Not Found"})
		return
	}
	word := f.pulls[n-1].Check
	switch {
	case parts[2] == "check-runs":
		runs := []object{}
		if word != "" {
			runs = append(runs, object{"status": "completed", "conclusion": word})
		}
		answer(w, http.StatusOK, object{"total_count": len(runs), "check_runs": runs})
	case kind == "github":
		answer(w, http.StatusOK, object{"state": "pending", "statuses": []object{}}) // as if there were no statuses
	default:
		statuses := []object{}
		if word != "" {
			statuses = append(statuses, object{"status": word})
		}
		answer(w, http.StatusOK, object{"state": word, "statuses": statuses})
	}
}

// as returns a pull request in the JSON form of its forge.
func (p *Pull) as(base string) object {
	if p.Kind == "gitlab" {
		state := "opened"
		if p.Merged {
			state = "merged"
		} else if p.Closed {
			state = "closed"
		}
		out := object{"iid": p.Number, "web_url": fmt.Sprintf("%s/acme/shop/-/merge_requests/%d", base, p.Number), "state": state, "draft": p.Draft, "title": p.Title, "head_pipeline": nil}
		if p.Check != "" {
			out["head_pipeline"] = object{"status": p.Check}
		}
		return out
	}
	state := "open"
	if p.Merged || p.Closed {
		state = "closed"
	}
	link, _ := url.JoinPath(base, "acme/shop/pull", strconv.Itoa(p.Number))
	return object{"number": p.Number, "html_url": link, "state": state, "draft": p.Draft, "merged": p.Merged, "title": p.Title,
		"head": object{"ref": p.Head, "sha": fmt.Sprintf("sha%d", p.Number)}}
}

// threads answers the GraphQL queries for the review threads of a pull request, and for
// more comments of one thread. A page has 50 threads or reviews, or two comments. Each comment on a line
// is a thread of its own, except that comments on the same line follow each other in one.
func (f *Forge) threads(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Query     string
		Variables struct {
			Owner, Name                        string
			Number                             int
			Threads, Reviews, Thread, Comments string
		}
	}
	v := &in.Variables
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || v.Thread == "" && (v.Owner != "acme" || v.Name != "shop" || v.Number < 1 || v.Number > len(f.pulls)) {
		answer(w, http.StatusOK, object{"data": nil, "errors": []object{{"message": "Could not resolve to a Repository"}}})
		return
	}
	var number int
	if _, err := fmt.Sscanf(v.Thread, "PRRT_%d_", &number); err != nil {
		number = v.Number
	}
	var names []string
	comments, resolved := map[string][]object{}, map[string]bool{}
	for i, c := range f.pulls[number-1].Comments {
		name := fmt.Sprintf("PRRT_%d_%s:%d", number, c.Path, c.Line)
		if comments[name] == nil {
			names = append(names, name)
		}
		resolved[name] = c.Resolved
		comments[name] = append(comments[name], object{"id": fmt.Sprintf("PRRC_%d", i), "author": object{"login": c.Author}, "path": c.Path, "line": c.Line, "originalLine": c.Line, "diffHunk": "@@ -1,1 +1,2 @@\n other\n+" + c.Quote, "body": c.Text, "url": f.URL})
	}
	if v.Thread != "" {
		answer(w, http.StatusOK, object{"data": object{"node": object{"comments": connection(comments[v.Thread], v.Comments, 2)}}})
		return
	}
	threads := []object{}
	for _, name := range names {
		threads = append(threads, object{"id": name, "isResolved": resolved[name], "comments": connection(comments[name], "", 2)})
	}
	reviews := []object{{"id": "PRR_1", "author": object{"login": "grace"}, "body": "", "url": f.URL}}
	answer(w, http.StatusOK, object{"data": object{"repository": object{"pullRequest": object{"reviewThreads": connection(threads, v.Threads, 50), "reviews": connection(reviews, v.Reviews, 50)}}}})
}

// connection returns size entries of a list after a cursor, as GraphQL connections do.
func connection(all []object, after string, size int) object {
	start, _ := strconv.Atoi(after) // 0 without a cursor
	start = min(start, len(all))
	end := min(start+size, len(all))
	page := object{"hasNextPage": end < len(all), "endCursor": nil}
	if end > start {
		page["endCursor"] = strconv.Itoa(end)
	}
	return object{"pageInfo": page, "nodes": append([]object{}, all[start:end]...)}
}

// discussions returns the comments as GitLab does.
func (p *Pull) discussions() []object {
	all := []object{{"notes": []object{{"id": 900, "system": true, "body": "added 1 commit", "author": object{"username": "bot"}}}},
		{"notes": []object{{"id": 901, "body": "a remark that is no review", "author": object{"username": "bot"}, "resolvable": false}}}}
	for i, c := range p.Comments {
		all = append(all, object{"notes": []object{{"id": i + 1, "body": c.Text, "author": object{"username": c.Author}, "resolvable": true, "resolved": c.Resolved,
			"position": object{"new_path": c.Path, "old_path": c.Path, "new_line": c.Line}}}})
	}
	return all
}

// reviews returns the reviews as GitHub and Gitea do. On Gitea, each comment belongs to
// one, with its number.
func (p *Pull) reviews() []object {
	all := []object{{"user": object{"login": "bot"}, "state": "COMMENTED"}}
	for i := range p.Comments {
		all = append(all, object{"id": i + 1, "user": object{"login": "grace"}, "state": "COMMENTED", "body": "", "comments_count": 1})
	}
	if p.Review != "" {
		all = append(all, object{"user": object{"login": "grace"}, "state": p.Review})
	}
	return all
}

// reviewComments returns the comments of a review as Gitea does.
func (p *Pull) reviewComments(review string) (all []object) {
	for i, c := range p.Comments {
		if strconv.Itoa(i+1) != review {
			continue
		}
		one := object{"id": i + 1, "user": object{"login": c.Author}, "body": c.Text, "path": c.Path, "position": c.Line, "diff_hunk": "@@ -1,1 +1,2 @@\n other\n+" + c.Quote, "resolver": nil}
		if c.Resolved {
			one["resolver"] = object{"login": "grace"}
		}
		all = append(all, one)
	}
	return all
}
