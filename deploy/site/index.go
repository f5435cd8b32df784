package main

import (
	"bytes"
	"encoding/json"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/corpus"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/manual"
)

// The fields of a section, and how much a word in each of them counts.
const (
	fieldTitle = iota
	fieldHeading
	fieldDescription
	fieldBody
	fields
)

var weights = [fields]float64{fieldTitle: 2, fieldHeading: 3, fieldDescription: 1, fieldBody: 1}

// The parameters of BM25: saturation counts how fast more occurrences of a word count less,
// and lengths how much long fields lose.
const (
	saturation = 1.2
	lengths    = 0.5
)

// mostSnippet is the length of a hit's text, in characters.
const mostSnippet = 180

// The script in static/site.js reads an index.
type index struct {
	// Pages lists the name, file and title of each page.
	Pages [][3]string `json:"pages"`
	// Sections lists the page, anchor, heading and first words of each section.
	Sections [][4]any `json:"sections"`
	// Terms has the sections of each term: their numbers, each minus the one before, and how
	// much the term counts there, as base-36 numbers in turn.
	Terms map[string]string `json:"terms"`
	// Words has the term of each word that differs from its term.
	Words map[string]string `json:"words"`
}

// section is a chunk of the manual with the number of times that each term occurs in its
// fields.
type section struct {
	counts [fields]map[string]int
	length [fields]int
}

// indexer collects an index.
type indexer struct {
	index
	analyzer artifact.Analyzer
	sections []section
}

// searchIndex returns the search index, as a script that a page loads on its first search: a
// page from a disk may load scripts, but not data.
func searchIndex() ([]byte, error) {
	x := indexer{index: index{Words: map[string]string{}, Terms: map[string]string{}}}
	for number, p := range manual.Pages() {
		source, err := corpus.Files.ReadFile(p.Path)
		if err != nil {
			return nil, err
		}
		x.Pages = append(x.Pages, [3]string{p.Name, fileOf(p.Name), p.Title})
		x.page(number, p, source)
	}
	x.weigh()
	var b bytes.Buffer
	b.WriteString("deskhandIndex(")
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(x.index); err != nil {
		return nil, err
	}
	b.WriteString(")\n")
	return b.Bytes(), nil
}

// sections returns a page's chunks, split in the same way as for "deskhand docs".
func sections(p manual.Page, source []byte) []chunker.Chunk {
	return chunker.Split(p.Path, source, chunker.Options{By: chunker.H2}).Chunks
}

// page adds a page's sections.
func (x *indexer) page(number int, p manual.Page, source []byte) {
	for i, c := range sections(p, source) {
		anchor := ""
		if _, fragment, err := chunker.ParseID(c.ID); err == nil && fragment != "" && c.Level >= 2 {
			if s, ok := p.SectionOf(path.Base(fragment)); ok {
				anchor = s.Anchor
			}
		}
		heading := c.Heading
		if c.Level < 2 {
			heading = p.Title
		}
		text := strings.Join(strings.Fields(c.Text), " ")
		x.Sections = append(x.Sections, [4]any{number, anchor, heading, shortened(strings.TrimSpace(strings.TrimPrefix(text, heading)))})
		var s section
		x.count(&s, fieldTitle, p.Title)
		x.count(&s, fieldHeading, c.Breadcrumb)
		if i == 0 {
			x.count(&s, fieldDescription, p.Description+" "+p.Name)
		}
		x.count(&s, fieldBody, c.Text)
		x.sections = append(x.sections, s)
	}
}

// count adds a field's terms to a section, and its words to the index.
func (x *indexer) count(s *section, field int, text string) {
	if s.counts[field] == nil {
		s.counts[field] = map[string]int{}
	}
	for _, t := range x.analyzer.Terms(text) {
		s.counts[field][t.Text]++
		if !t.Joined {
			s.length[field]++
		}
		if word := strings.ToLower(text[t.Start:t.End]); word != t.Text {
			x.Words[word] = t.Text
		}
	}
}

func shortened(text string) string {
	if utf8.RuneCountInString(text) <= mostSnippet {
		return text
	}
	cut := string([]rune(text)[:mostSnippet])
	if at := strings.LastIndex(cut, " "); at > 0 {
		cut = cut[:at]
	}
	return strings.TrimRight(cut, " ,;:(") + " ..."
}

// weigh computes what each term counts in each section, by BM25 over the weighted fields.
func (x *indexer) weigh() {
	var mean [fields]float64
	for _, s := range x.sections {
		for f := range fields {
			mean[f] += float64(s.length[f]) / float64(len(x.sections))
		}
	}
	type posting struct {
		section int
		often   float64
	}
	postings := map[string][]posting{}
	for number, s := range x.sections {
		often := map[string]float64{}
		for f := range fields {
			for term, n := range s.counts[f] {
				often[term] += weights[f] * float64(n) / (1 - lengths + lengths*float64(s.length[f])/mean[f])
			}
		}
		for term, n := range often {
			postings[term] = append(postings[term], posting{number, n})
		}
	}
	for term, list := range postings {
		rare := math.Log(1 + (float64(len(x.sections))-float64(len(list))+0.5)/(float64(len(list))+0.5))
		slices.SortFunc(list, func(a, b posting) int { return a.section - b.section })
		var numbers []string
		before := 0
		for _, p := range list {
			score := int64(math.Round(100 * rare * p.often * (saturation + 1) / (p.often + saturation)))
			numbers = append(numbers, strconv.FormatInt(int64(p.section-before), 36), strconv.FormatInt(score, 36))
			before = p.section
		}
		x.Terms[term] = strings.Join(numbers, " ")
	}
}
