package forge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
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

// Limits of the comments that are read.
const (
	pageOfComments  = 100
	mostCommentPage = 10
)

// Comments returns the unresolved review comments of a pull request, oldest first. With
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
		owner, name, _ := strings.Cut(p.Path, "/")
		out, said, err := runProgram(ctx, program, []string{"api", "graphql", "--hostname", p.Host, "-f", "query=" + gitHubThreads, "-f", "owner=" + owner, "-f", "name=" + name, "-F", "number=" + strconv.Itoa(number)})
		var answer gitHubReview
		if err == nil {
			err = json.Unmarshal([]byte(out), &answer)
		}
		if err != nil {
			return nil, programFault(p, said, err)
		}
		return answer.comments()
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

// gitHubThreads asks for the review threads and reviews of a pull request. GitHub's REST
// API does not tell which threads are resolved.
const gitHubThreads = `query($owner: String!, $name: String!, $number: Int!) { repository(owner: $owner, name: $name) { pullRequest(number: $number) {
reviewThreads(first: 100) { nodes { isResolved comments(first: 50) { nodes { id author { login } path line originalLine diffHunk body url } } } }
reviews(last: 50, states: [CHANGES_REQUESTED, COMMENTED]) { nodes { id author { login } body url } } } } }`

// gitHubReview is the answer to gitHubThreads.
type gitHubReview struct {
	Data struct {
		Repository struct {
			Pull struct {
				Threads struct {
					Nodes []struct {
						Resolved bool `json:"isResolved"`
						Comments struct {
							Nodes []gitHubComment `json:"nodes"`
						} `json:"comments"`
					} `json:"nodes"`
				} `json:"reviewThreads"`
				Reviews struct {
					Nodes []gitHubComment `json:"nodes"`
				} `json:"reviews"`
			} `json:"pullRequest"`
		} `json:"repository"`
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

func (r gitHubReview) comments() (found []Comment, err error) {
	if len(r.Errors) > 0 {
		return nil, fault.New(ForgeRefused, "the forge reported: "+textutil.Shorten(textutil.OneLine(r.Errors[0].Message), 300), "fix the reported problem and retry")
	}
	pull := r.Data.Repository.Pull
	for _, one := range pull.Reviews.Nodes {
		if strings.TrimSpace(one.Body) != "" {
			found = append(found, Comment{ID: one.ID, Author: one.Author.Login, Text: one.Body, URL: one.URL})
		}
	}
	for _, thread := range pull.Threads.Nodes {
		for _, one := range thread.Comments.Nodes {
			if !thread.Resolved {
				found = append(found, Comment{one.ID, one.Author.Login, one.Path, one.Line, lastOf(one.Hunk), one.Body, one.URL})
			}
		}
	}
	return found, nil
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
	owner, name, _ := strings.Cut(g.place.Path, "/")
	w := g.wire
	if base, ok := strings.CutSuffix(w.place.API, "/api/v3"); ok { // a server of one's own
		w.place.API = base + "/api"
	}
	var answer gitHubReview
	in := map[string]any{"query": gitHubThreads, "variables": map[string]any{"owner": owner, "name": name, "number": number}}
	if err := w.call(ctx, http.MethodPost, "/graphql", in, &answer); err != nil {
		return nil, err
	}
	return answer.comments()
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
	for page := 1; page <= mostCommentPage; page++ {
		var reviews []struct {
			ID       int    `json:"id"`
			User     person `json:"user"`
			Body     string `json:"body"`
			State    string `json:"state"`
			URL      string `json:"html_url"`
			Comments int    `json:"comments_count"`
		}
		const most = 50 // Gitea's usual limit
		if err := g.call(ctx, http.MethodGet, fmt.Sprintf("%s?limit=%d&page=%d", at, most, page), nil, &reviews); err != nil {
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
		if len(reviews) < most {
			break
		}
	}
	return found, nil
}
