package forge_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/forge"
	"github.com/deskhand/deskhand/runtime/forge/forgetest"
)

func TestPlacesOfRemotes(t *testing.T) {
	for _, c := range []struct {
		remote  string
		kind    forge.Kind
		api     string
		want    forge.Place
		unknown bool
	}{
		{remote: "https://github.com/acme/shop.git", want: forge.Place{Kind: forge.GitHub, Host: "github.com", Path: "acme/shop", API: "https://api.github.com"}},
		{remote: "git@github.com:acme/shop.git", want: forge.Place{Kind: forge.GitHub, Host: "github.com", Path: "acme/shop", API: "https://api.github.com"}},
		{remote: "ssh://git@gitlab.example.com:2222/team/web/shop.git", want: forge.Place{Kind: forge.GitLab, Host: "gitlab.example.com", Path: "team/web/shop", API: "https://gitlab.example.com/api/v4"}},
		{remote: "https://ada:secret@codeberg.org/acme/shop", want: forge.Place{Kind: forge.Gitea, Host: "codeberg.org", Path: "acme/shop", API: "https://codeberg.org/api/v1"}},
		{remote: "https://code.example.com/acme/shop", kind: forge.GitHub, want: forge.Place{Kind: forge.GitHub, Host: "code.example.com", Path: "acme/shop", API: "https://code.example.com/api/v3"}},
		{remote: "/srv/git/acme/shop.git", kind: forge.Gitea, api: "http://127.0.0.1:3000/api/v1/", want: forge.Place{Kind: forge.Gitea, Path: "acme/shop", API: "http://127.0.0.1:3000/api/v1", Own: true}},
		{remote: "https://gitea.example.com:3000/acme/shop", want: forge.Place{Kind: forge.Gitea, Host: "gitea.example.com:3000", Path: "acme/shop", API: "https://gitea.example.com:3000/api/v1"}},
		{remote: "https://GitHub.com:443/acme/shop", want: forge.Place{Kind: forge.GitHub, Host: "github.com", Path: "acme/shop", API: "https://api.github.com"}},
		{remote: "https://code.example.com/acme/shop", unknown: true},
		{remote: "/srv/git/shop.git", unknown: true},
		{remote: "", unknown: true},
	} {
		got, err := forge.PlaceOf(c.remote, c.kind, c.api)
		if f := fault.Of(err); c.unknown {
			if f == nil || f.Code != forge.ForgeUnknown {
				t.Errorf("PlaceOf(%q) = %+v, %v", c.remote, got, err)
			}
		} else if err != nil || got != c.want {
			t.Errorf("PlaceOf(%q) = %+v, %v; want %+v", c.remote, got, err, c.want)
		}
	}
	if got := forge.Shown("https://ada:secret@codeberg.org/acme/shop"); strings.Contains(got, "secret") {
		t.Error(got)
	}
}

