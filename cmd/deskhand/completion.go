package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/elicit"
)

// shells maps each supported shell to the function that writes its completion script.
var shells = map[string]func(root *cobra.Command, a *app) error{
	"bash":       func(root *cobra.Command, a *app) error { return root.GenBashCompletionV2(a.Stdout, true) },
	"zsh":        func(root *cobra.Command, a *app) error { return root.GenZshCompletion(a.Stdout) },
	"fish":       func(root *cobra.Command, a *app) error { return root.GenFishCompletion(a.Stdout, true) },
	"powershell": func(root *cobra.Command, a *app) error { return root.GenPowerShellCompletionWithDesc(a.Stdout) },
}

func completionCommand(a *app) *cobra.Command {
	names := []string{"bash", "zsh", "fish", "powershell"}
	return &cobra.Command{
		Use:   "completion SHELL",
		Short: "Print a completion script for your shell",
		Long: "Print a script that completes commands, flags and IDs in bash, zsh, fish or powershell.\n" +
			"The script for bash needs the package bash-completion.",
		Example: "  source <(deskhand completion bash)\n  deskhand completion zsh > \"${fpath[1]}/_deskhand\"\n" +
			"  deskhand completion fish > ~/.config/fish/completions/deskhand.fish",
		Args:              arguments(1, 1, "the name of a shell"),
		ValidArgsFunction: oneOf(names...),
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // a shell must start even with a broken configuration file
		RunE: func(cmd *cobra.Command, args []string) error {
			write, ok := shells[args[0]]
			if !ok {
				return misuse("completion is not supported for "+args[0], "use one of "+strings.Join(names, ", "))
			}
			return write(cmd.Root(), a)
		},
	}
}

// oneOf completes the first argument with one of words.
func oneOf(words ...string) cobra.CompletionFunc {
	return func(_ *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words, cobra.ShellCompDirectiveNoFileComp
	}
}

// folder completes a folder name.
func folder(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

// choices lists the allowed values of flags. Its keys are a command and flag, or
// only a flag, as in valueNames.
var choices = map[string][]string{
	"search by": {"words", "meaning", "both"}, "eval by": {"words", "meaning", "both"}, "phrases by": {"agent:", "ollama:", "openai:", "gaps"},
	"usage by": {"day", "agent", "task", "project", "attempt", "process"}, "chunk-by": {"h1", "h2", "h3", "file"},
	"from": {"builtin"}, "landing": {"ask", "allow", "never"}, "share": {"store", "remote", "off"}, "forge": {"github", "gitlab", "gitea"},
	"priority":  {"low", "normal", "high", "urgent"},
	"transport": {"stdio", "http"}, "unreachable": {"fail", "wait"},
	"ask format": {"email", "uri", "date", "date-time"}, "ask output": {"value", "json", "lines", "env", "nul", "full"},
	"eval format": {"table", "markdown", "json"},
}

// completeFlags adds completion of values to the flags of cmd and its subcommands, except
// for flags that already have it.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if _, done := cmd.GetFlagCompletionFunc(f.Name); done {
			return
		}
		_ = cmd.RegisterFlagCompletionFunc(f.Name, flagValues(cmd, f)) // fails only if the flag does not exist
	})
	for _, sub := range cmd.Commands() {
		completeFlags(sub)
	}
}

func flagValues(cmd *cobra.Command, f *pflag.Flag) cobra.CompletionFunc {
	known, ok := ofFlag(choices, cmd, f)
	if !ok {
		known = settings.Choices(f.Name)
	}
	if known != nil {
		rest := cobra.ShellCompDirectiveNoFileComp
		if f.Name == "embed" || f.Name == "from" {
			rest = cobra.ShellCompDirectiveDefault // a file is also allowed
		}
		return cobra.FixedCompletions(known, rest)
	}
	switch valueName(cmd, f) {
	case "DIR", "OUT":
		return folder
	case "FILE":
		return cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	}
	return cobra.NoFileCompletions
}

// completeQuestions completes the IDs of requests that are waiting for a person.
func (a *app) completeQuestions(cmd *cobra.Command, args []string, prefix string) (found []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) > 0 || a.settings.Load(cmd.Flags(), func(string) {}) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	hub, stop, err := a.hub(cmd.Context())
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp // an error message would disturb the user's typing
	}
	defer stop()
	list, _ := hub.List(cmd.Context(), elicit.Filter{Limit: 100})
	for _, r := range list.Requests {
		found = append(found, cobra.CompletionWithDesc(string(r.ID), console.Heading(r)))
	}
	return slices.DeleteFunc(found, func(c cobra.Completion) bool { return !strings.HasPrefix(c, prefix) }), cobra.ShellCompDirectiveNoFileComp
}

// completeUpstreams completes the names of upstreams.
func (a *app) completeUpstreams(cmd *cobra.Command, args []string, _ string) (names []cobra.Completion, _ cobra.ShellCompDirective) {
	if len(args) == 0 && a.settings.Load(cmd.Flags(), func(string) {}) == nil {
		list, _ := a.settings.Upstreams()
		for _, u := range list {
			names = append(names, u.Name)
		}
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
