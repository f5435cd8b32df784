package board

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/web/diff"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// anchor identifies the lines to which a comment refers. The zero value means
// no lines.
type anchor struct {
	Old         bool // whether the lines are those of the old version
	First, Last int
}

// anchorOf parses line numbers in the form used in addresses: 12, n12, o12 or
// n12-15. The last valid one in given applies.
func anchorOf(given []string) (a anchor) {
	for _, text := range given {
		text = strings.ReplaceAll(strings.TrimSpace(text), " ", "")
		if text == "" {
			continue
		}
		side := strings.TrimLeft(text, "no")
		from, to, _ := strings.Cut(side, "-")
		first, err := strconv.Atoi(from)
		last, _ := strconv.Atoi(strings.TrimLeft(to, "no")) // 0 for a single line
		if err == nil && first > 0 {
			a = anchor{strings.HasPrefix(text, "o"), first, max(first, last)}
			if last > 0 {
				a.First = min(first, last)
			}
		}
	}
	return a
}

// remark is a comment in the form in which the page shows it.
type remark struct {
	tasks.Comment
	look
	// Touched reports whether the lines, or the lines that replace them, have
	// changed or have been removed since the comment was written.
	Touched bool
	New     bool   // whether the comment is not written yet
	Line    string // address of its lines; empty if they are not in the file
}

// Where describes the lines to which the comment refers.
func (r *remark) Where() string { return whereOf(r.Comment) }

func whereOf(c tasks.Comment) string {
	text := "line " + strconv.Itoa(c.First)
	switch {
	case c.First == 0:
		text = "the file"
	case c.Last > c.First:
		text = fmt.Sprintf("lines %d to %d", c.First, c.Last)
	}
	if c.Old {
		text += " before the change"
	}
	return text
}

// Back returns the address of the comment's position on the attempt's page.
func (r *remark) Back() string { return r.at("") + "#c-" + r.ID }

// Draft reports whether the comment can still be changed.
func (r *remark) Draft() bool { return r.Sent.IsZero() }

// talk holds the comments on an attempt or on one file.
type talk struct{ Remarks []*remark }

func (b *Board) talkOf(ctx context.Context, m *tasks.Manager, l look) (t talk, err error) {
	found, err := m.Comments(ctx, l.Attempt)
	for _, c := range found {
		t.Remarks = append(t.Remarks, &remark{Comment: c, look: l})
	}
	return t, err
}

func (t talk) on(path string) (part talk) {
	for _, r := range t.Remarks {
		if r.Path == path {
			part.Remarks = append(part.Remarks, r)
		}
	}
	return part
}

// Drafts returns the number of comments that have text and have not been sent.
func (t talk) Drafts() (n int) {
	for _, r := range t.Remarks {
		if r.Draft() && strings.TrimSpace(r.Body) != "" {
			n++
		}
	}
	return n
}

// Elsewhere returns the comments on files that are not among the changed files.
func (v reviewView) Elsewhere() (left []*remark) {
	known := map[string]bool{}
	for _, f := range v.Files {
		known[f.Path] = true
	}
	for _, r := range v.Talk.Remarks {
		if !known[r.Path] {
			r.Touched = true
			left = append(left, r)
		}
	}
	return left
}

// place attaches the comments to their current lines. If a comment's lines were
// not found, the comment comes first.
func (body *fileBody) place(patch string, old, now []string, at anchor) {
	// opposite identifies what replaces old lines. Other comparisons have other
	// patches, so it is unknown there.
	opposite := func(c tasks.Comment, first int) string {
		if !c.Old || body.With != "" || body.NoSpace {
			return ""
		}
		return diff.Opposite(patch, first, first+c.Last-c.First)
	}
	remarks := body.Talk.Remarks
	if at.First > 0 {
		lines := now
		if at.Old {
			lines = old
		}
		c := tasks.Comment{ID: tasks.NewID(), AttemptID: body.Attempt, Path: body.Path, Old: at.Old, First: at.First, Last: min(at.Last, len(lines))}
		if c.First <= c.Last {
			c.Quote, c.Opposite = strings.Join(lines[c.First-1:c.Last], "\n"), opposite(c, c.First)
			remarks = append(remarks, &remark{Comment: c, look: body.look, New: true})
		}
	}
	for _, r := range remarks {
		lines := now
		if r.Old {
			lines = old
		}
		quote := strings.Split(r.Quote, "\n")
		line := diff.Find(lines, quote, r.First)
		r.Touched = line == 0 && r.First > 0
		if line > 0 && r.Opposite != "" {
			if now := opposite(r.Comment, line); now != "" {
				r.Touched = now != r.Opposite
			}
		}
		if line > 0 {
			r.Line = body.linkTo(body.Path, anchor{r.Old, line, line + len(quote) - 1}, quote)
		}
		if line == 0 || !body.attach(r, line+len(quote)-1) {
			body.Outdated = append(body.Outdated, r)
		}
	}
}

func (body *fileBody) attach(r *remark, line int) bool {
	for i := range body.Rows {
		row := &body.Rows[i]
		if row.Gap == 0 && (r.Old && row.Row.Old == line || !r.Old && row.Row.New == line) {
			row.Remarks = append(row.Remarks, r)
			return true
		}
	}
	return false
}

