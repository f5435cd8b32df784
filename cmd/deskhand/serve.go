package main

import (
	"context"
	"os"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
)

type serveFlags struct {
	settings.Listen
	noToken        bool
	watch          string
	watchLibraries bool
	directory      string
	explain        bool
	list           bool
	asJSON         bool
}

func serveCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Start the MCP server: docs, questions and tasks",
		Long: "Serve tools over MCP: on stdin and stdout, or with --http over streamable HTTP. The docs tools\n" +
			"(search_docs, get_doc, list_docs) need an index or a shelf, and switch to a rebuilt index without a\n" +
			"restart. The tools that ask a person (ask_user, await_answer, list_questions) need neither: --tools ask\n" +
			"serves only those. --tools work adds the tools that start coding agents (list_tasks, start_task_attempt\n" +
			"and others). --tools land adds the tools that land the agents' work after a person agrees (land_attempt\n" +
			"and others).",
		Example: "  deskhand serve --index .deskhand/index\n  deskhand serve --http\n  deskhand serve --watch docs --http 127.0.0.1:8080",
		Args:    noArguments(&f.Listen),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), cmd.Flags(), &f) },
	}
	flags := cmd.Flags()
	for _, name := range []string{"index", "shelf", "tools", "tool-prefix", "name", "max-answer-bytes", "allow-host", "allow-origin", "base-url", "embed", "embed-timeout", "cache", "vectors"} {
		settings.Declare(flags, name)
	}
	f.Declare(flags)
	flags.BoolVar(&f.noToken, "no-token", false, "answer HTTP requests without a token (on loopback only)")
	flags.StringVar(&f.watch, "watch", "", "build the index from this folder now and whenever it changes")
	flags.BoolVar(&f.watchLibraries, "watch-libraries", false, "rebuild the shelf's libraries from local folders now and whenever these change")
	flags.StringVar(&f.directory, directoryFlag, "", "use this working directory, for clients that start servers elsewhere")
	flags.BoolVar(&f.list, "explain-tools", false, "print each tool as the model sees it, with its token count, and exit")
	flags.BoolVar(&f.asJSON, "json", false, "with --explain-tools, print as JSON")
	flags.BoolVar(&f.explain, "explain", false, "explain the rank of each hit in search_docs results")
	return cmd
}

// directoryFlag is the flag that sets a command's working directory.
const directoryFlag = "directory"

// enter changes to the folder in the flag --directory. It must be called before
// any file is read.
func enter(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup(directoryFlag)
	if f == nil || !f.Changed {
		return nil
	}
	if err := os.Chdir(f.Value.String()); err != nil {
		return misuse("--"+directoryFlag+" "+f.Value.String()+": there is no such folder, or you have no permission to enter it", "pass an existing folder")
	}
	return nil
}

// serve checks the flags, then serves until ctx ends or the client disconnects.
func (a *app) serve(ctx context.Context, flags *pflag.FlagSet, f *serveFlags) error {
	switch {
	case f.list:
		return a.explainTools(ctx, f)
	case f.asJSON:
		return misuse("--json requires --explain-tools", "add --explain-tools, or omit --json")
	}
	log, err := a.hiddenLogger()
	if err != nil {
		return err
	}
	if f.watch != "" {
		a.settings.Watch()
	}
	addr, err := f.Address(flags)
	if err != nil {
		return err
	}
	if err := a.settings.DecidePeople(addr); err != nil {
		return err
	}
	groups, err := a.settings.Groups()
	if err != nil {
		return err
	}
	return a.installation(log).Serve(ctx, installation.Service{
		Alone: true, Groups: groups, Addr: addr, NoToken: f.noToken, Explain: f.explain, Dir: here(),
		Watch: installation.Watch{Dir: a.settings.BesideProject(f.watch), Libraries: f.watchLibraries, Embedder: func() (embed.Embedder, error) {
			if err := a.settings.MayBuildInto(a.settings.Index()); err != nil && f.watch != "" {
				return nil, err
			}
			return a.settings.Embedder()
		}},
		Stdin: a.Stdin, Stdout: a.Stdout, Typed: console.OnTerminal(a.Stdin), Seen: console.OnTerminal(a.Stderr), Tell: a.Tell,
	})
}

// noArguments allows no arguments except an address after "--http". The flag's value
// is optional, so the library accepts a value only after "=", but users often omit the
// "=".
func noArguments(l *settings.Listen) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && l.HTTP == settings.DefaultAddr {
			l.HTTP = args[0]
			return nil
		}
		if len(args) == 1 && artifact.HoldsPages(args[0]) {
			return misuse("deskhand serve takes a folder of docs as a flag", "write deskhand serve --watch "+args[0])
		}
		return arguments(0, 0, "no arguments")(cmd, args)
	}
}
