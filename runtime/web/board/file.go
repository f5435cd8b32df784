package board

import (
	"context"
	"net/http"
	"path"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
	"github.com/deskhand/deskhand/runtime/tasks/worktree"
	"github.com/deskhand/deskhand/runtime/web/diff"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// shown specifies which lines of a file are shown in addition to its changes.
// It selects gaps by the number of their first line, or all lines.
type shown struct {
	Gaps []string
	All  bool
	At   anchor // lines on which a person wants to comment
	Line anchor // lines to which a link leads
	Of   string // digest of those lines when the link was made; empty if unknown
}

// fileBody holds a file's lines, or a note that explains why there are none.
type fileBody struct {
	*reviewFile
	Rows     []fileRow
	Note     string // shown instead of lines
	Was, Is  string // addresses of the old and new picture; empty if there are none
	More     bool   // whether some lines are not shown
	Outdated []*remark
	// Link leads to the lines that the address names, in words Line. Lost says that they
	// have changed.
	Link, Line, Lost string
	here             anchor
}

// fileRow is a line with its comments.
type fileRow struct {
	diff.Row
	Src     string // for a gap: the address that shows the gap's lines
	Remarks []*remark
	First   bool // whether a link leads to it
	Here    bool // whether it is among the lines to which a link leads
}

// Classes returns the row's CSS classes.
func (r fileRow) Classes() string {
	if r.Here {
		return strings.TrimSpace(r.Class() + " here")
	}
	return r.Class()
}

// OldAt and NewAt return the line's name in addresses, for example o12 and n12.
func (r fileRow) OldAt() string { return "o" + strconv.Itoa(r.Row.Old) }
func (r fileRow) NewAt() string { return "n" + strconv.Itoa(r.Row.New) }

// pictures maps the file extensions that are shown as pictures to their content
// types.
var pictures = map[string]string{".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp", ".avif": "image/avif", ".ico": "image/x-icon"}

// bodyOf reads a file's lines.
func (b *Board) bodyOf(ctx context.Context, m *tasks.Manager, f *reviewFile, s shown) (*fileBody, error) {
	d, mark, ok, err := m.ReviewFile(ctx, f.query(), f.Path)
	if err != nil {
		return nil, err
	}
	if !ok {
		return &fileBody{reviewFile: f, Note: "It is unchanged."}, nil
	}
	f.Mark = mark
	return bodyFrom(f, d, s), nil
}

// bodyFrom returns the lines of a compared file.
func bodyFrom(f *reviewFile, d worktree.Diff, s shown) *fileBody {
	body := &fileBody{reviewFile: f}
	f.Change = tasks.Change{Path: d.Path, OldPath: d.OldPath, Kind: d.Kind, Added: max(d.Added, f.Added), Deleted: max(d.Deleted, f.Deleted), Binary: d.Binary, Bytes: d.Bytes}
	in := diff.Input{Name: d.Path, Patch: d.Patch, Old: d.Old, New: d.New, All: s.All, Open: map[int]bool{}, Clean: page.Clean}
	for _, g := range s.Gaps {
		if n, err := strconv.Atoi(g); err == nil {
			in.Open[n] = true
		}
	}
	old, now := diff.Lines(d.Old), diff.Lines(d.New)
	if s.Line.First > 0 {
		body.point(&in, s, old, now)
	}
	rows := diff.Rows(in)
	switch {
	case d.Cut:
		body.Note = "It has more changed lines than a page can show; use \"deskhand tasks diff\"."
	case d.Binary:
		body.picture(d.Old != nil, d.New != nil)
	case len(rows) == 0 && d.Kind == "renamed":
		body.Note = "It was renamed; its contents are unchanged."
	case len(rows) == 0 && f.NoSpace:
		body.Note = "Only white space has changed."
	case len(rows) == 0:
		body.Note = "It is empty, or only its mode has changed."
	}
	if f.Split {
		rows = diff.Beside(rows)
	}
	first := true
	for _, row := range rows {
		r := fileRow{Row: row, Here: body.here.covers(row)}
		r.First, first = r.Here && first, first && !r.Here
		body.More = body.More || row.Long()
		if row.Gap > 0 {
			r.Src = f.at("/file", "path", f.Path, "open", strings.Join(append(s.Gaps, strconv.Itoa(row.New)), ","))
			body.More = true
		}
		body.Rows = append(body.Rows, r)
	}
	body.place(d.Patch, old, now, s.At)
	return body
}

// picture shows a file that has no lines, as a picture or as a note that the
// file is binary.
func (body *fileBody) picture(was, is bool) {
	if pictures[strings.ToLower(path.Ext(body.Path))] == "" {
		body.Note = "A binary file, " + size(body.Bytes) + "."
		return
	}
	if was {
		body.Was = body.at("/blob", "path", body.Path, "side", "old")
	}
	if is {
		body.Is = body.at("/blob", "path", body.Path, "side", "new")
	}
}

// size formats a number of bytes for people.
func size(n int64) string {
	switch {
	case n < 10_000:
		return strconv.FormatInt(n, 10) + " bytes"
	case n < 10_000_000:
		return strconv.FormatInt(n/1000, 10) + " kB"
	}
	return strconv.FormatInt(n/1_000_000, 10) + " MB"
}

// Whole returns the address that shows all of the file's lines.
func (f *reviewFile) Whole() string { return f.at("/file", "path", f.Path, "context", "all") }

// Size returns the file's current size.
func (f *reviewFile) Size() string { return size(f.Bytes) }

// fileView is the page of one file.
type fileView struct {
	*fileBody
	Title          string
	Previous, Next *reviewFile
}

// Lines returns the data for the file's lines.
func (v fileView) Lines() *fileBody { return v.fileBody }

// oneFile shows a file. It answers with a page, or with a part of the page for
// the script.
func (b *Board) oneFile(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	ctx, id := r.Context(), r.PathValue("id")
	l := b.lookOf(w, r, id)
	task, err := m.Context(ctx, id)
	if err != nil {
		return err
	}
	t, err := b.talkOf(ctx, m, l)
	if err != nil {
		return err
	}
	name := r.FormValue("path")
	f := &reviewFile{Change: tasks.Change{Path: name}, look: l, ID: "file", Open: true, Talk: t.on(name)}
	s := shown{All: r.FormValue("context") == "all", At: anchorOf(r.Form["at"]), Line: anchorOf(r.Form["line"]), Of: r.FormValue("of")}
	see := r.FormValue("see") != "" // the button for a link to a line
	if see {
		s.Line, s.At = s.At, anchor{}
	}
	if gaps := r.FormValue("open"); gaps != "" {
		s.Gaps = strings.Split(gaps, ",")
	}
	part := r.Header.Get("Deskhand-Part") != ""
	v := fileView{Title: task.Task.Title}
	if !part {
		all, err := m.Review(ctx, l.query())
		if err != nil && fault.Of(err) == nil {
			return err
		}
		for i, c := range all.Files {
			if c.Path == name {
				f.Change, f.Viewed = c, all.Viewed[name]
				v.Previous, v.Next = neighbour(l, all.Files, i-1), neighbour(l, all.Files, i+1)
			}
		}
	}
	if v.fileBody, err = b.bodyOf(ctx, m, f, s); err != nil {
		return err
	}
	if see && v.Link != "" {
		return back(w, r, v.Link)
	}
	if part {
		b.options.Shell.Write(w, r, http.StatusOK, b.file, "body", page.Page{Data: v.fileBody})
		return nil
	}
	b.write(w, r, http.StatusOK, b.file, page.Clean(path.Base(name))+": "+v.Title, v)
	return nil
}

func neighbour(l look, files []tasks.Change, i int) *reviewFile {
	if i < 0 || i >= len(files) {
		return nil
	}
	return &reviewFile{Change: files[i], look: l}
}

// blob sends a picture from an attempt, either its old or its new version. It
// sends no other kind of file, because an agent's file must not become a page
// of this server.
func (b *Board) blob(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	l := b.lookOf(w, r, r.PathValue("id"))
	name := r.FormValue("path")
	kind := pictures[strings.ToLower(path.Ext(name))]
	d, _, ok, err := m.ReviewFile(r.Context(), l.query(), name)
	if err != nil {
		return err
	}
	data := d.New
	if r.FormValue("side") == "old" {
		data = d.Old
	}
	if !ok || kind == "" || data == nil {
		http.NotFound(w, r)
		return nil
	}
	h := w.Header()
	h.Set("Content-Type", kind)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, no-cache")
	_, _ = w.Write(data) // ignore the error: the client may be gone
	return nil
}

// setViewed marks a file as viewed or not viewed.
func (b *Board) setViewed(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	mark := r.PostFormValue("mark")
	if r.PostFormValue("act") != "viewed" {
		mark = ""
	}
	if err := m.SetViewed(r.Context(), r.PathValue("id"), r.PostFormValue("path"), mark); err != nil {
		return err
	}
	if r.Header.Get("Deskhand-Part") != "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	to := page.Local(r.PostFormValue("back"))
	if to == "" {
		to = AttemptPath(r.PathValue("id"))
	}
	return back(w, r, to)
}
