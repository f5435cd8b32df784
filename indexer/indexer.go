// Package indexer makes an artifact of a corpus: it walks the folder, cuts its
// markdown, and writes and commits the result.
//
// What is wrong with a file is a Problem of the Report, and the file is skipped
// or taken as far as it can be read; an error means that nothing was written
// and that an older artifact is as it was. The package prints and logs nothing.
package indexer

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Options tunes Build and Check. Dir, and for Build Out, must be set; the zero
// value of the others is the default.
type Options struct {
	// Dir is the corpus.
	Dir string
	// Out is the folder of the artifact. Check does not look at it.
	Out string
	// MetadataPath is the corpus' metadata.json. Empty: the one in Dir, else the
	// one beside Dir whose "corpus" names Dir, else none.
	MetadataPath string
	// PhrasesPath is a file of everyday phrasings of chunks, which are found by
	// them too. Empty: there is none.
	PhrasesPath string
	// Description completes "Search the ...". Empty: that of metadata.json, else
	// DefaultDescription.
	Description string
	// By, MaxChars and MinChars are how files are cut where no manifest decides,
	// as in chunker.Options. Zero: as metadata.json has it, else as chunker has.
	By                 chunker.By
	MaxChars, MinChars int
	// Include and Exclude are globs over paths relative to Dir; each covers the
	// folders it matches with all in them, and one without a slash is matched
	// with each name. No Include: those of metadata.json, else all files.
	// Excludes of metadata.json are added to Exclude.
	Include, Exclude []string
	// GitIgnore keeps out what .gitignore files name, those above Dir in the
	// same checkout too. metadata.json can ask for it as well.
	GitIgnore bool
	// Strict makes any problem an error, fault code "strict".
	Strict bool
	// SearchDescription, GetDocDescription and Instructions win over the texts
	// of metadata.json and manifests. Empty: those.
	SearchDescription, GetDocDescription, Instructions string
	// Embedder makes a vector of each chunk; nil: the index has none.
	Embedder embed.Embedder
	// Progress is told how far the work is, from one goroutine at a time. It
	// should return at once. Nil: nobody is told.
	Progress func(Progress)
	// Workers is how many files are read or groups encoded at once. Zero: one
	// for each processor Go uses, but at most 8, since each holds a group: with
	// 8 the build of a corpus of 33 MB peaks at 410 MB, with 2 at 190 MB.
	Workers int
	// MaxFileBytes is the size over which a file is skipped. Zero: 16 MiB, some
	// thirty times the largest page seen in real corpora; encoding takes some 25
	// times a file's size of memory.
	MaxFileBytes int64
}

// DefaultDescription is the description of a corpus that has none, as in
// docs-mcp.
const DefaultDescription = "Documentation corpus"

// Progress says that Done of Total files are through a phase: "walk" (Total is
// 0, since it is not known), then "read" and "build" in Build and "cut" in
// Check. Each phase begins with a Progress of Done 0.
type Progress struct {
	Phase       string
	Done, Total int
	// Usage is what an embedder behind a network did so far in this build; nil:
	// there is none. With one, "build" is told of once a second at least.
	Usage *embed.Usage
}

// Report says what a build found and did. Counts are of pages that are in the
// artifact; after Check, of those that would be.
type Report struct {
	Corpus string `json:"corpus"`
	// Out is the artifact's folder; empty after Check.
	Out string `json:"out,omitempty"`
	// Metadata is the metadata.json of the corpus, relative to it or as it was
	// given; empty: none was used.
	Metadata string `json:"metadata,omitempty"`
	Files    int    `json:"files"`
	Chunks   int    `json:"chunks"`
	Prompts  int    `json:"prompts"`
	// Embedding says what made the vectors; nil: there are none.
	Embedding *artifact.Embedding `json:"embedding"`
	// EmbeddingUsage is what an embedder behind a network did in this build; nil:
	// the vectors are made here, or there are none.
	EmbeddingUsage *embed.Usage `json:"embedding_usage,omitempty"`
	// FilesReused lay in groups taken from the previous artifact, FilesRebuilt
	// did not: they are new, changed, or share a group with one that is.
	FilesReused  int `json:"files_reused"`
	FilesRebuilt int `json:"files_rebuilt"`
	// FilesNew, FilesChanged and FilesDeleted compare with the previous artifact.
	FilesNew     int `json:"files_new"`
	FilesChanged int `json:"files_changed"`
	FilesDeleted int `json:"files_deleted"`
	Groups       int `json:"groups"`
	GroupsReused int `json:"groups_reused"`
	// Bytes is the size of the artifact's data file.
	Bytes int64 `json:"bytes"`
	// Problems are sorted by file, line and reason; never nil.
	Problems []Problem `json:"problems"`
	// Phases are in the order they ran.
	Phases []Phase `json:"phases"`
}

