package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/console/builds"
	"github.com/deskhand/deskhand/runtime/console/libraries"
	"github.com/deskhand/deskhand/runtime/fault"
)

type indexFlags struct {
	options                    indexer.Options
	by                         string
	docsDir                    string
	check, fix, verify, asJSON bool
}

func indexCommand(a *app) *cobra.Command {
	var f indexFlags
	cmd := &cobra.Command{
		Use:               "index [DIR | ADDRESS]",
		ValidArgsFunction: folder,
		Short:             "Build an index from a folder of Markdown",
		Long: "Build an index from DIR, a folder of Markdown. If DIR is omitted, deskhand indexes the corpus from\n" +
			"metadata.json in the working directory, or the working directory itself if there is none. ADDRESS is the\n" +
			"address of a git repository, an archive, a site or an llms.txt, as in \"deskhand add\".",
		Example: "  deskhand index docs -o .deskhand/index\n  deskhand index --check docs\n  deskhand index --verify .deskhand/index",
		Args:    arguments(0, 1, "one folder or address"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settings.Exclusive(cmd.Flags(), "check", "fix", "verify"); err != nil {
				return err
			}
			return a.index(cmd.Context(), &f, args)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false // everyday flags first, those of docs-mcp last
	flags.StringP("output", "o", settings.Default("index"), "folder for the index")
	flags.StringVar(&f.options.Description, "description", "", `what the corpus is about, to complete "Search the ..."`)
	flags.StringArrayVar(&f.options.Include, "include", nil, "glob for files to index (repeatable; default: all)")
	flags.StringArrayVar(&f.options.Exclude, "exclude", nil, "glob for files and folders to exclude (repeatable)")
	flags.BoolVar(&f.options.GitIgnore, "gitignore", false, "skip files that .gitignore excludes")
	settings.Declare(flags, "embed")
	flags.BoolVar(&f.check, "check", false, "check the files and write nothing")
	flags.BoolVar(&f.options.Strict, "strict", false, "fail on any problem")
	flags.BoolVar(&f.verify, "verify", false, "verify every byte of the index in DIR (default: the one at -o)")
	flags.BoolVar(&f.asJSON, "json", false, "print the report as JSON")
	flags.StringVar(&f.options.MetadataPath, "metadata", "", "metadata.json of the corpus (default: the one in DIR, or next to it)")
	flags.StringVar(&f.options.PhrasesPath, "phrases", "", "JSON Lines file with everyday phrasings by chunk ID; search also matches them")
	flags.StringVar(&f.by, "chunk-by", "", "where to split files: h1, h2, h3 or file (default: h2)")
	flags.IntVar(&f.options.MaxChars, "max-chunk-size", 0, "maximum characters per chunk; longer ones are split further (default: 20000)")
	flags.IntVar(&f.options.MinChars, "min-chunk-size", 0, "minimum characters per chunk; shorter parts under one heading are merged")
	flags.BoolVar(&f.fix, "fix", false, "write DIR/.docs-mcp.json with a strategy for each file")
	settings.Declare(flags, "cache")
	flags.StringVar(&f.options.SearchDescription, "tool-description-search", "", "description of search_docs for the model")
	flags.StringVar(&f.options.GetDocDescription, "tool-description-get-doc", "", "description of get_doc for the model")
	flags.StringVar(&f.options.Instructions, "mcp-server-instructions", "", "instructions that clients receive when they connect")
	flags.StringVar(&f.docsDir, "docs-dir", "", "the same as DIR")
	return cmd
}

func (a *app) index(ctx context.Context, f *indexFlags, args []string) error {
	if f.docsDir != "" {
		if len(args) > 0 {
			return misuse("DIR is given both as an argument and as --docs-dir", "omit one of them")
		}
		args = []string{f.docsDir}
	}
	f.options.Out = a.settings.Output()
	if f.verify {
		if len(args) > 0 {
			f.options.Out = args[0]
		}
		return builds.Verify(&a.Console, f.options.Out)
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
	done, err := libraries.Bring(ctx, &a.Console, &f.options, f.fix)
	defer done()
	if err != nil {
		return err
	}
	if f.fix {
		return builds.Fix(ctx, &a.Console, f.options.Dir)
	}
	f.options.Embedder, err = a.settings.Embedder()
	if noKey := fault.Of(err) != nil && fault.Of(err).Code == "no_key"; err != nil && !(noKey && f.check) { // a check calls no provider
		return err
	}
	bar := console.NewBar(a.Stderr)
	f.options.Progress = bar.Show
	if f.check {
		report, err := indexer.Check(ctx, f.options)
		bar.End()
		return builds.Checked(&a.Console, report, err, f.asJSON)
	}
	if err := a.settings.MayBuildInto(f.options.Out); err != nil {
		return err
	}
	before := builds.Metadata(f.options.Out)
	report, err := indexer.Build(ctx, f.options)
	bar.End()
	return builds.Built(&a.Console, report, err, before, f.asJSON)
}

// source determines the folder to index.
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