func place(t *testing.T, f *forgetest.Forge, kind forge.Kind) forge.Place {
	t.Helper()
	p, err := forge.PlaceOf("/srv/acme/shop.git", kind, f.URL+"/"+string(kind))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func withToken(token string) *forge.Client {
	return &forge.Client{Token: func(context.Context, forge.Place) (string, error) { return token, nil }, Find: func(string) string { return "" }}
}

// A pull request goes from open to merged on each forge. If it is opened twice, it is
// the same one.
func TestAPullRequestOverREST(t *testing.T) {
	good := map[forge.Kind][2]string{forge.GitHub: {"success", "APPROVED"}, forge.GitLab: {"success", "approved"}, forge.Gitea: {"success", "APPROVED"}}
	bad := map[forge.Kind][2]string{forge.GitHub: {"failure", "CHANGES_REQUESTED"}, forge.GitLab: {"failed", ""}, forge.Gitea: {"failure", "REQUEST_CHANGES"}}
	for _, kind := range forge.Kinds {
		t.Run(string(kind), func(t *testing.T) {
			f := forgetest.New(t)
			p, c := place(t, f, kind), withToken(forgetest.Token)
			r := forge.Request{Branch: "deskhand/1", Target: "main", Title: "Round prices", Body: "Rounded.", Draft: true}
			made, err := c.Open(t.Context(), p, r)
			if err != nil || made.Number != 1 || made.State != forge.Open || !made.Draft || !strings.HasPrefix(made.URL, f.URL) {
				t.Fatalf("Open = %+v, %v", made, err)
			}
			has := f.Pulls()[0]
			if has.Head != "deskhand/1" || has.Base != "main" || !strings.HasSuffix(has.Title, "Round prices") || has.Body != "Rounded." || !has.Draft {
				t.Errorf("the forge has %+v", has)
			}
			if again, err := c.Open(t.Context(), p, r); err != nil || again.Number != 1 || len(f.Pulls()) != 1 {
				t.Errorf("opened twice: %+v, %v", again, err)
			}
			if now, err := c.Look(t.Context(), p, made); err != nil || now.Checks != "" || now.Review != "" {
				t.Errorf("without checks: %+v, %v", now, err)
			}
			says := func(words [2]string) { f.Change(1, func(p *forgetest.Pull) { p.Check, p.Review = words[0], words[1] }) }
			says(bad[kind])
			review := forge.ChangesRequested
			if kind == forge.GitLab { // GitLab has no such review
				review = ""
			}
			if now, err := c.Look(t.Context(), p, made); err != nil || now.Checks != forge.Failing || now.Review != review {
				t.Errorf("failing: %+v, %v", now, err)
			}
			says(good[kind])
			if now, err := c.Look(t.Context(), p, made); err != nil || now.Checks != forge.Passing || now.Review != forge.Approved || now.State != forge.Open {
				t.Errorf("passing: %+v, %v", now, err)
			}
			f.Change(1, func(p *forgetest.Pull) { p.Merged = true })
			if now, err := c.Look(t.Context(), p, made); err != nil || now.State != forge.Merged {
				t.Errorf("merged: %+v, %v", now, err)
			}
			f.Change(1, func(p *forgetest.Pull) { p.Merged, p.Closed = false, true })
			if now, err := c.Look(t.Context(), p, made); err != nil || now.State != forge.Closed {
				t.Errorf("closed: %+v, %v", now, err)
			}
		})
	}
}

// The unresolved comments come with file, line, author and, where the forge has it, the
// line's text.
func TestReviewCommentsOverREST(t *testing.T) {
	for _, kind := range forge.Kinds {
		f := forgetest.New(t)
		p, c := place(t, f, kind), withToken(forgetest.Token)
		made, err := c.Open(t.Context(), p, forge.Request{Branch: "b", Target: "main", Title: "t"})
		if err != nil {
			t.Fatal(err)
		}
		if none, err := c.Comments(t.Context(), p, made); err != nil || len(none) != 0 {
			t.Errorf("%s, no comments: %v, %v", kind, none, err)
		}
		f.Change(1, func(p *forgetest.Pull) {
			p.Comments = []forgetest.Comment{{Author: "ada", Path: "x.go", Line: 3, Text: "resolved", Resolved: true},
				{Author: "grace", Path: "shop/price.go", Line: 12, Quote: "round(x)", Text: "Half up?"}}
		})
		found, err := c.Comments(t.Context(), p, made)
		quote := map[forge.Kind]string{forge.GitLab: ""}
		want := "round(x)"
		if q, ok := quote[kind]; ok {
			want = q
		}
		if err != nil || len(found) != 1 || found[0].Author != "grace" || found[0].Path != "shop/price.go" || found[0].Line != 12 || found[0].Text != "Half up?" || found[0].Quote != want || found[0].ID == "" {
			t.Errorf("%s: %+v, %v", kind, found, err)
		}
		made.Number = 9
		if _, err := c.Comments(t.Context(), p, made); fault.Of(err) == nil || fault.Of(err).Code != forge.ForgeRefused {
			t.Errorf("%s, of no pull request: %v", kind, err)
		}
	}
}

// Each API gives its lists in pages, of which the first is not enough.
func TestAllPagesOfReviewsAreRead(t *testing.T) {
	const lines = 130
	for _, kind := range forge.Kinds {
		f := forgetest.New(t)
		p, c := place(t, f, kind), withToken(forgetest.Token)
		made, err := c.Open(t.Context(), p, forge.Request{Branch: "b", Target: "main", Title: "t"})
		if err != nil {
			t.Fatal(err)
		}
		f.Change(1, func(p *forgetest.Pull) {
			for i := range lines {
				p.Comments = append(p.Comments, forgetest.Comment{Author: "ada", Path: "x.go", Line: i + 1, Text: fmt.Sprint("remark ", i)})
			}
			for i := range 5 { // on GitHub, replies in one thread
				p.Comments = append(p.Comments, forgetest.Comment{Author: "grace", Path: "y.go", Line: 1, Text: fmt.Sprint("reply ", i)})
			}
			p.Review = map[forge.Kind]string{forge.GitHub: "APPROVED", forge.GitLab: "approved", forge.Gitea: "APPROVED"}[kind]
		})
		found, err := c.Comments(t.Context(), p, made)
		seen := map[string]bool{}
		for _, one := range found {
			seen[one.ID+one.Text] = true
		}
		if err != nil || len(found) != lines+5 || len(seen) != lines+5 || found[lines-1].Text != fmt.Sprint("remark ", lines-1) || found[lines+4].Text != "reply 4" {
			t.Errorf("%s: %d comments, %d different ones, %v; want %d", kind, len(found), len(seen), err, lines+5)
		}
		if now, err := c.Look(t.Context(), p, made); err != nil || now.Review != forge.Approved {
			t.Errorf("%s: the approval after %d other reviews is not seen: %+v, %v", kind, lines, now, err)
		}
		for i := range 70 { // more open pull requests than a page has
			if _, err := c.Open(t.Context(), p, forge.Request{Branch: fmt.Sprint("other", i), Target: "main", Title: "t"}); err != nil {
				t.Fatal(err)
			}
		}
		if again, err := c.Open(t.Context(), p, forge.Request{Branch: "other69", Target: "main", Title: "t"}); err != nil || again.Number != 71 {
			t.Errorf("%s: the open one among 71 is not found: %+v, %v", kind, again, err)
		}
	}
}

func TestReviewCommentsByTheirPrograms(t *testing.T) {
	c, args := double(t, `{"data":{"repository":{"pullRequest":{"reviewThreads":{"nodes":[{"isResolved":false,"comments":{"nodes":[{"id":"A","author":{"login":"grace"},"path":"a.go","line":2,"diffHunk":"@@ -1 +1,2 @@\n x\n+y","body":"why?"}]}}]},"reviews":{"nodes":[{"id":"R","author":{"login":"ada"},"body":"In all, good."}]}}}}}`, "", "0")
	found, err := c.Comments(t.Context(), forge.Place{Kind: forge.GitHub, Host: "github.com", Path: "acme/shop"}, forge.Pull{Number: 7})
	if err != nil || len(found) != 2 || found[0].Text != "In all, good." || found[1].Quote != "y" || !strings.HasPrefix(args(), "api|graphql|--hostname|github.com|") || !strings.Contains(args(), "number=7") {
		t.Errorf("gh: %+v, %v, %q", found, err, args())
	}
	c, args = double(t, `[{"notes":[{"id":5,"resolvable":true,"body":"why?","author":{"username":"grace"},"position":{"new_path":"a.go","new_line":2}}]}]`, "", "0")
	found, err = c.Comments(t.Context(), forge.Place{Kind: forge.GitLab, Host: "gitlab.com", Path: "acme/shop"}, forge.Pull{Number: 7})
	if err != nil || len(found) != 1 || found[0].Line != 2 || !strings.Contains(args(), "projects/acme%2Fshop/merge_requests/7/discussions") {
		t.Errorf("glab: %+v, %v, %q", found, err, args())
	}
}

func TestRefusalsOfAForge(t *testing.T) {
	f := forgetest.New(t)
	for _, kind := range forge.Kinds {
		_, err := withToken("wrong-one").Open(t.Context(), place(t, f, kind), forge.Request{Title: "t"})
		if got := fault.Of(err); got == nil || got.Code != forge.ForgeRefused || !strings.Contains(got.Message, "401") || !strings.Contains(got.Hint, "token") || strings.Contains(got.Message, "wrong-one") {
			t.Errorf("%s, a wrong token: %+v", kind, err)
		}
		_, err = withToken("").Open(t.Context(), place(t, f, kind), forge.Request{Title: "t"})
		if got := fault.Of(err); got == nil || got.Code != forge.ForgeNoToken || !strings.Contains(got.Hint, forge.TokenNames[kind][0]) {
			t.Errorf("%s, no token: %+v", kind, err)
		}
	}
	gone := place(t, f, forge.Gitea)
	gone.API = "http://127.0.0.1:1"
	_, err := withToken("x").Look(t.Context(), gone, forge.Pull{Number: 1})
	if got := fault.Of(err); got == nil || got.Code != forge.ForgeAway || !got.Retryable {
		t.Errorf("a forge that is away: %v", err)
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, f.URL+"/gitlab"+r.URL.Path, http.StatusTemporaryRedirect)
	}))
	defer elsewhere.Close()
	gone.API = elsewhere.URL
	if _, err := withToken(forgetest.Token).Look(t.Context(), gone, forge.Pull{Number: 1}); fault.Of(err) == nil || len(f.Calls()) != 3 {
		t.Errorf("a redirect was followed: %v, %v", err, f.Calls())
	}
}