// Phase is how long a part of the work took.
type Phase struct {
	Name   string  `json:"name"`
	Millis float64 `json:"millis"`
}

// Problem is something that could not be read as meant.
type Problem struct {
	// File is relative to the corpus, or a path as it was given.
	File string `json:"file"`
	// Line is 1-based; 0 when it concerns the file as a whole.
	Line int `json:"line,omitempty"`
	// Reason is one sentence without a full stop.
	Reason string `json:"reason"`
}

// String returns path:line: reason on one line, quoting a path that holds
// control characters.
func (p Problem) String() string {
	file := p.File
	for _, r := range file {
		if r == utf8.RuneError || !strconv.IsPrint(r) {
			file = strconv.Quote(file)
			break
		}
	}
	if p.Line == 0 {
		return fmt.Sprintf("%s: %s", file, p.Reason)
	}
	return fmt.Sprintf("%s:%d: %s", file, p.Line, p.Reason)
}

// Build makes the artifact of a corpus in o.Out, reusing what did not change
// since the artifact that is there. Whatever ends it early, ctx included,
// leaves that one as it was; the Report then says how far it came.
//
// Faults: "no_documents", "not_a_folder", "no_metadata", "bad_metadata", "no_phrases",
// "bad_option", "out_is_input", "reserved_facet", "locked", and with o.Strict
// "strict".
func Build(ctx context.Context, o Options) (Report, error) {
	b, err := prepare(ctx, o)
	if err == nil {
		b.report.Out = o.Out
		err = b.write(ctx)
	}
	return b.finish(err)
}

// Check does all that Build does but for encoding and writing.
func Check(ctx context.Context, o Options) (Report, error) {
	b, err := prepare(ctx, o)
	if err == nil {
		err = b.check(ctx)
	}
	return b.finish(err)
}

// finish sorts the problems and names the corpus in an error.
func (b *build) finish(err error) (Report, error) {
	b.phase("")
	b.sortProblems()
	b.report.EmbeddingUsage = b.usage()
	if err != nil && fault.Of(err) == nil {
		err = fmt.Errorf("index %s: %w", b.options.Dir, err)
	}
	return b.report, err
}

func (b *build) sortProblems() {
	slices.SortFunc(b.report.Problems, func(x, y Problem) int {
		return cmp.Or(cmp.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line), cmp.Compare(x.Reason, y.Reason))
	})
}

// phase ends the phase that runs, if any, and begins another unless name is
// empty.
func (b *build) phase(name string) {
	if b.running != "" {
		took := float64(time.Since(b.began).Microseconds()) / 1000
		b.report.Phases = append(b.report.Phases, Phase{b.running, took})
	}
	b.running, b.began = name, time.Now()
}

// strict is the error of problems, if there are any and none are allowed.
func (b *build) strict() error {
	n := len(b.report.Problems)
	if !b.options.Strict || n == 0 {
		return nil
	}
	b.sortProblems()
	message := fmt.Sprintf("%d problems, the first: %s", n, b.report.Problems[0])
	if n == 1 {
		message = fmt.Sprintf("1 problem: %s", b.report.Problems[0])
	}
	return fault.New("strict", message, "mend what is reported, or build without --strict")
}
