package indexer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Bounds of a file of phrases. Beyond maxPhrases or maxPhraseBytes a chunk would
// be found by its phrases rather than by what it says.
const (
	maxPhrasesBytes = 64 << 20
	maxPhrases      = 20
	maxPhraseBytes  = 300
)

// phrases are everyday phrasings of chunks, by id. A chunk is found by them too;
// nothing shows them.
type phrases struct {
	file  string
	of    map[string][]string
	lines map[string]int // of the ids, the first where an id comes twice
}

// readPhrases reads a file of phrases, a JSON object a line. What is wrong with a
// line is a problem, and the line counts as absent. Fault "no_phrases": the file
// cannot be read.
func readPhrases(file string) (phrases, []Problem, error) {
	p := phrases{file: file, of: map[string][]string{}, lines: map[string]int{}}
	if file == "" {
		return p, nil, nil
	}
	src, err := readFile(file, maxPhrasesBytes, nil)
	if err != nil {
		return p, nil, fault.New("no_phrases", fmt.Sprintf("the phrases in %s cannot be read: %s", file, cause(err)),
			"name a file of JSON lines with --phrases, or omit it")
	}
	var problems []Problem
	n := 0
	for line := range bytes.Lines(bytes.TrimPrefix(src, []byte("\ufeff"))) {
		n++
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		if reason := p.add(line, n); reason != "" {
			problems = append(problems, Problem{file, n, reason})
		}
	}
	return p, problems, nil
}

// add takes one line; reason says what is wrong with it.
func (p *phrases) add(line []byte, n int) (reason string) {
	var given struct {
		ID      *string  `json:"chunk_id"`
		Phrases []string `json:"phrases"`
	}
	decoder := json.NewDecoder(bytes.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&given); err != nil || given.ID == nil || decoder.More() {
		return `not used: the line must have the form {"chunk_id": "guides/retries.md#backoff", "phrases": ["try again later"]}`
	}
	id := *given.ID
	if _, _, err := chunker.ParseID(id); err != nil {
		return fmt.Sprintf("not used: '%s' is not a chunk id", shorten(id))
	}
	if p.lines[id] == 0 {
		p.lines[id] = n
	}
	for _, phrase := range given.Phrases {
		phrase = strings.Join(strings.Fields(phrase), " ")
		switch {
		case phrase == "" || !utf8.ValidString(phrase):
			reason = fmt.Sprintf("a phrase of '%s' is not used: it is blank", shorten(id))
		case len(phrase) > maxPhraseBytes:
			reason = fmt.Sprintf("a phrase of '%s' is not used: it has more than %d bytes", shorten(id), maxPhraseBytes)
		case slices.Contains(p.of[id], phrase):
		case len(p.of[id]) == maxPhrases:
			reason = fmt.Sprintf("'%s' has more than %d phrases: the first %d are used", shorten(id), maxPhrases, maxPhrases)
		default:
			p.of[id] = append(p.of[id], phrase)
		}
	}
	return reason
}

// spread gives the pages the phrases of their chunks.
func (p *phrases) spread(byPath map[string]*page) {
	for id, list := range p.of {
		path, _, _ := chunker.ParseID(id) // checked when it was read
		if on := byPath[path]; on != nil {
			if on.phrases == nil {
				on.phrases = map[string][]string{}
			}
			on.phrases[id] = list
		}
	}
}

// stale are the lines whose chunk is not among those known.
func (p *phrases) stale(known map[string]bool) []Problem {
	var problems []Problem
	for _, id := range slices.Sorted(maps.Keys(p.lines)) {
		if !known[id] {
			problems = append(problems, Problem{p.file, p.lines[id], fmt.Sprintf("stale: no chunk has the id '%s'", shorten(id))})
		}
	}
	return problems
}

// ofChunks are the phrases of a page's chunks, as artifact.Document has them.
func (p *page) ofChunks(chunks []chunker.Chunk) [][]string {
	if len(p.phrases) == 0 {
		return nil
	}
	all := make([][]string, len(chunks))
	for i, c := range chunks {
		all[i] = p.phrases[c.ID]
	}
	return all
}
