package board

import (
	"context"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

const (
	// foldedLines is the number of changed lines at which a file is initially
	// folded.
	foldedLines = 400
	// inlineLines is the maximum number of changed lines in a page. The script
	// loads the other files when they come into view. Without the script, links
	// show them.
	inlineLines = 250
	// maxInline is the maximum number of files whose lines are in a page.
	maxInline = 20
)

// look is the way in which a person views changes. It comes from the address
// and a cookie.
type look struct {
	Attempt string
	Token   string // token for forms
	With    string // see [tasks.ReviewQuery]
	Split   bool   // whether both sides are next to each other
	NoSpace bool   // whether changes of white space are omitted
	Force   bool   // whether changes are shown even if there are too many
}

// lookCookie is the cookie with a person's preferred view: "split" or "unified".
const lookCookie = "deskhand_look"

func (b *Board) lookOf(w http.ResponseWriter, r *http.Request, attempt string) look {
	l := look{Attempt: attempt, Token: b.options.Shell.Token(w, r), With: r.FormValue("with"), NoSpace: r.FormValue("space") == "off", Force: r.FormValue("all") != ""}
	given := r.FormValue("view")
	if given == "" {
		if c, err := r.Cookie(lookCookie); err == nil {
			given = c.Value
		}
	} else {
		http.SetCookie(w, &http.Cookie{Name: lookCookie, Value: map[bool]string{true: "split", false: "unified"}[given == "split"],
			Path: Path, HttpOnly: true, Secure: b.options.Shell.Secure(r), SameSite: http.SameSiteStrictMode, MaxAge: 400 * 24 * 3600})
	}
	l.Split = given == "split"
	return l
}

func (l look) query() tasks.ReviewQuery {
	return tasks.ReviewQuery{AttemptID: l.Attempt, With: l.With, Force: l.Force, NoSpace: l.NoSpace}
}

// at returns the address of a page about the attempt. The page keeps the same
// view. more holds additional query parameters as pairs.
func (l look) at(page string, more ...string) string {
	q := url.Values{}
	for name, value := range map[string]string{"with": l.With, "space": map[bool]string{true: "off"}[l.NoSpace], "all": map[bool]string{true: "1"}[l.Force]} {
		if value != "" {
			q.Set(name, value)
		}
	}
	for i := 0; i+1 < len(more); i += 2 {
		if more[i+1] != "" {
			q.Set(more[i], more[i+1])
		}
	}
	address := AttemptPath(l.Attempt) + page
	if len(q) > 0 {
		address += "?" + q.Encode()
	}
	return address
}

// Page returns the address of the attempt's page without any comparison.
func (l look) Page() string { return AttemptPath(l.Attempt) }

// reviewView holds an attempt's changes.
type reviewView struct {
	look
	Count, Added, Deleted, Seen int
	Why                         string // the reason why the changes are not shown; empty if they are shown
	CanForce                    bool   // whether there are too many changes, but they may be shown anyway
	Away                        string // which other machine has the work; empty if none has
	Nested                      []string
	Files                       []*reviewFile
	Tree                        *node
	Withs                       []choice // the commits with which the changes can be compared
	Truncated                   bool
	Talk                        talk // the comments
}

// reviewFile is a changed file.
type reviewFile struct {
	tasks.Change
	look
	ID     string // ID of the file's element
	Mark   string // digest of the file's content
	Viewed bool
	Open   bool      // whether the file is unfolded
	Body   *fileBody // nil if the body is loaded when needed
	Talk   talk      // the comments on the file
}

// Src returns the address of the file's lines.
func (f *reviewFile) Src() string { return f.at("/file", "path", f.Path) }

// Back returns the address of the file's position on the attempt's page.
func (f *reviewFile) Back() string { return f.at("") + "#" + f.ID }

// node is a folder or a file in the file tree.
type node struct {
	Name string
	File *reviewFile // nil for a folder
	Kids []*node
}

// reviewing starts to list the changes in the background. It returns a function
// that waits for the result.
func (b *Board) reviewing(ctx context.Context, m *tasks.Manager, l look) func() (tasks.Review, error) {
	type result struct {
		tasks.Review
		error
	}
	done := make(chan result, 1)
	go func() {
		q := l.query()
		q.Show = inline()
		found, err := m.Review(ctx, q)
		done <- result{found, err}
	}()
	return func() (tasks.Review, error) {
		r := <-done
		return r.Review, r.error
	}
}

// inline returns a function that selects the files whose lines are in the page
// itself.
func inline() func(tasks.Change, bool) bool {
	left, files := inlineLines, maxInline
	return func(c tasks.Change, viewed bool) bool {
		if viewed || folded(c) {
			return false
		}
		left -= c.Added + c.Deleted + 1
		files--
		return left > 0 && files >= 0
	}
}

// folded reports whether a file is initially folded because of its size.
func folded(c tasks.Change) bool { return c.Added+c.Deleted >= foldedLines }

// reviewOf returns an attempt's review. A person can compare the attempt with
// other attempts at the same task.
func (b *Board) reviewOf(ctx context.Context, m *tasks.Manager, l look, taskID string, review func() (tasks.Review, error)) (v reviewView, err error) {
	v.look = l
	found, err := review()
	if f := fault.Of(err); f != nil {
		v.Why = f.Message
		return v, nil
	}
	if err != nil {
		return v, err
	}
	if found.Away != nil {
		v.Away = found.Away.String()
	}
	v.Count, v.Added, v.Deleted, v.Nested, v.Truncated = found.Count, found.Added, found.Deleted, found.Nested, found.Truncated
	if found.Blocked.Reason != "" {
		v.Why, v.CanForce = found.Blocked.Detail, found.Blocked.Reason == "threshold_exceeded"
		if v.CanForce {
			v.Why = "There are too many changes to list."
		}
	}
	if v.Withs, err = b.withs(ctx, m, l, taskID); err != nil {
		return v, err
	}
	if v.Talk, err = b.talkOf(ctx, m, l); err != nil {
		return v, err
	}
	for i, c := range found.Files {
		f := &reviewFile{Change: c, look: l, ID: "f" + strconv.Itoa(i), Mark: found.Marks[c.Path], Viewed: found.Viewed[c.Path], Talk: v.Talk.on(c.Path)}
		f.Open = !f.Viewed && !folded(c)
		if f.Viewed {
			v.Seen++
		}
		if d, ok := found.Diffs[c.Path]; ok {
			f.Body = bodyFrom(f, d, shown{})
		}
		v.Files = append(v.Files, f)
	}
	v.Tree = treeOf(v.Files)
	return v, nil
}

// withs returns the menu of things with which an attempt can be compared.
func (b *Board) withs(ctx context.Context, m *tasks.Manager, l look, taskID string) ([]choice, error) {
	list := []choice{{"", "where it started", l.With == ""}, {tasks.AgainstTarget, "its current target", l.With == tasks.AgainstTarget}}
	attempts, err := m.Attempts(ctx, taskID)
	if err != nil {
		return nil, err
	}
	for i, a := range attempts {
		if a.ID != l.Attempt {
			list = append(list, choice{a.ID, "attempt " + strconv.Itoa(len(attempts)-i) + ", " + a.Branch, l.With == a.ID})
		}
	}
	return list, nil
}

// treeOf arranges files in their folders. If a folder contains only one folder
// and nothing else, treeOf joins the two into one node.
func treeOf(files []*reviewFile) *node {
	top := &node{}
	for _, f := range files {
		at := top
		folder, name := path.Split(f.Path)
		for part := range strings.SplitSeq(strings.Trim(folder, "/"), "/") {
			if i := slices.IndexFunc(at.Kids, func(n *node) bool { return n.File == nil && n.Name == part }); i >= 0 {
				at = at.Kids[i]
				continue
			}
			next := &node{Name: part}
			at.Kids = append(at.Kids, next)
			at = next
		}
		at.Kids = append(at.Kids, &node{Name: name, File: f})
	}
	top.join()
	return top
}

func (n *node) join() {
	for _, kid := range n.Kids {
		for kid.File == nil && len(kid.Kids) == 1 && kid.Kids[0].File == nil {
			kid.Name, kid.Kids = kid.Name+"/"+kid.Kids[0].Name, kid.Kids[0].Kids
		}
		kid.join()
	}
}
