package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/indexer/embed"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/contract"
)

type serveFlags struct {
	http      string
	transport string
	port      int
	noToken   bool
	watch     string
	directory string
	explain   bool
	list      bool
	asJSON    bool
}

func serveCommand(a *app) *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve docs, people and tasks to agents, over MCP",
		Long: "Serve tools over MCP: on stdin and stdout, or with --http over streamable HTTP. The tools over docs\n" +
			"(search_docs, get_doc, list_docs) need an index; a rebuilt one is picked up while serving. Those that\n" +
			"ask a person (ask_user, await_answer, list_questions) do not: --tools ask serves them alone. Those\n" +
			"that start coding agents (list_tasks, start_task_attempt and others) are served with --tools work, and\n" +
			"those that land their work after a person's yes (land_attempt and others) with --tools land.",
		Example: "  deskhand serve --index .deskhand/index\n  deskhand serve --http\n  deskhand serve --watch docs --http 127.0.0.1:8080",
		Args:    noArguments(&f),
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), cmd.Flags(), &f) },
	}
	flags := cmd.Flags()
	for _, name := range []string{"index", "tools", "tool-prefix", "name", "max-answer-bytes", "allow-host", "allow-origin", "embed", "embed-timeout", "cache", "vectors"} {
		declare(flags, name)
	}
	flags.StringVar(&f.http, "http", "", "serve over HTTP, at this address ("+defaultAddr+" without one)")
	flags.Lookup("http").NoOptDefVal = defaultAddr
	flags.StringVar(&f.transport, "transport", "", "stdio or http: the same as leaving out or giving --http")
	flags.IntVar(&f.port, "port", 0, "port on 127.0.0.1: the same as --http 127.0.0.1:PORT")
	flags.BoolVar(&f.noToken, "no-token", false, "answer HTTP requests without a token (on loopback only)")
	flags.StringVar(&f.watch, "watch", "", "build the index from this folder now and whenever it changes")
	flags.StringVar(&f.directory, directoryFlag, "", "work in this folder, as if started there: for clients that start servers elsewhere")
	flags.BoolVar(&f.list, "explain-tools", false, "print what a model is shown of each tool, with its tokens, and exit")
	flags.BoolVar(&f.asJSON, "json", false, "with --explain-tools: print as JSON")
	flags.BoolVar(&f.explain, "explain", false, "say in each hit of search_docs why it ranks where it does")
	return cmd
}

// directoryFlag names the folder that a command works in.
const directoryFlag = "directory"

// enter goes to the folder that --directory names, before any file is looked for.
func enter(cmd *cobra.Command) error {
	f := cmd.Flags().Lookup(directoryFlag)
	if f == nil || !f.Changed {
		return nil
	}
	if err := os.Chdir(f.Value.String()); err != nil {
		return misuse("--"+directoryFlag+" "+f.Value.String()+": no such folder, or not yours to enter", "name a folder that exists")
	}
	return nil
}

// besideProject is a folder of the working directory, or if it has none of that
// name, the one beside the project's deskhand.yaml: agents are started in folders
// below the project too.
func (s *settings) besideProject(dir string) string {
	if dir == "" || filepath.IsAbs(dir) || s.project == nil {
		return dir
	}
	beside := filepath.Join(filepath.Dir(s.project.path), dir)
	if _, err := os.Stat(dir); err == nil || !isDir(beside) {
		return dir
	}
	return beside
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// gcPercent is how much a server's heap may grow between two collections. It is
// a few megabytes, most of which queries keep and use again. With the usual 100
// eight clients over HTTP get 5 to 20 % fewer answers a second; this takes some
// 8 MiB more. GOGC in the environment wins. A large heap is for [boundGarbage].
const gcPercent = 350

// serve checks what it was told and answers until ctx ends or the client is gone.
func (a *app) serve(ctx context.Context, flags *pflag.FlagSet, f *serveFlags) error {
	switch {
	case f.list:
		return a.explainTools(ctx, f)
	case f.asJSON:
		return misuse("--json says how --explain-tools prints, which is not given", "add --explain-tools, or leave out --json")
	}
	if os.Getenv("GOGC") == "" {
		defer debug.SetGCPercent(debug.SetGCPercent(gcPercent))
	}
	log, err := a.hiddenLogger()
	if err != nil {
		return err
	}
	addr, err := f.address(flags)
	if err != nil {
		return err
	}
	if err := a.decidePeople(addr); err != nil {
		return err
	}
	groups, err := a.groups()
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	var background sync.WaitGroup
	defer background.Wait()
	defer stop()
	return a.installation(log).Serve(ctx, installation.Service{
		Begun:  func() { background.Go(func() { boundGarbage(ctx) }) },
		Groups: groups, Addr: addr, NoToken: f.noToken, Explain: f.explain, Dir: here(),
		Watch: installation.Watch{Dir: a.settings.besideProject(f.watch), Embedder: func() (embed.Embedder, error) {
			if err := a.settings.mayBuildInto(a.settings.get("index")); err != nil {
				return nil, err
			}
			return a.embedder()
		}},
		Stdin: a.stdin, Stdout: a.stdout, Typed: onTerminal(a.stdin), Seen: onTerminal(a.stderr), Tell: a.tell,
	})
}

// serverName is what the server calls itself.
func (a *app) serverName() string {
	if name := a.settings.get("name"); name != "" {
		return name
	}
	if prefix := a.settings.get("tool-prefix"); prefix != "" {
		return prefix + "-docs-server"
	}
	return "deskhand"
}

// toolPrefix is what stands before the tools' names; empty: nothing.
func (a *app) toolPrefix() (string, error) {
	prefix := a.settings.get("tool-prefix")
	if prefix != "" && !contract.ValidName(prefix+"_search_docs") {
		return "", a.settings.wrong("tool-prefix", "which no tool's name can begin with",
			fmt.Sprintf("use up to %d of a-z, A-Z, 0-9, _ and -", 64-len("_search_docs")))
	}
	return prefix, nil
}
