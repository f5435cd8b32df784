package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Exit codes.
const (
	exitFailed  = 1
	exitMisused = 2
)

// app holds the state that all commands share.
type app struct {
	command string // the running command, for example "deskhand ask answer", or empty before a command runs
	console.Console
	settings settings.Settings
}

// run executes one command line and returns its exit code. An interrupt lets the command
// end cleanly; a second interrupt kills the process.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{Console: console.Console{Stdin: stdin, Stdout: stdout, Stderr: stderr}}
	root := a.rootFor(args)
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	err := root.ExecuteContext(ctx)
	if err != nil {
		err = unknownCommand(root, err)
	}
	a.Stderr = stderr // an error is told even with --quiet
	return a.exitCode(err)
}

// rootFor returns the root command for a command line. For a command that only deskhand
// starts, it has no other commands, because an attempt's runner would keep all of them in
// memory.
func (a *app) rootFor(args []string) *cobra.Command {
	if len(args) < 2 || args[0] != "tasks" || !slices.Contains(internalNames, args[1]) {
		return a.root()
	}
	root := a.bareRoot()
	tasks := &cobra.Command{Use: "tasks"}
	tasks.AddCommand(tasksRunnerCommand(a))
	root.AddCommand(tasks)
	return root
}

func (a *app) root() *cobra.Command {
	root := a.bareRoot()
	for _, group := range commands {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title})
		for _, command := range group.list {
			cmd := command(a)
			cmd.GroupID = group.title
			root.AddCommand(cmd)
			once(cmd)
		}
	}
	settings.Once(root.PersistentFlags())
	if settings.Completing() {
		completeFlags(root)
	}
	return root
}

// bareRoot returns the root command without other commands.
func (a *app) bareRoot() *cobra.Command {
	cobra.EnableCommandSorting = false // keep the order in which commands are added
	root := &cobra.Command{
		Use:           "deskhand",
		Short:         "The help desk for coding agents: search docs, ask a person, delegate tasks",
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       versionLine(),
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := enter(cmd); err != nil {
				return err
			}
			if quiet, _ := cmd.Flags().GetBool("quiet"); quiet {
				a.Stderr = io.Discard
			}
			if err := a.inherit(cmd); err != nil {
				return err
			}
			if err := a.settings.Load(cmd.Flags(), a.Tell); err != nil {
				return err
			}
			a.command = cmd.CommandPath()
			if err := allowedHere(cmd, a); err != nil {
				return err
			}
			return a.agreement(cmd)
		},
	}
	root.SetFlagErrorFunc(flagError)
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { showHelp(cmd, a.Stdout) })
	root.SetHelpCommand(helpCommand(a))
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetGlobalNormalizationFunc(withAliases)
	root.Flags().BoolP("version", "v", false, "print the version")
	settings.Flags(root.PersistentFlags())
	return root
}

// once lets each flag of cmd and its subcommands be given once.
func once(cmd *cobra.Command) {
	settings.Once(cmd.Flags())
	for _, sub := range cmd.Commands() {
		once(sub)
	}
}

// commands lists the commands in the order in which help shows them.
var commands = []struct {
	title string
	list  []func(*app) *cobra.Command
}{
	{"Start here", []func(*app) *cobra.Command{initCommand, doctorCommand, docsCommand}},
	{"Docs", []func(*app) *cobra.Command{indexCommand, serveCommand, searchCommand, getCommand, evalCommand, gapsCommand, phrasesCommand, trainCommand, demoCommand}},
	{"Libraries", []func(*app) *cobra.Command{addCommand, listCommand, showCommand, updateCommand, removeCommand, syncCommand, pushCommand}},
	{"People", []func(*app) *cobra.Command{askCommand, inboxCommand, peopleCommand, tokenCommand, rulesCommand, outboxCommand}},
	{"Work", []func(*app) *cobra.Command{workCommand, tasksCommand, runnerCommand}},
	{"Other MCP servers", []func(*app) *cobra.Command{connectCommand, connectionsCommand, disconnectCommand}},
	{"deskhand itself", []func(*app) *cobra.Command{configCommand, trustCommand, storeCommand, auditCommand, completionCommand, healthCommand, versionCommand, manPagesCommand}},
}

// aliases maps docs-mcp's flag names to deskhand's, so that existing
// command lines still work.
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

// exitCode prints err and a hint for the user, and returns the exit code.
func (a *app) exitCode(err error) int {
	if err == nil {
		return 0
	}
	code := exitFailed
	if own := new(console.Ending); errors.As(err, &own) {
		code = own.Code
	}
	if errors.Is(err, context.Canceled) {
		fmt.Fprintln(a.Stderr, "deskhand: interrupted")
		return code
	}
	if errors.Is(err, console.ErrSaid) {
		return code
	}
	f := fault.Of(err)
	if f == nil {
		f = installation.Expected(err)
	}
	a.Failed(f, err)
	if f != nil && slices.Contains(misuses, f.Code) {
		return exitMisused
	}
	return code
}
