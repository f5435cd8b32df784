// Package indexer builds an artifact from a corpus: it walks the folder, splits its
// Markdown into chunks, and writes and commits the result.
//
// If a file has a defect, the Report contains a Problem. The file is skipped, or the
// parts that can be read are used. If a function returns an error, nothing was
// written and the previous artifact is unchanged. The package prints and logs
// nothing.
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

// Options configure Build and Check. Dir is required. Out is required for Build.
// The zero values of the other fields select the defaults.
type Options struct {
	// Dir is the corpus folder.
	Dir string
	// Named is the folder to name in messages and in the report if Dir is a copy
	// of that folder. If Named is empty, Dir is named.
	Named string
	// Out is the artifact's folder. Check ignores it.
	Out string
	// MetadataPath is the corpus's metadata.json. If it is empty, Build uses the
	// metadata.json in Dir, or else the one next to Dir if its key "corpus" names Dir.
	MetadataPath string
	// PhrasesPath is a file with everyday phrasings of chunks, which searches match
	// too. If it is empty, Build uses the file named in metadata.json, if any.
	PhrasesPath string
	// Description completes the phrase "Search the ...". If it is empty, Build uses
	// the description in metadata.json, or else DefaultDescription.
	Description string
	// By, MaxChars and MinChars set how to split files for which no manifest sets a
	// strategy. They have the same meaning as in chunker.Options. For zero values,
	// Build uses the value in metadata.json, or else the chunker's default.
	By                 chunker.By
	MaxChars, MinChars int
	// Include and Exclude are globs over paths relative to Dir. If a glob matches a
	// folder, it also covers everything in this folder. A glob without a slash is
	// matched against every path element. If Include is empty, the globs in
	// metadata.json apply. If these are empty too, all files are included. Exclude
	// globs in metadata.json are added to Exclude.
	Include, Exclude []string
	// GitIgnore excludes the files that a .gitignore file matches. This includes
	// .gitignore files above Dir in the same checkout. metadata.json can also turn
	// GitIgnore on.
	GitIgnore bool
	// GitExcludes also excludes the files that the checkout's .git/info/exclude or the
	// user's core.excludesFile matches. If GitIgnore is off, it has no effect.
	GitExcludes bool
	// Accept is called with the finished index before it replaces the old one. If it
	// returns an error, Build returns this error, and the old index stays. Nil accepts
	// every index.
	Accept func(artifact.Index) error
	// Strict makes the build fail with fault "strict" if there is any problem.
	Strict bool
	// SearchDescription, GetDocDescription and Instructions override the values
	// in metadata.json and manifests. Empty strings override nothing.
	SearchDescription, GetDocDescription, Instructions string
	// Formats converts files that are not Markdown to pages. If it is nil, such
	// files are ignored. The caller must close it.
	Formats *formats.Converter
	// Library is the name and source of the corpus, or nil if it has none.
	Library *artifact.Library
	// PlainTexts omits what the corpus itself would tell models: tool
	// descriptions, instructions and prompts.
	PlainTexts bool
	// Embedder computes each chunk's vector. If it is nil, the index has no
	// vectors.
	Embedder embed.Embedder
	// If Progress is not nil, it is called with the build's progress, from one
	// goroutine at a time. It should return quickly.
	Progress func(Progress)
	// Workers is the number of files that are read concurrently, and of groups that are
	// encoded concurrently. Each worker holds a group in memory. Zero means the number
	// of processors that Go uses, but at most 8. Building a 33 MB corpus takes up to
	// 410 MB of memory with 8 workers, and up to 190 MB with 2.
	Workers int
	// MaxFileBytes is the maximum size of a file. Larger files are skipped. Zero means
	// 16 MiB, which is about thirty times the size of the largest page found in real
	// corpora. Encoding a file needs memory of about 25 times its size.
	MaxFileBytes int64
}

func (o Options) named() string { return cmp.Or(o.Named, o.Dir) }

// DefaultDescription is the description of a corpus that has none, as in docs-mcp.
const DefaultDescription = "Documentation corpus"

// Progress reports that Done of Total files have passed a phase. The phases are "walk"
// (Total is 0, because it is not yet known), "convert" if Options.Formats is set, and
// then "read" and "build" in Build, or "cut" in Check. Each phase starts with a
// Progress in which Done is 0.
type Progress struct {
	Phase       string
	Done, Total int
	// Usage is a remote embedder's usage so far in this build, or nil if the embedder
	// is not remote. With a remote embedder, progress of the phase "build" is
	// reported at least once a second.
	Usage *embed.Usage
}

// Report is the result of a build. It counts the pages in the artifact or, if Check
// returned it, the pages that would be in the artifact.
type Report struct {
	Corpus string `json:"corpus"`
	// Out is the artifact's folder. In a report from Check, it is empty.
	Out string `json:"out,omitempty"`
	// Metadata is the path of the corpus's metadata.json, relative to the corpus or as
	// given in the options. It is empty if there was no such file.
	Metadata string `json:"metadata,omitempty"`
	Files    int    `json:"files"`
	Chunks   int    `json:"chunks"`
	Prompts  int    `json:"prompts"`
	// Embedding identifies the embedder that computed the vectors. It is nil if the
	// index has no vectors.
	Embedding *artifact.Embedding `json:"embedding"`
	// EmbeddingUsage is the usage of a remote embedder in this build. It is nil if the
	// vectors were computed locally or if the index has no vectors.
	EmbeddingUsage *embed.Usage `json:"embedding_usage,omitempty"`
	// FilesReused counts the files in groups that were reused from the previous
	// artifact. FilesRebuilt counts all other files. These are new files, changed
	// files, and files in the same group as a new or changed file.
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
	// Problems lists the problems, sorted by file, line and reason. It is never
	// nil.
	Problems []Problem `json:"problems"`
	// LeftOut counts files that may be docs but did not become pages.
	LeftOut []formats.Left `json:"left_out,omitempty"`
	// Phases lists the phases in the order in which they ran.
	Phases []Phase `json:"phases"`
}

// Phase is the duration of one part of a build.
type Phase struct {
	Name   string  `json:"name"`
	Millis float64 `json:"millis"`
}

// Problem describes something in a file that could not be parsed.
type Problem struct {
	// File is a path relative to the corpus, or a path as given in the options.
	File string `json:"file"`
	// Line is 1-based, or 0 if the problem concerns the whole file.
	Line int `json:"line,omitempty"`
	// Reason is one sentence without a full stop.
	Reason string `json:"reason"`
}

// String returns the problem on one line, in the form path:line: reason. If the path
// contains control characters, it is quoted.
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
// artifact that have not changed. If the build ends early, for example because ctx is
// cancelled, the previous artifact is unchanged, and the Report covers the work until
// then.
//
// Build returns the faults "no_documents", "not_a_folder", "no_metadata",
// "bad_metadata", "no_phrases", "bad_option", "out_is_input", "reserved_facet",
// "locked", and, if o.Strict is set, "strict".
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

// phase ends the current phase, if there is one. Unless name is empty, it then begins
// the phase with that name.
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
