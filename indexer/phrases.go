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

// Limits on a phrases file. If there were more or longer phrases, searches would match
// the phrases of a chunk rather than its content.
const (
	maxPhrasesBytes = 64 << 20
	maxPhrases      = 20
	maxPhraseBytes  = 300
)

// Phrases are everyday phrasings of chunks. Searches match them, but no result shows
// them.
type Phrases struct {
	// Of maps chunk IDs to phrases.
	Of map[string][]string
	// Digests maps each chunk ID to the chunk digest that "deskhand phrases" wrote in
	// the chunk's line. If a person wrote the line, it has no digest.
	Digests map[string]string

	file  string
	lines map[string]int // the line of each ID, or the first line if the ID is repeated
}

// PhrasesPath returns the phrases file that a build with the options o reads, or ""
// if there is none. It returns the faults for a metadata.json named in o, and fault
// "bad_metadata".
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
		return "", fault.New("bad_metadata", fmt.Sprintf("%s sets phrases to %s, which is outside its folder", a.file, file), "use a file below the folder of metadata.json")
	}
	return file, nil
}

// readPhrases assigns the phrases in the phrases file to the pages. If the file cannot
// be read, readPhrases records a problem if metadata.json names the file, and returns a
// fault if the options name it.
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

// unfitPhrases returns the reason why a phrases file named by the metadata.json in dir
// cannot be used, or "" if it can be used. A corpus may be untrusted, and its links
// may point anywhere.
func unfitPhrases(dir, file string) string {
	if _, err := os.Stat(file); err != nil {
		return fmt.Sprintf("%s cannot be read: %s", file, cause(err))
	}
	if outside(dir, file) {
		return file + " is not used: it is outside its folder"
	}
	return ""
}

// ReadPhrases reads a phrases file, which has one JSON object per line. Invalid lines
// are skipped and reported as problems. If the file cannot be read, ReadPhrases
// returns fault "no_phrases".
func ReadPhrases(file string) (Phrases, []Problem, error) {
	src, err := readFile(file, maxPhrasesBytes, nil)
	if err != nil {
		return Phrases{}, nil, fault.New("no_phrases", fmt.Sprintf("the phrases in %s cannot be read: %s", file, cause(err)),
			"pass a JSON Lines file with --phrases, or omit it")
	}
	p, problems := ParsePhrases(file, src)
	return p, problems, nil
}

// ParsePhrases does the same as ReadPhrases, but src is the content of the file.
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

// add adds the phrases on one line. If the line is invalid, add returns the
// reason.
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
		return fmt.Sprintf("not used: '%s' is not a chunk ID", shorten(id))
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
			reason = fmt.Sprintf("a phrase of '%s' is not used: it is longer than %d bytes", shorten(id), maxPhraseBytes)
		case slices.Contains(p.Of[id], phrase):
		case len(p.Of[id]) == maxPhrases:
			reason = fmt.Sprintf("'%s' has more than %d phrases; only the first %d are used", shorten(id), maxPhrases, maxPhrases)
		default:
			p.Of[id] = append(p.Of[id], phrase)
		}
	}
	return reason
}

// spread assigns the phrases to the pages.
func (p *Phrases) spread(byPath map[string]*page) {
	for id, list := range p.Of {
		path, _, _ := chunker.ParseID(id) // ParseID already accepted id when the file was read
		if on := byPath[path]; on != nil {
			if on.phrases == nil {
				on.phrases = map[string][]string{}
			}
			on.phrases[id] = list
		}
	}
}

// stale returns a problem for each line whose chunk ID is not in known.
func (p *Phrases) stale(known map[string]bool) []Problem {
	var problems []Problem
	for _, id := range slices.Sorted(maps.Keys(p.lines)) {
		if !known[id] {
			problems = append(problems, Problem{p.file, p.lines[id], fmt.Sprintf("stale: no chunk has the ID '%s'", shorten(id))})
		}
	}
	return problems
}

// ofChunks returns the phrases of a page's chunks in the form of artifact.Document.
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
