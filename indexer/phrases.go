package indexer

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
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

// Phrases are everyday phrasings of chunks. A chunk is found by them too; nothing
// shows them.
type Phrases struct {
	// Of has the phrases by chunk id.
	Of map[string][]string
	// Digests has, by chunk id, what deskhand phrases noted of the chunk when it
	// wrote the line. Absent: a person wrote it.
	Digests map[string]string

	file  string
	lines map[string]int // of the ids, the first where an id comes twice
}

// PhrasesPath returns the file of phrases that a build with o reads. Empty: none.
// Faults: those of a metadata.json that o names, and "bad_metadata".
func PhrasesPath(o Options) (string, error) {
	if o.PhrasesPath != "" {
		return o.PhrasesPath, nil
	}
	a, _, err := findAbout(o.Dir, o.MetadataPath)
	if err != nil || a == nil || a.phrases == "" {
		return "", err
	}
	file := filepath.Join(a.dir, filepath.FromSlash(a.phrases))
	if outside(a.dir, file) {
		return "", fault.New("bad_metadata", fmt.Sprintf("%s names %s, which leads outside of its folder", a.file, file), "name a file below the folder of metadata.json")
	}
	return file, nil
}

// readPhrases gives the pages the phrases of their chunks. A file that
// metadata.json names and that cannot be read is a problem, one that the caller
// names a fault.
func (b *build) readPhrases() error {
	file := b.options.PhrasesPath
	if file == "" && b.about.phrases != "" {
		file = filepath.Join(b.about.dir, filepath.FromSlash(b.about.phrases))
		if reason := unfitPhrases(b.about.dir, file); reason != "" {
			b.note([]Problem{{b.about.file, b.about.phrasesLine, "phrases: " + reason}})
			return nil
		}
	}
	if file == "" {
		return nil
	}
	p, problems, err := ReadPhrases(file)
	if err != nil && b.options.PhrasesPath == "" {
		b.note([]Problem{{b.about.file, b.about.phrasesLine, "phrases: " + fault.Of(err).Message}})
		return nil
	}
	b.note(problems)
	b.phrases = p
	b.phrases.spread(b.byPath)
	return err
}

// unfitPhrases says why a file that a metadata.json in dir names is not read;
// empty: it is. A corpus may come from anyone, and its links may lead anywhere.
func unfitPhrases(dir, file string) string {
	if _, err := os.Stat(file); err != nil {
		return fmt.Sprintf("%s cannot be read: %s", file, cause(err))
	}
	if outside(dir, file) {
		return file + " is not used: it leads outside of its folder"
	}
	return ""
}

// ReadPhrases reads a file of phrases, a JSON object a line. What is wrong with a
// line is a problem, and the line counts as absent. Fault "no_phrases": the file
// cannot be read.
func ReadPhrases(file string) (Phrases, []Problem, error) {
	src, err := readFile(file, maxPhrasesBytes, nil)
	if err != nil {
		return Phrases{}, nil, fault.New("no_phrases", fmt.Sprintf("the phrases in %s cannot be read: %s", file, cause(err)),
			"name a file of JSON lines with --phrases, or omit it")
	}
	p, problems := ParsePhrases(file, src)
	return p, problems, nil
}

// ParsePhrases is ReadPhrases of a file that was read.
func ParsePhrases(file string, src []byte) (Phrases, []Problem) {
	p := Phrases{file: file, Of: map[string][]string{}, Digests: map[string]string{}, lines: map[string]int{}}
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
	return p, problems
}

// add takes one line; reason says what is wrong with it.
func (p *Phrases) add(line []byte, n int) (reason string) {
	var given struct {
		ID      *string  `json:"chunk_id"`
		Phrases []string `json:"phrases"`
		Digest  string   `json:"digest"`
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
		if given.Digest != "" {
			p.Digests[id] = given.Digest
		}
	}
	for _, phrase := range given.Phrases {
		phrase = strings.Join(strings.Fields(phrase), " ")
		switch {
		case phrase == "" || !utf8.ValidString(phrase):
			reason = fmt.Sprintf("a phrase of '%s' is not used: it is blank", shorten(id))
		case len(phrase) > maxPhraseBytes:
			reason = fmt.Sprintf("a phrase of '%s' is not used: it has more than %d bytes", shorten(id), maxPhraseBytes)
		case slices.Contains(p.Of[id], phrase):
		case len(p.Of[id]) == maxPhrases:
			reason = fmt.Sprintf("'%s' has more than %d phrases: the first %d are used", shorten(id), maxPhrases, maxPhrases)
		default:
			p.Of[id] = append(p.Of[id], phrase)
		}
	}
	return reason
}

// spread gives the pages the phrases of their chunks.
func (p *Phrases) spread(byPath map[string]*page) {
	for id, list := range p.Of {
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
func (p *Phrases) stale(known map[string]bool) []Problem {
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