// double creates a program that records its arguments, one per line, and prints the
// given output.
func double(t *testing.T, out, said string, code string) (c *forge.Client, args func() string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"out": out, "said": said} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\nprintf '%s\\n' \"$@\" > " + dir + "/args\npwd > " + dir + "/pwd\ncat " + dir + "/out\ncat " + dir + "/said >&2\nexit " + code + "\n"
	if err := os.WriteFile(filepath.Join(dir, "program"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c = &forge.Client{Find: func(string) string { return filepath.Join(dir, "program") }}
	return c, func() string {
		got, err := os.ReadFile(filepath.Join(dir, "args"))
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(strings.Split(strings.TrimSuffix(string(got), "\n"), "\n"), "|")
	}
}

func TestTheProgramsCommandLines(t *testing.T) {
	if _, err := os.Stat("/bin/sh"); err != nil {
		t.Skip("NOT TESTED: there is no /bin/sh to run the stand-in programs")
	}
	r := forge.Request{Branch: "deskhand/1", Target: "main", Title: "Round prices", Body: "Rounded.", Draft: true}
	for _, c := range []struct {
		remote, out, opens, number string
		view, looks                string
		want                       forge.Pull
	}{
		{"git@github.com:acme/shop.git", "https://github.com/acme/shop/pull/7\n",
			"pr|create|--repo|github.com/acme/shop|--head|deskhand/1|--base|main|--title|Round prices|--body|Rounded.|--draft", "7",
			`{"number":7,"url":"https://github.com/acme/shop/pull/7","state":"OPEN","isDraft":false,"reviewDecision":"APPROVED","statusCheckRollup":[{"__typename":"CheckRun","status":"COMPLETED","conclusion":"SUCCESS"},{"__typename":"StatusContext","state":"PENDING"}]}`,
			"pr|view|7|--repo|github.com/acme/shop|--json|number,url,state,isDraft,reviewDecision,statusCheckRollup",
			forge.Pull{Number: 7, URL: "https://github.com/acme/shop/pull/7", State: forge.Open, Checks: forge.Pending, Review: forge.Approved}},
		{"https://gitlab.com/team/web/shop.git", "\n!7 Round prices (deskhand/1)\n https://gitlab.com/team/web/shop/-/merge_requests/7\n\n",
			"mr|create|--repo|https://gitlab.com/team/web/shop|--source-branch|deskhand/1|--target-branch|main|--title|Round prices|--description|Rounded.|--yes|--draft", "7",
			`{"iid":7,"web_url":"https://gitlab.com/team/web/shop/-/merge_requests/7","state":"merged","draft":false,"head_pipeline":{"status":"success"}}`,
			"mr|view|7|--repo|https://gitlab.com/team/web/shop|--output|json",
			forge.Pull{Number: 7, URL: "https://gitlab.com/team/web/shop/-/merge_requests/7", State: forge.Merged, Checks: forge.Passing}},
		{"https://codeberg.org/acme/shop.git", "# #7 Round prices (open)\n\nhttps://codeberg.org/acme/shop/pulls/7\n",
			"pulls|create|--repo|acme/shop|--head|deskhand/1|--base|main|--title|WIP: Round prices|--description|Rounded.", "7", "", "", forge.Pull{}},
	} {
		p, err := forge.PlaceOf(c.remote, "", "")
		if err != nil {
			t.Fatal(err)
		}
		client, args := double(t, c.out, "", "0")
		made, err := client.Open(t.Context(), p, r)
		if err != nil || args() != c.opens || made.Number != 7 || !strings.HasSuffix(made.URL, "/7") {
			t.Errorf("%s: Open = %+v, %v\n%s\nwant\n%s", c.remote, made, err, args(), c.opens)
		}
		if c.view == "" {
			continue
		}
		client, args = double(t, c.view, "", "0")
		if now, err := client.Look(t.Context(), p, made); err != nil || now != c.want || args() != c.looks {
			t.Errorf("%s: Look = %+v, %v; want %+v\n%s\nwant\n%s", c.remote, now, err, c.want, args(), c.looks)
		}
	}
	p, _ := forge.PlaceOf("git@github.com:acme/shop.git", "", "")
	client, _ := double(t, "", "To get started with GitHub CLI, please run:  gh auth login\n", "4")
	if _, err := client.Open(t.Context(), p, r); fault.Of(err) == nil || !strings.Contains(err.Error(), "gh auth login") {
		t.Errorf("gh that is not signed in: %v", err)
	}
	client, _ = double(t, "", `a pull request for branch "deskhand/1" into branch "main" already exists:`+"\nhttps://github.com/acme/shop/pull/9\n", "1")
	if made, err := client.Open(t.Context(), p, r); err != nil || made.Number != 9 {
		t.Errorf("one that exists: %+v, %v", made, err)
	}
}
