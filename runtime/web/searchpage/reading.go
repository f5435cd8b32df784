package searchpage

import (
	"net/url"
	"regexp"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
)

// reading is the section with its neighbours, or the page, that is being read.
type reading struct {
	Title, Path string
	Parts       []part
	Outline     []link
	Next        string // address of the rest of a truncated text
	// Wider and Alone are addresses with more neighbours and without any. They are
	// empty if they would change nothing.
	Wider, Alone, Whole, Close string
}

// part is one of its sections.
type part struct {
	ID, Lines, Text string
	Place           string // "2 of 5"
	Target          bool
	Read            string // address, only for neighbours
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

// In an answer, a line separates two sections. In a section's text, a line of that
// form is escaped with a backslash.
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
			one.Text = escaped.ReplaceAllString(strings.TrimSpace(texts[i]), "$1")
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
