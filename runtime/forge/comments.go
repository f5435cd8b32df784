package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Comment is a reviewer's comment on a pull request. Its texts come from strangers.
type Comment struct {
	ID     string // unique in its pull request
	Author string
	Path   string // empty for a comment on the whole pull request
	Line   int    // 0 if it belongs to no line, or to one that is gone
	Quote  string // the commented lines, if the forge reports them
	Text   string
	URL    string
}

// Limits of the comments that are read: 1,000 threads or reviews of a pull request.
const (
	pageOfComments  = 100 // GitLab's maximum
	mostCommentPage = 10
	// A page of GitHub has 50 threads of up to 50 comments, each with its part of the
	// patch, because an answer may have mostAnswer bytes.
	mostThreadPage = 20
	// pageOfGitea is Gitea's usual maximum. A server may be set to less: a page that is
	// not full is the last one only if an earlier one had more entries.
	pageOfGitea = 50
)

// Comments returns the unresolved review comments of a pull request, oldest first, from
// its first 1,000 threads and reviews. With
// gh and glab, it uses their access to the API; for Gitea, it needs a token. Faults:
// those of Open.
func (c *Client) Comments(ctx context.Context, p Place, pull Pull) ([]Comment, error) {
	if program := c.program(p); program != "" && p.Kind != Gitea {
		return commentsBy(ctx, program, p, pull.Number)
	}
	f, err := c.api(ctx, p)
	if err != nil {
		return nil, err
	}
	return f.comments(ctx, pull.Number)
}

// commentsBy reads the comments with gh or glab.
func commentsBy(ctx context.Context, program string, p Place, number int) (found []Comment, err error) {
	if p.Kind == GitHub {
		return gitHubPages(p, number, func(query string, variables map[string]any, into any) error {
			args := []string{"api", "graphql", "--hostname", p.Host, "-f", "query=" + query}
			for _, name := range slices.Sorted(maps.Keys(variables)) {
				flag := "-f"
				if name == "number" {
					flag = "-F"
				}
				args = append(args, flag, fmt.Sprintf("%s=%v", name, variables[name]))
			}
			out, said, err := runProgram(ctx, program, args)
			if err == nil {
				err = json.Unmarshal([]byte(out), into)
			}
			if err != nil {
				return programFault(p, said, err)
			}
			return nil
		})
	}
	return gitLabPages(func(page int, into any) error {
		at := fmt.Sprintf("projects/%s/merge_requests/%d/discussions?per_page=%d&page=%d", url.PathEscape(p.Path), number, pageOfComments, page)
		out, said, err := runProgram(ctx, program, []string{"api", "--hostname", p.Host, at})
		if err == nil {
			err = json.Unmarshal([]byte(out), into)
		}
		if err != nil {
			return programFault(p, said, err)
		}
		return nil
	})
}

// gitHubThreads asks for a page of the review threads and reviews of a pull request.
// GitHub's REST API does not tell which threads are resolved.
const gitHubThreads = `query($owner: String!, $name: String!, $number: Int!, $threads: String, $reviews: String) { repository(owner: $owner, name: $name) { pullRequest(number: $number) {
reviewThreads(first: 50, after: $threads) { ` + gitHubPage + ` nodes { id isResolved comments(first: 50) { ` + gitHubPage + ` nodes { ` + gitHubFields + ` } } } }
reviews(first: 50, after: $reviews, states: [CHANGES_REQUESTED, COMMENTED]) { ` + gitHubPage + ` nodes { id author { login } body url } } } } }`

// gitHubThread asks for more comments of one thread.
const gitHubThread = `query($thread: ID!, $comments: String) { node(id: $thread) { ... on PullRequestReviewThread {
comments(first: 50, after: $comments) { ` + gitHubPage + ` nodes { ` + gitHubFields + ` } } } } }`

const (
	gitHubPage   = "pageInfo { hasNextPage endCursor }"
	gitHubFields = "id author { login } path line originalLine diffHunk body url"
)

