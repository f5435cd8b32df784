// Package indexer builds an artifact from a corpus: it walks the folder, splits its
// Markdown into chunks, and writes and commits the result.
//
// A defect in a file is reported as a Problem in the Report. The file is skipped, or
// used as far as it can be read. An error means that nothing was written and that the
// previous artifact is unchanged. The package prints and logs nothing.
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

// Options configure Build and Check. Dir is required, and so is Out for Build. All
// other zero values are defaults.
type Options struct {
	// Dir is the corpus folder.
	Dir string
	// Named is the name of the folder that Dir is a copy of, for messages and the
	// report. If empty, it is Dir.
	Named string
	// Out is the artifact's folder. Check ignores it.
	Out string
	// MetadataPath is the corpus's metadata.json. If empty, Build uses the one in Dir,
	// or else the one next to Dir whose "corpus" names Dir, or else none.
	MetadataPath string
	// PhrasesPath is a file with everyday phrasings of chunks, which searches match
	// too. If empty, Build uses the file named in metadata.json, or none.
	PhrasesPath string
	// Description completes "Search the ...". If empty, Build uses the description in
	// metadata.json, or else DefaultDescription.
	Description string
	// By, MaxChars and MinChars set how to split files without a manifest strategy, as
	// in chunker.Options. Zero means the value in metadata.json, or else the chunker's
	// default.
	By                 chunker.By
	MaxChars, MinChars int
	// Include and Exclude are globs over paths relative to Dir. Each glob also covers
	// everything in the folders it matches. A glob without a slash is matched against
	// every path element. Without Include, the globs in metadata.json apply, or else
	// all files are included. Exclude globs in metadata.json are added to Exclude.
	Include, Exclude []string
	// GitIgnore excludes the files that .gitignore files match, including .gitignore
	// files above Dir in the same checkout. metadata.json can also enable it.
	GitIgnore bool
	// Strict turns any problem into an error, fault code "strict".
	Strict bool
	// SearchDescription, GetDocDescription and Instructions override the texts in
	// metadata.json and manifests. If empty, they override nothing.
	SearchDescription, GetDocDescription, Instructions string
	// Formats converts files that are not Markdown to pages. If nil, such files are
	// ignored. The caller closes it.
	Formats *formats.Converter
	// Library is the name and source of the corpus, or nil if it has none.
	Library *artifact.Library
	// PlainTexts leaves out the corpus's own texts for models: tool descriptions,
	// instructions and prompts.
	PlainTexts bool
	// Embedder computes each chunk's vector. If nil, the index has no vectors.
	Embedder embed.Embedder
	// Progress, unless nil, is called with the build's progress, from one goroutine at
	// a time. It should return quickly.
	Progress func(Progress)
	// Workers is the number of files read, or groups encoded, concurrently. Zero means
	// one per processor that Go uses, up to 8, since each worker holds a group in
	// memory. Building a 33 MB corpus peaks at 410 MB with 8 workers and at 190 MB with
	// 2.
	Workers int
	// MaxFileBytes is the maximum size of a file. Larger files are skipped. Zero means
	// 16 MiB, about thirty times the largest page seen in real corpora. Encoding needs
	// about 25 times a file's size in memory.
	MaxFileBytes int64
}

func (o Options) named() string { return cmp.Or(o.Named, o.Dir) }

// DefaultDescription is the description of a corpus that has none, as in docs-mcp.
const DefaultDescription = "Documentation corpus"

// Progress reports that Done of Total files have passed a phase. The phases are "walk"
// (Total is 0, since it is unknown), "convert" with Options.Formats, then "read" and
// "build" in Build, or "cut" in Check. Each phase starts with a Progress whose Done is
// 0.
type Progress struct {
	Phase       string
	Done, Total int
	// Usage is a remote embedder's usage so far in this build, or nil if the embedder
	// is not remote. With a remote embedder, "build" is reported at least once a
	// second.
	Usage *embed.Usage
}

