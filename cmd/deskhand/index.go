package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
)

// indexFlags are the flags of index as they were given.
type indexFlags struct {
	options                    indexer.Options
	by                         string
	docsDir                    string
	check, fix, verify, asJSON bool
}

func indexCommand(a *app) *cobra.Command {
	var f indexFlags
	cmd := &cobra.Command{
		Use:   "index [DIR]",
		Short: "Build the index of a folder of markdown",
		Long: "Build the index of DIR, a folder of markdown. Without DIR it is the corpus that metadata.json\n" +
			"in the working directory names, else the working directory itself.",
		Example: "  deskhand index docs -o .deskhand/index\n  deskhand index --check docs\n  deskhand index --verify .deskhand/index",
		Args:    arguments(0, 1, "one folder"),
		RunE:    func(cmd *cobra.Command, args []string) error { return a.index(cmd.Context(), &f, args) },
	}
	flags := cmd.Flags()
	flags.StringP("output", "o", a.settings.fallback("index"), "folder of the index")
	flags.StringVar(&f.docsDir, "docs-dir", "", "the same as DIR")
	flags.StringVar(&f.options.MetadataPath, "metadata", "", "metadata.json of the corpus (default: the one in DIR, or beside it)")
	flags.StringVar(&f.options.Description, "description", "", `what the corpus is, completing "Search the ..."`)
	flags.StringVar(&f.by, "chunk-by", "", "where to cut files: h1, h2, h3 or file (default h2)")
	flags.IntVar(&f.options.MaxChars, "max-chunk-size", 0, "characters over which a chunk is cut further (default 20000)")
	flags.IntVar(&f.options.MinChars, "min-chunk-size", 0, "characters under which parts of one heading are merged")
	flags.StringArrayVar(&f.options.Include, "include", nil, "glob of files to index (repeat; default: all)")
	flags.StringArrayVar(&f.options.Exclude, "exclude", nil, "glob of files and folders to leave out (repeat)")
	flags.BoolVar(&f.options.GitIgnore, "gitignore", false, "leave out what .gitignore files name")
	flags.BoolVar(&f.options.Strict, "strict", false, "fail on any problem")
	flags.BoolVar(&f.check, "check", false, "check the files and write nothing")
	flags.BoolVar(&f.fix, "fix", false, "write DIR/.docs-mcp.json with a strategy for each file")
	flags.BoolVar(&f.verify, "verify", false, "check every byte of the index DIR (default: of the one at -o)")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	flags.StringVar(&f.options.SearchDescription, "tool-description-search", "", "text of search_docs for the model")
	flags.StringVar(&f.options.GetDocDescription, "tool-description-get-doc", "", "text of get_doc for the model")
	flags.StringVar(&f.options.Instructions, "mcp-server-instructions", "", "text that clients get when they connect")
	cmd.MarkFlagsMutuallyExclusive("check", "fix", "verify")
	return cmd
}

func (a *app) index(ctx context.Context, f *indexFlags, args []string) error {
	if f.docsDir != "" {
		if len(args) > 0 {
			return misuse("DIR is given twice, as argument and as --docs-dir", "leave one of them out")
		}
		args = []string{f.docsDir}
	}
	f.options.Out = a.settings.output()
	if f.verify {
		if len(args) > 0 {
			f.options.Out = args[0]
		}
		return a.verify(f.options.Out)
	}
	if f.by != "" {
		by, ok := chunker.ParseBy(f.by)
		if !ok {
			return misuse(fmt.Sprintf("unknown --chunk-by %q", f.by), "use h1, h2, h3 or file")
		}
		f.options.By = by
	}
	if err := f.source(args); err != nil {
		return err
	}
	if f.fix {
		return a.fix(f.options.Dir)
	}
	bar := newBar(a.stderr)
	f.options.Progress = bar.show
	build := indexer.Build
	if f.check {
		build = indexer.Check
	}
	report, err := build(ctx, f.options)
	bar.end()
	return a.report(f, report, err)
}

// source finds out which folder to index.
func (f *indexFlags) source(args []string) error {
	if len(args) > 0 {
		f.options.Dir = args[0]
		return nil
	}
	if _, err := os.Stat(artifact.MetadataFile); errors.Is(err, os.ErrNotExist) {
		f.options.Dir = "."
		return nil
	}
	dir, metadata, err := indexer.Find(".")
	if err != nil {
		return err
	}
	f.options.Dir = dir
	if f.options.MetadataPath == "" {
		f.options.MetadataPath = metadata
	}
	return nil
}

// report prints what a build found, problems first.
func (a *app) report(f *indexFlags, r indexer.Report, err error) error {
	if f.asJSON {
		if err != nil && len(r.Problems) == 0 {
			return err
		}
		enc := json.NewEncoder(a.stdout)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if e := enc.Encode(r); e != nil {
			return e
		}
		return err
	}
	for _, p := range r.Problems {
		fmt.Fprintln(a.stderr, p)
	}
	if err != nil {
		return err
	}
	if f.check {
		fmt.Fprintf(a.stdout, "checked %d files, %d chunks: %s\n", r.Files, r.Chunks, count(len(r.Problems), "problem"))
		return nil
	}
	if r.FilesReused > 0 {
		fmt.Fprintf(a.stderr, "reused %d of %d files (%d new, %d changed, %d deleted)\n", r.FilesReused, r.Files, r.FilesNew, r.FilesChanged, r.FilesDeleted)
	}
	if len(r.Problems) > 0 {
		fmt.Fprintf(a.stderr, "completed with %s\n", count(len(r.Problems), "problem"))
	}
	fmt.Fprintf(a.stdout, "wrote %d chunks of %d files to %s (%.1f MB)\n", r.Chunks, r.Files, r.Out, float64(r.Bytes)/1e6)
	return nil
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (a *app) fix(dir string) error {
	path, wrote, err := indexer.Fix(dir)
	if err != nil {
		return err
	}
	if !wrote {
		fmt.Fprintf(a.stdout, "manifest already exists: %s\n", path)
		return nil
	}
	fmt.Fprintf(a.stdout, "wrote %s\n", path)
	return nil
}

func (a *app) verify(dir string) error {
	r, err := artifact.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Verify(); err != nil {
		return err
	}
	m := r.Metadata()
	fmt.Fprintf(a.stdout, "%s is whole: %d chunks of %d files, %d bytes, sha256 %s\n", dir, m.Stats.TotalChunks, m.Stats.TotalFiles, m.Index.Bytes, m.Index.SHA256)
	return nil
}
