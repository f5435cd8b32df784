package main

import (
	"context"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console/libraries"
)

// libraries opens the shelf for one command, with the index that is searched with it. If
// library is not empty, only that library is used. libraries returns nil if only an index
// is searched.
func (a *app) libraries(library string) (*installation.Libraries, error) {
	return a.openLibraries(a.settings.Searched(library))
}

// openLibraries opens the libraries in dir, with the index own. If dir is empty, it returns
// nil.
func (a *app) openLibraries(dir, own string, only []string, err error) (*installation.Libraries, error) {
	if err != nil || dir == "" {
		return nil, err
	}
	o, err := a.settings.Searching(a.Stderr)
	if err != nil {
		return nil, err
	}
	log, err := a.settings.Logger(a.Stderr)
	if err != nil {
		return nil, err
	}
	return installation.OpenWithIndex(dir, own, only, ".", o, log)
}

// libraryOf returns the name of the library in an ID of the form LIBRARY:ID. It returns
// "" if the shelf has no such library, which means that the ID belongs to an index.
func (a *app) libraryOf(id string) string {
	name, _, named := strings.Cut(id, ":")
	if !named {
		return ""
	}
	of, err := a.settings.Shelf()
	if err != nil {
		return ""
	}
	if _, err := of.Find(name); err != nil {
		return ""
	}
	return name
}

// onShelf returns the operations on the configured shelf for this command.
func (a *app) onShelf() (*libraries.Work, error) {
	of, err := a.settings.Shelf()
	return &libraries.Work{Console: &a.Console, Shelf: of, Embedder: a.settings.Embedder}, err
}