// Report is the result of a build. It counts the pages in the artifact or, after Check,
// the pages that would be in it.
type Report struct {
	Corpus string `json:"corpus"`
	// Out is the artifact's folder, or empty after Check.
	Out string `json:"out,omitempty"`
	// Metadata is the corpus's metadata.json, relative to the corpus or as given. It is
	// empty if none was used.
	Metadata string `json:"metadata,omitempty"`
	Files    int    `json:"files"`
	Chunks   int    `json:"chunks"`
	Prompts  int    `json:"prompts"`
	// Embedding identifies the embedder that computed the vectors, or is nil if there
	// are no vectors.
	Embedding *artifact.Embedding `json:"embedding"`
	// EmbeddingUsage is the usage of a remote embedder in this build. It is nil if the
	// vectors were computed locally or there are none.
	EmbeddingUsage *embed.Usage `json:"embedding_usage,omitempty"`
	// FilesReused counts files in groups reused from the previous artifact.
	// FilesRebuilt counts all other files: new or changed files, and files in the same
	// group as one of them.
	FilesReused  int `json:"files_reused"`
	FilesRebuilt int `json:"files_rebuilt"`
	// FilesNew, FilesChanged and FilesDeleted compare the corpus with the previous
	// artifact.
	FilesNew     int `json:"files_new"`
	FilesChanged int `json:"files_changed"`
	FilesDeleted int `json:"files_deleted"`
	Groups       int `json:"groups"`
	GroupsReused int `json:"groups_reused"`
	// Bytes is the size of the artifact's data file.
	Bytes int64 `json:"bytes"`
	// Problems are sorted by file, line and reason. It is never nil.
	Problems []Problem `json:"problems"`
	// LeftOut counts files that may be docs but did not become pages.
	LeftOut []formats.Left `json:"left_out,omitempty"`
	// Phases are in execution order.
	Phases []Phase `json:"phases"`
}

// Phase is the duration of one part of a build.
type Phase struct {
	Name   string  `json:"name"`
	Millis float64 `json:"millis"`
}

// Problem describes a part of a file that could not be parsed.
type Problem struct {
	// File is relative to the corpus, or a path as given.
	File string `json:"file"`
	// Line is 1-based, or 0 if the problem concerns the whole file.
	Line int `json:"line,omitempty"`
	// Reason is one sentence without a full stop.
	Reason string `json:"reason"`
}

// String returns path:line: reason on one line. It quotes a path that contains control
// characters.
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

// Build builds the artifact of a corpus in o.Out. It reuses the parts of the previous
// artifact that have not changed. If it ends early, for example because ctx is
// cancelled, the previous artifact is unchanged, and the Report covers the work done so
// far.
//
// Faults: "no_documents", "not_a_folder", "no_metadata", "bad_metadata", "no_phrases",
// "bad_option", "out_is_input", "reserved_facet", "locked", and with o.Strict "strict".
func Build(ctx context.Context, o Options) (Report, error) {
	b, err := prepare(ctx, o)
	if err == nil {
		b.report.Out = o.Out
		err = b.write(ctx)
	}
	return b.finish(err)
}

// Check does the same as Build, but does not encode or write anything.
func Check(ctx context.Context, o Options) (Report, error) {
	b, err := prepare(ctx, o)
	if err == nil {
		err = b.check(ctx)
	}
	return b.finish(err)
}

// finish sorts the problems and adds the corpus name to an error.
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

// phase ends the current phase, if any, and begins the phase name unless name is empty.
func (b *build) phase(name string) {
	if b.running != "" {
		took := float64(time.Since(b.began).Microseconds()) / 1000
		b.report.Phases = append(b.report.Phases, Phase{b.running, took})
	}
	b.running, b.began = name, time.Now()
}

// strict returns an error if Options.Strict is set and there are problems.
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
