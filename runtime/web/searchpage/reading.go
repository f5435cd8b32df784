package searchpage

import (
	"html/template"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/web/page"
)

// reading is the text that is being read: a section with its neighbours, or a
// page.
type reading struct {
	Title, Path string
	Parts       []part
	Outline     []link
	Next        string // address of the rest of a truncated text
	// Wider is the address of the same section with more neighbours, and Alone
	// is its address without neighbours. Each is empty if it would change
	// nothing.
	Wider, Alone, Whole, Close string
}

// part is one section of the text that is being read.
type part struct {
	ID, Lines string
	Text      template.HTML
	Place     string // position in the page, for example "2 of 5"
	Target    bool
	Read      string // address of the section; set only for neighbours
}

// doc is the structured answer of get_doc.
type doc struct {
	Filepath string `json:"filepath"`
	Title    string `json:"title"`
	Chunks   []struct {
		ChunkID  string `json:"chunk_id"`
		Position int    `json:"position"`
		Total    int    `json:"total"`
		Target   bool   `json:"target"`
		Lines    string `json:"lines"`
	} `json:"chunks"`
	Outline []struct {
		ChunkID string `json:"chunk_id"`
		Heading string `json:"heading"`
	} `json:"outline"`
	Next string `json:"next"`
}

// In an answer, sections are separated by a line of this form. If a section's
// text contains such a line, a backslash escapes it.
var (
	between = regexp.MustCompile(`(?m)^--- Chunk: .+ \(Chunk \d+ of \d+\) \((?:Target|Context: [+-]\d+)\) ---\n?`)
	escaped = regexp.MustCompile(`(?m)^\\(\\*--- Chunk: )`)
)

// mostAround is the maximum number of neighbours that get_doc returns on each side.
const mostAround = 5

func readDoc(answer contract.Result, asked url.Values) (*reading, error) {
	var d doc
	if err := structured(answer, &d); err != nil {
		return nil, err
	}
	r := &reading{Title: d.Title, Path: d.Filepath, Close: with(asked, "read", "")}
	texts := between.Split(strings.Join(answer.Text, "\n"), -1)
	texts = texts[min(1, len(texts)):]
	for i, c := range d.Chunks {
		one := part{ID: c.ChunkID, Lines: c.Lines, Target: c.Target, Place: strconv.Itoa(c.Position) + " of " + strconv.Itoa(c.Total)}
		if i < len(texts) {
			one.Text = page.Linked(escaped.ReplaceAllString(strings.TrimSpace(texts[i]), "$1"), func(to string) string { return d.follow(to, asked) })
		}
		if !c.Target {
			one.Read = with(asked, "read", c.ChunkID) + "#reading"
		}
		r.Parts = append(r.Parts, one)
	}
	for _, o := range d.Outline {
		r.Outline = append(r.Outline, link{o.Heading, with(asked, "read", o.ChunkID) + "#reading"})
	}
	if d.Next != "" {
		r.Next = with(asked, "read", d.Next) + "#reading"
	}
	if strings.Contains(asked.Get("read"), "#") {
		r.Whole = with(asked, "read", d.Filepath) + "#reading"
		around, err := strconv.Atoi(asked.Get("around"))
		if err != nil {
			around = 1
		}
		if around < mostAround {
			r.Wider = with(asked, "around", strconv.Itoa(around+1)) + "#reading"
		}
		if around > 0 {
			r.Alone = with(asked, "around", "0") + "#reading"
		}
	}
	return r, nil
}

// follow returns the address for reading the page to which a link in the docs leads:
// another Markdown file, or a section of the same file that the outline has. It
// returns "" for all other links.
func (d *doc) follow(to string, asked url.Values) string {
	u, err := url.Parse(to)
	if err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(u.Path, "/") {
		return ""
	}
	if u.Path == "" {
		for _, o := range d.Outline {
			if u.Fragment != "" && (strings.HasSuffix(o.ChunkID, "#"+u.Fragment) || strings.HasSuffix(o.ChunkID, "/"+u.Fragment)) {
				return with(asked, "read", o.ChunkID) + "#reading"
			}
		}
		return ""
	}
	file := path.Join(path.Dir(d.Filepath), u.Path)
	if strings.HasPrefix(file, "../") || !slices.Contains([]string{".md", ".mdx", ".markdown"}, path.Ext(file)) {
		return ""
	}
	return with(asked, "read", file) + "#reading"
}
