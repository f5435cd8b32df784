package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/console/manpage"
)

// manPagesCommand writes the man(1) pages for operating system packages.
func manPagesCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:               "man-pages DIR",
		Short:             "Write a man page for each command into a folder",
		Hidden:            true,
		Args:              arguments(1, 1, "a folder"),
		ValidArgsFunction: folder,
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil }, // needs no settings
		RunE:              func(cmd *cobra.Command, args []string) error { return writeManPages(cmd.Root(), args[0]) },
	}
}

// writeManPages writes a page for cmd and a page for each of its visible
// subcommands into dir: deskhand.1, deskhand-ask.1 and so on.
func writeManPages(cmd *cobra.Command, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("create the folder for man pages: %w", err)
	}
	if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd).String()), 0o644); err != nil {
		return fmt.Errorf("write a man page: %w", err)
	}
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() || sub.Name() == "help" {
			continue
		}
		if err := writeManPages(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manPage describes cmd's page.
func manPage(cmd *cobra.Command) manpage.Page {
	p := manpage.Page{
		Name: manName(cmd), Short: cmd.Short, Version: buildVersion(), Long: cmp.Or(cmd.Long, cmd.Short), Example: cmd.Example,
		Options: flagRows(cmd, cmd.LocalFlags()), Global: flagRows(cmd, cmd.InheritedFlags()),
	}
	if cmd.Runnable() && !takesCommand(cmd) {
		p.Usage = append(p.Usage, cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		p.Usage = append(p.Usage, cmd.CommandPath()+" COMMAND")
	}
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			p.Commands = append(p.Commands, [2]string{manName(sub) + "(1)", sub.Short})
		}
	}
	if cmd.HasParent() {
		p.Parent = manName(cmd.Parent())
	}
	return p
}