func addCommand(a *app) *cobra.Command {
	var f libraries.Flags
	var deps bool
	cmd := &cobra.Command{
		Use:   "add SOURCE...",
		Short: "Add libraries to the shelf from folders, repositories, archives, sites and registries",
		Long: "Add the docs of each SOURCE to the shelf as a library. SOURCE is a folder or file, a .zip or .tar.gz\n" +
			"file or its https address, a git repository at a branch, tag or commit (ADDRESS#REF), the address of an\n" +
			"llms.txt, or with --site the address of a site. A tag becomes the version. If --path is omitted, the\n" +
			"docs of a repository or an archive are in its folder docs, doc, documentation, content, site/docs or\n" +
			"website/docs, or in the whole source if it has none of these. Docs are Markdown, HTML, OpenAPI,\n" +
			"notebooks and text; pandoc, if installed, converts more formats. Adding a library again rebuilds it.\n\n" +
			"oci://HOST/REPOSITORY:TAG (or @DIGEST) pulls a library that \"deskhand push\" sent to a container\n" +
			"registry, with the credentials of \"docker login\". deskhand connects to registries over https; it uses\n" +
			"plain http only for registries on this machine or with --plain-http.",
		Example: "  deskhand add docs --name handbook\n" +
			"  deskhand add 'https://github.com/spf13/cobra.git#v1.9.1' --path site/content\n" +
			"  deskhand add vendor-manual.zip --name manual --version 4.2\n" +
			"  deskhand add oci://ghcr.io/acme/docs/handbook:2026",
		Args: func(cmd *cobra.Command, args []string) error {
			if deps {
				return arguments(0, 0, "no sources if --deps is given")(cmd, args)
			}
			return arguments(1, 1000, "one or more sources")(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.onShelf()
			switch {
			case err != nil:
				return err
			case deps:
				return w.AddDeps(cmd.Context(), f)
			}
			return w.Add(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	settings.Declare(flags, "shelf")
	settings.Declare(flags, "embed")
	settings.Declare(flags, "cache")
	flags.StringVar(&f.Options.Name, "name", "", "name of the library (default: from SOURCE)")
	flags.StringVar(&f.Options.Version, "version", "", "version of the library (default: from the tag or the file name)")
	flags.StringVar(&f.Options.Path, "path", "", "folder of the docs in SOURCE")
	flags.BoolVar(&f.Options.Texts, "trust-texts", false, "pass the library's own tool descriptions and instructions on to models")
	flags.BoolVar(&f.Options.AllowFile, "allow-file", false, "allow file:// addresses")
	flags.BoolVar(&f.Options.NoGitIgnore, "no-gitignore", false, "include files that .gitignore excludes")
	pulling(flags, &f)
	flags.BoolVar(&f.Site, "site", false, "treat SOURCE as the address of a site, and add the pages in its sitemap")
	flags.BoolVar(&f.JSON, "json", false, "print the libraries as JSON")
	flags.BoolVar(&deps, "deps", false, "add the dependencies in the lock files of this and parent folders, as installed on this disk")
	flags.BoolVar(&f.Deps.All, "all", false, "with --deps, include indirect dependencies")
	flags.BoolVar(&f.Deps.Fetch, "fetch", false, "with --deps, download missing dependencies with go or npm")
	return cmd
}

// pulling declares the flags of commands that pull from registries.
func pulling(flags *pflag.FlagSet, f *libraries.Flags) {
	flags.BoolVar(&f.Options.PlainHTTP, "plain-http", false, "connect to registries without TLS, even if they are not on this machine")
	flags.BoolVar(&f.Options.Verify, "verify", false, "after a pull, reread the index and compare every byte")
}

func pushCommand(a *app) *cobra.Command {
	var f libraries.Flags
	var annotations []string
	cmd := &cobra.Command{
		Use:   "push LIBRARY REF",
		Short: "Push a library to a container registry",
		Long: "Push a library from the shelf to a container registry as an OCI artifact. REF is HOST/REPOSITORY[:TAG];\n" +
			"the default tag is latest. The same library always has the same digest, and parts that the registry\n" +
			"already has are not sent again. deskhand uses the credentials of \"docker login\" or \"oras login\". It\n" +
			"connects over https; it uses plain http only for a registry on this machine or with --plain-http.",
		Example: "  deskhand push cobra@1.9.1 ghcr.io/acme/docs/cobra:1.9.1\n" +
			"  deskhand push handbook localhost:5000/handbook",
		Args: arguments(2, 2, "a library and a reference"),
		ValidArgsFunction: func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return a.libraryNames(cmd, args, word)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.onShelf()
			if err != nil {
				return err
			}
			return w.Push(cmd.Context(), f, args[0], args[1], annotations)
		},
	}
	flags := cmd.Flags()
	settings.Declare(flags, "shelf")
	flags.BoolVar(&f.Options.PlainHTTP, "plain-http", false, "connect to the registry without TLS, even if it is not on this machine")
	flags.StringArrayVar(&annotations, "annotation", nil, "annotation to add to the artifact, as KEY=VALUE (repeatable)")
	flags.BoolVar(&f.JSON, "json", false, "print the pushed artifact as JSON")
	return cmd
}

func listCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:     "list",
		Short:   "List the libraries on the shelf",
		Example: "  deskhand list\n  deskhand list --json",
		Args:    arguments(0, 0, "no arguments"),
		RunE: func(*cobra.Command, []string) error {
			w, err := a.onShelf()
			if err != nil {
				return err
			}
			return w.List(asJSON)
		},
	}
	settings.Declare(cmd.Flags(), "shelf")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the libraries as JSON")
	return cmd
}

func showCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:               "show NAME[@VERSION]",
		Short:             "Show one library: pages, size and source",
		Example:           "  deskhand show next\n  deskhand show next@16.0.3 --json",
		Args:              arguments(1, 1, "one library"),
		ValidArgsFunction: a.libraryNames,
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := a.onShelf()
			if err != nil {
				return err
			}
			return w.Show(args[0], asJSON)
		},
	}
	settings.Declare(cmd.Flags(), "shelf")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print the library as JSON")
	return cmd
}

