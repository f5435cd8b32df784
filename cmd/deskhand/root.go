package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Exit codes.
const (
	exitFailed  = 1
	exitMisused = 2
)

// app is what every command is given.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	settings       settings
}

// run executes one command line and returns its exit code. An interrupt ends
// the command in order; a second one ends the process.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{stdin: stdin, stdout: stdout, stderr: stderr}
	root := a.root()
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	return a.exitCode(root.ExecuteContext(ctx))
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:           "deskhand",
		Short:         "The help desk for coding agents: docs they can search, over MCP",
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			return a.settings.load(cmd)
		},
	}
	root.CompletionOptions.HiddenDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return misuse(err.Error(), "see "+cmd.CommandPath()+" --help")
	})
	root.SetGlobalNormalizationFunc(withAliases)
	a.settings.flags(root.PersistentFlags())
	for _, command := range commands {
		root.AddCommand(command(a))
	}
	return root
}

// commands is the list.
var commands = []func(*app) *cobra.Command{
	indexCommand,
	searchCommand,
	serveCommand,
	getCommand,
	evalCommand,
	configCommand,
	versionCommand,
	demoCommand,
}

// aliases are other names of flags: those of docs-mcp, so that a command line
// moves over.
var aliases = map[string]string{
	"out":       "output",
	"index-dir": "index",
}

func withAliases(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	if own, ok := aliases[name]; ok {
		name = own
	}
	return pflag.NormalizedName(name)
}

// misuse is an error of the command line, exit code 2.
func misuse(message, hint string) error { return fault.New("misuse", message, hint) }

// errQuiet ends a command with exit code 1 when all was said already.
var errQuiet = errors.New("failed")

// exitCode words err for people.
func (a *app) exitCode(err error) int {
	if err == nil {
		return 0
	}
	f := fault.Of(err)
	switch {
	case errors.Is(err, errQuiet):
	case errors.Is(err, context.Canceled):
		fmt.Fprintln(a.stderr, "deskhand: interrupted")
	case f == nil && strings.HasPrefix(err.Error(), "unknown command"):
		message, _, _ := strings.Cut(err.Error(), "\n")
		fmt.Fprintf(a.stderr, "deskhand: %s\nhint: see deskhand --help\n", message)
		return exitMisused
	default:
		fmt.Fprintf(a.stderr, "deskhand: %v\n", err)
	}
	if f == nil {
		return exitFailed
	}
	if f.Hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", f.Hint)
	}
	if f.Code == "misuse" {
		return exitMisused
	}
	return exitFailed
}

// arguments checks the number of positional arguments.
func arguments(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) >= least && len(args) <= most {
			return nil
		}
		return misuse(fmt.Sprintf("%s takes %s, got %d arguments", cmd.CommandPath(), what, len(args)), "see "+cmd.CommandPath()+" --help")
	}
}

// logger writes to stderr, never to stdout.
func (a *app) logger() (*slog.Logger, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(a.settings.get("log-level"))); err != nil {
		return nil, misuse(fmt.Sprintf("unknown log level %q", a.settings.get("log-level")), "use debug, info, warn or error")
	}
	options := &slog.HandlerOptions{Level: level}
	switch format := a.settings.get("log-format"); format {
	case "text":
		return slog.New(slog.NewTextHandler(a.stderr, options)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(a.stderr, options)), nil
	default:
		return nil, misuse(fmt.Sprintf("unknown log format %q", format), "use text or json")
	}
}