// gitHubList is a page of a list.
type gitHubList[T any] struct {
	Page struct {
		More bool   `json:"hasNextPage"`
		End  string `json:"endCursor"`
	} `json:"pageInfo"`
	Nodes []T `json:"nodes"`
}

// gitHubReview is the answer to gitHubThreads and gitHubThread.
type gitHubReview struct {
	Data struct {
		Repository struct {
			Pull struct {
				Threads gitHubList[struct {
					ID       string                    `json:"id"`
					Resolved bool                      `json:"isResolved"`
					Comments gitHubList[gitHubComment] `json:"comments"`
				}] `json:"reviewThreads"`
				Reviews gitHubList[gitHubComment] `json:"reviews"`
			} `json:"pullRequest"`
		} `json:"repository"`
		Node struct {
			Comments gitHubList[gitHubComment] `json:"comments"`
		} `json:"node"`
	} `json:"data"`
	Errors []struct {
		Message string `json:"message"`
	} `json:"errors"`
}

type gitHubComment struct {
	ID     string `json:"id"`
	Author struct {
		Login string `json:"login"`
	} `json:"author"`
	Path         string `json:"path"`
	Line         int    `json:"line"`
	OriginalLine int    `json:"originalLine"`
	Hunk         string `json:"diffHunk"`
	Body         string `json:"body"`
	URL          string `json:"url"`
}

// gitHubPages reads all pages of a pull request's reviews and threads.
func gitHubPages(p Place, number int, read func(query string, variables map[string]any, into any) error) ([]Comment, error) {
	ask := func(query string, variables map[string]any) (answer gitHubReview, err error) {
		if err = read(query, variables, &answer); err == nil && len(answer.Errors) > 0 {
			err = fault.New(ForgeRefused, "the forge reported: "+textutil.Shorten(textutil.OneLine(answer.Errors[0].Message), 300), "fix the reported problem and retry")
		}
		return answer, err
	}
	var whole, lines []Comment // of the pull request, and of its lines
	owner, name, _ := strings.Cut(p.Path, "/")
	variables := map[string]any{"owner": owner, "name": name, "number": number}
	for range mostThreadPage {
		answer, err := ask(gitHubThreads, variables)
		if err != nil {
			return nil, err
		}
		pull := answer.Data.Repository.Pull
		for _, one := range pull.Reviews.Nodes {
			if strings.TrimSpace(one.Body) != "" {
				whole = append(whole, Comment{ID: one.ID, Author: one.Author.Login, Text: one.Body, URL: one.URL})
			}
		}
		for _, thread := range pull.Threads.Nodes {
			if thread.Resolved {
				continue
			}
			for page, left := thread.Comments, mostCommentPage; ; left-- {
				for _, one := range page.Nodes {
					lines = append(lines, Comment{one.ID, one.Author.Login, one.Path, one.Line, lastOf(one.Hunk), one.Body, one.URL})
				}
				if !page.Page.More || left == 0 {
					break
				}
				more, err := ask(gitHubThread, map[string]any{"thread": thread.ID, "comments": page.Page.End})
				if err != nil {
					return nil, err
				}
				page = more.Data.Node.Comments
			}
		}
		if !pull.Threads.Page.More && !pull.Reviews.Page.More {
			break
		}
		for at, end := range map[string]string{"threads": pull.Threads.Page.End, "reviews": pull.Reviews.Page.End} {
			if end != "" { // an empty page after the last one has none
				variables[at] = end
			}
		}
	}
	return append(whole, lines...), nil
}

// lastOf returns the last line of a part of a patch, which is the one commented on,
// without its mark.
func lastOf(hunk string) string {
	hunk = strings.TrimRight(hunk, "\n")
	line := hunk[strings.LastIndexByte(hunk, '\n')+1:]
	if strings.HasPrefix(line, "@@") || line == "" {
		return ""
	}
	return line[1:]
}