func updateCommand(a *app) *cobra.Command {
	var f libraries.Flags
	cmd := &cobra.Command{
		Use:               "update [NAME...]",
		Short:             "Rebuild libraries whose source has changed",
		Example:           "  deskhand update\n  deskhand update handbook",
		Args:              arguments(0, 1000, "names of libraries"),
		ValidArgsFunction: a.libraryNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			w, err := a.onShelf()
			if err != nil {
				return err
			}
			return w.Update(cmd.Context(), f, args)
		},
	}
	flags := cmd.Flags()
	settings.Declare(flags, "shelf")
	settings.Declare(flags, "embed")
	settings.Declare(flags, "cache")
	flags.BoolVar(&f.Options.AllowFile, "allow-file", false, "allow file:// addresses")
	pulling(flags, &f)
	flags.BoolVar(&f.JSON, "json", false, "print the libraries as JSON")
	return cmd
}

func removeCommand(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use:               "remove NAME[@VERSION]...",
		Short:             "Remove libraries from the shelf",
		Example:           "  deskhand remove handbook\n  deskhand remove next@9.1.0",
		Args:              arguments(1, 1000, "one or more libraries"),
		ValidArgsFunction: a.libraryNames,
		RunE: func(_ *cobra.Command, args []string) error {
			w, err := a.onShelf()
			if err != nil {
				return err
			}
			return w.Remove(args)
		},
	}
	settings.Declare(cmd.Flags(), "shelf")
	return cmd
}

// completeLibrary completes the flag --library of cmd.
func (a *app) completeLibrary(cmd *cobra.Command) {
	_ = cmd.RegisterFlagCompletionFunc("library", a.libraryNames) // fails only if the flag does not exist
}

// libraryPrefixes completes the library of an ID of the form LIBRARY:ID.
func (a *app) libraryPrefixes(cmd *cobra.Command, args []string, prefix string) (names []string, _ cobra.ShellCompDirective) {
	if len(args) > 0 || strings.Contains(prefix, ":") {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _ := a.libraryNames(cmd, args, prefix)
	for _, name := range all {
		id, description, _ := strings.Cut(name, "\t")
		names = append(names, id+":\t"+description)
	}
	return names, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
}

// libraryNames completes library names.
func (a *app) libraryNames(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	if err := a.settings.Load(cmd.Flags(), func(string) {}); err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := a.settings.Shelf()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	all, _, _ := s.List() // without libraries, there is nothing to complete
	var names []string
	for _, e := range all {
		names = append(names, e.ID()+"\t"+strings.ReplaceAll(e.Description, "\t", " "))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}

func syncCommand(a *app) *cobra.Command {
	var f libraries.Flags
	var locked bool
	cmd := &cobra.Command{
		Use:   "sync",
		Short: "Make the project's shelf match deskhand.yaml",
		Long: "Make the project's shelf match deskhand.yaml: add the libraries that it lists, update those already on\n" +
			"the shelf, remove the others, and write deskhand.lock. With --locked, each library is installed exactly\n" +
			"as recorded in deskhand.lock.",
		Example: "  deskhand sync\n  deskhand sync --locked",
		Args:    arguments(0, 0, "no arguments"),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.sync(cmd.Context(), f, locked) },
	}
	flags := cmd.Flags()
	settings.Declare(flags, "shelf")
	settings.Declare(flags, "embed")
	settings.Declare(flags, "cache")
	flags.BoolVar(&locked, "locked", false, "fail unless each library matches deskhand.lock")
	flags.BoolVar(&f.Options.AllowFile, "allow-file", false, "allow file:// addresses")
	pulling(flags, &f)
	flags.BoolVar(&f.JSON, "json", false, "print the libraries as JSON")
	return cmd
}

// sync installs the libraries that a project's file lists. They are installed on the
// project's shelf unless another shelf is configured.
func (a *app) sync(ctx context.Context, f libraries.Flags, locked bool) error {
	wanted, dir, err := a.settings.Libraries()
	if err != nil {
		return err
	}
	w, err := a.onShelf()
	if err != nil {
		return err
	}
	if !a.settings.NamesShelf() {
		w.Shelf.Dir = filepath.Join(dir, settings.ProjectShelf)
	}
	return w.Sync(ctx, f, wanted, filepath.Join(dir, "deskhand.lock"), locked)
}
