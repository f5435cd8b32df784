// Package indexer builds an artifact from a corpus: it walks the folder, cuts
// its Markdown, and writes and commits the result.
//
// A defect of a file is a Problem in the Report; the file is skipped, or used
// as far as it can be read. An error means that nothing was written and that an
// older artifact is unchanged. The package prints and logs nothing.
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
	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Options configure Build and Check. Dir is required, and Out for Build; the
// other zero values are defaults.
type Options struct {
	// Dir is the corpus folder.
	Dir string
	// Named is what Dir is a copy of, for messages and the report; empty: Dir.
	Named string
	// Out is the artifact's folder. Check ignores it.
	Out string
	// MetadataPath is the corpus's metadata.json. Empty: the one in Dir;
	// otherwise the one beside Dir whose "corpus" names Dir; otherwise none.
	MetadataPath string
	// PhrasesPath is a file of everyday phrasings of chunks; searches find the
	// chunks by them too. Empty: the one that metadata.json names, or none.
	PhrasesPath string
	// Description completes "Search the ...". Empty: the one in metadata.json,
	// or else DefaultDescription.
	Description string
	// By, MaxChars and MinChars set how to cut files for which no manifest
	// decides, as in chunker.Options. Zero: the value in metadata.json, or else
	// the chunker's default.
	By                 chunker.By
	MaxChars, MinChars int
	// Include and Exclude are globs over paths relative to Dir. Each also
	// covers everything in the folders it matches; one without a slash is
	// matched against every name. Without Include, those of metadata.json
	// apply, or else all files are included. Excludes of metadata.json are
	// added to Exclude.
	Include, Exclude []string
	// GitIgnore excludes what .gitignore files name, including those above Dir
	// in the same checkout. metadata.json can set it as well.
	GitIgnore bool
	// Strict turns any problem into an error, fault code "strict".
	Strict bool
	// SearchDescription, GetDocDescription and Instructions override the texts
	// of metadata.json and manifests. Empty: no override.
	SearchDescription, GetDocDescription, Instructions string
	// Formats makes pages of files that are not Markdown; nil: such files are
	// ignored. The caller closes it.
	Formats *formats.Converter
	// Library names the corpus and its source; nil: no name.
	Library *artifact.Library
	// PlainTexts leaves out the corpus's own texts for models: descriptions of
	// tools, instructions and prompts.
	PlainTexts bool
	// Embedder computes each chunk's vector; nil: the index has no vectors.
	Embedder embed.Embedder
	// Progress, unless nil, receives the progress of the build, from one
	// goroutine at a time. It should return quickly.
	Progress func(Progress)
	// Workers is how many files are read, or groups encoded, concurrently.
	// Zero: one per processor that Go uses, at most 8, since each holds a
	// group. With 8, building a corpus of 33 MB peaks at 410 MB; with 2, at 190
	// MB.
	Workers int
	// MaxFileBytes is the size above which a file is skipped. Zero: 16 MiB,
	// about thirty times the largest page seen in real corpora. Encoding needs
	// about 25 times a file's size in memory.
	MaxFileBytes int64
}

func (o Options) named() string { return cmp.Or(o.Named, o.Dir) }

// DefaultDescription is the description of a corpus without one, as in
// docs-mcp.
const DefaultDescription = "Documentation corpus"

// Progress reports that Done of Total files have passed a phase: "walk" (Total
// is 0, since it is unknown), with Options.Formats "convert", then "read" and "build" in Build, or "cut" in
// Check. Each phase starts with a Progress of Done 0.
type Progress struct {
	Phase       string
	Done, Total int
	// Usage is what a remote embedder has used so far in this build; nil: none.
	// With one, "build" is reported at least once a second.
	Usage *embed.Usage
}

// Report is the result of a build. Counts are of pages in the artifact, or
// after Check, of those that would be in it.
type Report struct {
	Corpus string `json:"corpus"`
	// Out is the artifact's folder; empty after Check.
	Out string `json:"out,omitempty"`
	// Metadata is the corpus's metadata.json, relative to it or as given;
	// empty: none was used.
	Metadata string `json:"metadata,omitempty"`
	Files    int    `json:"files"`
	Chunks   int    `json:"chunks"`
	Prompts  int    `json:"prompts"`
	// Embedding identifies what computed the vectors; nil: there are none.
	Embedding *artifact.Embedding `json:"embedding"`
	// EmbeddingUsage is what a remote embedder used in this build; nil: the
	// vectors were computed locally, or there are none.
	EmbeddingUsage *embed.Usage `json:"embedding_usage,omitempty"`
	// FilesReused counts files in groups reused from the previous artifact.
	// FilesRebuilt counts the others: new or changed files, and files in the
	// same group as one.
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
	// LeftOut counts files that may be docs and became no page; only with
	// Options.Formats.
	LeftOut []formats.Left `json:"left_out,omitempty"`
	// Phases are in the order in which they ran.
	Phases []Phase `json:"phases"`
}

// Phase is the duration of one part of the work.
type Phase struct {
	Name   string  `json:"name"`
	Millis float64 `json:"millis"`
}

// Problem is something that could not be parsed.
type Problem struct {
	// File is relative to the corpus, or a path as given.
	File string `json:"file"`
	// Line is 1-based; 0 when it concerns the file as a whole.
	Line int `json:"line,omitempty"`
	// Reason is one sentence without a full stop.
	Reason string `json:"reason"`
}

// String returns path:line: reason on one line, quoting a path that contains
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

// Build builds the artifact of a corpus in o.Out and reuses what has not
// changed since the previous one. If it ends early, for example because of ctx,
// the previous artifact is unchanged, and the Report covers the work done so
// far.
//
// Faults: "no_documents", "not_a_folder", "no_metadata", "bad_metadata",
// "no_phrases", "bad_option", "out_is_input", "reserved_facet", "locked", and
// with o.Strict "strict".
func Build(ctx context.Context, o Options) (Report, error) {
	b, err := prepare(ctx, o)
	if err == nil {
		b.report.Out = o.Out
		err = b.write(ctx)
	}
	return b.finish(err)
}

// Check does what Build does except encoding and writing.
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
		err = fmt.Errorf("index %s: %w", b.options.named(), err)
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
	return fault.New("strict", message, "fix the reported problems, or build without --strict")
}