func (g gitHub) comments(ctx context.Context, number int) ([]Comment, error) {
	w := g.wire
	if base, ok := strings.CutSuffix(w.place.API, "/api/v3"); ok { // a server of one's own
		w.place.API = base + "/api"
	}
	return gitHubPages(g.place, number, func(query string, variables map[string]any, into any) error {
		return w.call(ctx, http.MethodPost, "/graphql", map[string]any{"query": query, "variables": variables}, into)
	})
}

// gitLabDiscussion is a discussion of a merge request.
type gitLabDiscussion struct {
	Notes []struct {
		ID     int    `json:"id"`
		System bool   `json:"system"`
		Body   string `json:"body"`
		Author struct {
			Name string `json:"username"`
		} `json:"author"`
		Resolvable bool `json:"resolvable"`
		Resolved   bool `json:"resolved"`
		Position   *struct {
			NewPath string `json:"new_path"`
			OldPath string `json:"old_path"`
			NewLine int    `json:"new_line"`
		} `json:"position"`
	} `json:"notes"`
}

// gitLabPages reads all pages of a merge request's discussions.
func gitLabPages(read func(page int, into any) error) (found []Comment, err error) {
	for page := 1; page <= mostCommentPage; page++ {
		var all []gitLabDiscussion
		if err := read(page, &all); err != nil {
			return nil, err
		}
		for _, d := range all {
			for _, n := range d.Notes {
				if n.System || !n.Resolvable || n.Resolved { // what is not resolvable is no review
					continue
				}
				one := Comment{ID: strconv.Itoa(n.ID), Author: n.Author.Name, Text: n.Body}
				if n.Position != nil {
					if one.Path, one.Line = n.Position.NewPath, n.Position.NewLine; one.Path == "" {
						one.Path = n.Position.OldPath
					}
				}
				found = append(found, one)
			}
		}
		if len(all) < pageOfComments {
			break
		}
	}
	return found, nil
}

func (g gitLab) comments(ctx context.Context, number int) ([]Comment, error) {
	return gitLabPages(func(page int, into any) error {
		return g.call(ctx, http.MethodGet, fmt.Sprintf("%s/%d/discussions?per_page=%d&page=%d", g.requests(), number, pageOfComments, page), nil, into)
	})
}

func (g gitea) comments(ctx context.Context, number int) (found []Comment, err error) {
	at := fmt.Sprintf("%s/pulls/%d/reviews", g.repo(), number)
	type person struct {
		Login string `json:"login"`
	}
	for page, full := 1, 0; page <= mostThreadPage; page++ {
		var reviews []struct {
			ID       int    `json:"id"`
			User     person `json:"user"`
			Body     string `json:"body"`
			State    string `json:"state"`
			URL      string `json:"html_url"`
			Comments int    `json:"comments_count"`
		}
		if err := g.call(ctx, http.MethodGet, fmt.Sprintf("%s?limit=%d&page=%d", at, pageOfGitea, page), nil, &reviews); err != nil {
			return nil, err
		}
		for _, r := range reviews {
			if text := strings.TrimSpace(r.Body); text != "" && r.State != "APPROVED" && r.State != "PENDING" {
				found = append(found, Comment{ID: "review-" + strconv.Itoa(r.ID), Author: r.User.Login, Text: r.Body, URL: r.URL})
			}
			if r.Comments == 0 || r.State == "PENDING" {
				continue
			}
			var all []struct {
				ID       int     `json:"id"`
				User     person  `json:"user"`
				Body     string  `json:"body"`
				Path     string  `json:"path"`
				Line     int     `json:"position"`
				Hunk     string  `json:"diff_hunk"`
				URL      string  `json:"html_url"`
				Resolver *person `json:"resolver"`
			}
			if err := g.call(ctx, http.MethodGet, fmt.Sprintf("%s/%d/comments", at, r.ID), nil, &all); err != nil {
				return nil, err
			}
			for _, one := range all {
				if one.Resolver == nil {
					found = append(found, Comment{strconv.Itoa(one.ID), one.User.Login, one.Path, one.Line, lastOf(one.Hunk), one.Body, one.URL})
				}
			}
		}
		if full = max(full, len(reviews)); len(reviews) < full || full == 0 {
			break
		}
	}
	return found, nil
}