// comment saves or deletes a draft. It answers the script with JSON.
func (b *Board) comment(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	id, name := r.PathValue("id"), r.PostFormValue("path")
	number := func(field string) int {
		n, _ := strconv.Atoi(r.PostFormValue(field)) // 0 for the whole file
		return n
	}
	c := tasks.Comment{ID: r.PostFormValue("comment"), AttemptID: id, Path: name, Old: r.PostFormValue("side") == "old",
		First: number("first"), Last: number("last"), Quote: strings.ReplaceAll(r.PostFormValue("quote"), "\r\n", "\n"), Opposite: r.PostFormValue("opposite"),
		Body: strings.ReplaceAll(r.PostFormValue("body"), "\r\n", "\n"), Rev: int64(number("rev"))}
	part := r.Header.Get("Deskhand-Part") != ""
	var err error
	if r.PostFormValue("act") == "drop" {
		err = m.DropComment(r.Context(), id, c.ID)
	} else {
		c, err = m.PutComment(r.Context(), c)
	}
	if f := fault.Of(err); part && f != nil {
		return b.json(w, http.StatusConflict, map[string]any{"message": page.Sentence(f.Message), "body": c.Body, "rev": c.Rev, "sent": !c.Sent.IsZero()})
	}
	if err != nil {
		return err
	}
	if part {
		return b.json(w, http.StatusOK, map[string]any{"id": c.ID, "rev": c.Rev})
	}
	to := page.Local(r.PostFormValue("back"))
	return back(w, r, cmp.Or(to, AttemptPath(id)))
}

func (b *Board) json(w http.ResponseWriter, status int, v any) error {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	return json.NewEncoder(w).Encode(v)
}

// talkNews answers when another person has changed a comment or has viewed a
// file, or after a timeout.
func (b *Board) talkNews(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	ctx, cancel := context.WithTimeout(r.Context(), newsWait)
	defer cancel()
	defer context.AfterFunc(b.stopped, cancel)()
	id := r.PathValue("id")
	seq, err := strconv.ParseInt(r.FormValue("seq"), 10, 64)
	first := err != nil
	if first {
		seq = -1
	}
	watcher, err := m.Watch(ctx, seq, id)
	if errors.Is(err, tasks.ErrGone) { // the page was asleep for days
		first = true
		watcher, err = m.Watch(ctx, -1, id)
	}
	if err != nil {
		return err
	}
	defer watcher.Close()
	for news := first; !news; {
		events, err := watcher.Next(ctx)
		if err != nil {
			break // no answer yet, or the server is stopping
		}
		for _, e := range events {
			seq, news = e.Seq, news || e.Type == tasks.ReviewChanged
		}
	}
	t, err := b.talkOf(r.Context(), m, look{Attempt: id})
	if err != nil {
		return err
	}
	viewed, err := m.Viewed(r.Context(), id)
	if err != nil {
		return err
	}
	type one struct {
		ID, Path, Body string
		Rev            int64
		Sent           bool
	}
	list := []one{}
	for _, c := range t.Remarks {
		list = append(list, one{c.ID, c.Path, c.Body, c.Rev, !c.Sent.IsZero()})
	}
	return b.json(w, http.StatusOK, map[string]any{"seq": max(seq, 0), "drafts": t.Drafts(), "comments": list, "viewed": viewed})
}

// withComments returns a message that includes a review's drafts, each with its
// file, lines and quote. alone reports whether the attempt has only one
// repository, which is then the agent's working folder.
func withComments(message string, drafts []tasks.Comment, alone bool) string {
	var b strings.Builder
	b.WriteString(message)
	for i, c := range drafts {
		if i == 0 {
			b.WriteString("\n\nComments on your changes:")
		}
		name := c.Path
		if _, below, ok := strings.Cut(name, "/"); ok && alone {
			name = below
		}
		fmt.Fprintf(&b, "\n\n%d. `%s`, %s\n", i+1, name, whereOf(c))
		if c.First > 0 {
			b.WriteString("\n   > " + strings.ReplaceAll(c.Quote, "\n", "\n   > ") + "\n")
		}
		b.WriteString("\n   " + strings.ReplaceAll(strings.TrimSpace(c.Body), "\n", "\n   "))
	}
	return strings.TrimSpace(b.String())
}

// sayWithComments sends a message with the review's drafts to the agent, and
// records that the drafts were sent. It derives the request ID from the drafts.
// If the server is killed in between and the request is repeated, nothing is
// therefore sent twice.
func (b *Board) sayWithComments(ctx context.Context, m *tasks.Manager, how string, q tasks.FollowUpRequest) error {
	all, err := m.Comments(ctx, q.AttemptID)
	if err != nil {
		return err
	}
	a, err := m.Attempt(ctx, q.AttemptID)
	if err != nil {
		return err
	}
	sum := sha256.New()
	var drafts []tasks.Comment
	for _, c := range all {
		if c.Sent.IsZero() && strings.TrimSpace(c.Body) != "" {
			drafts = append(drafts, c)
			fmt.Fprintln(sum, c.ID, c.Rev)
		}
	}
	if len(drafts) > 0 {
		fmt.Fprintln(sum, how, q.Prompt)
		q.RequestID = "review-" + hex.EncodeToString(sum.Sum(nil)[:16])
		q.Prompt = withComments(q.Prompt, drafts, len(a.Repos) == 1)
	}
	if err := b.tell(ctx, m, how, q); err != nil || len(drafts) == 0 {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second) // continue even if the person has left
	defer cancel()
	return m.SentComments(ctx, q.AttemptID, drafts)
}
