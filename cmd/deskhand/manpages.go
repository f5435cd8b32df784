package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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
	if err := os.WriteFile(filepath.Join(dir, manName(cmd)+".1"), []byte(manPage(cmd)), 0o644); err != nil {
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

// manPage returns cmd's page in man(7) format. The page has no date, so that a
// rebuild produces the same bytes.
func manPage(cmd *cobra.Command) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"deskhand %s\" \"deskhand manual\"\n", strings.ToUpper(manName(cmd)), roff(buildVersion()))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n.SH SYNOPSIS\n", roff(manName(cmd)), roff(cmd.Short))
	if cmd.Runnable() && !takesCommand(cmd) {
		fmt.Fprintf(&b, ".B %s\n.br\n", roff(cmd.UseLine()))
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(&b, ".B %s COMMAND\n", roff(cmd.CommandPath()))
	}
	b.WriteString(".SH DESCRIPTION\n")
	for _, paragraph := range strings.Split(cmp.Or(cmd.Long, cmd.Short), "\n\n") {
		fmt.Fprintf(&b, ".PP\n%s\n", roff(paragraph))
	}
	manRows(&b, "COMMANDS", manCommands(cmd))
	manRows(&b, "OPTIONS", manFlags(cmd, cmd.LocalFlags()))
	manRows(&b, "GLOBAL OPTIONS", manFlags(cmd, cmd.InheritedFlags()))
	if cmd.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(cmd.Example))
	}
	if cmd.HasParent() {
		fmt.Fprintf(&b, ".SH SEE ALSO\n.BR %s (1)\n", roff(manName(cmd.Parent())))
	}
	return b.String()
}

func manCommands(cmd *cobra.Command) (rows [][2]string) {
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && sub.Name() != "help" {
			rows = append(rows, [2]string{manName(sub) + "(1)", sub.Short})
		}
	}
	return rows
}

func manFlags(cmd *cobra.Command, flags *pflag.FlagSet) (rows [][2]string) {
	for _, row := range flagRows(cmd, flags) {
		rows = append(rows, [2]string{strings.TrimSpace(row[0]), row[1]})
	}
	return rows
}

func manRows(b *strings.Builder, title string, rows [][2]string) {
	if len(rows) == 0 {
		return
	}
	fmt.Fprintf(b, ".SH %s\n", title)
	for _, row := range rows {
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(row[0]), roff(row[1]))
	}
}

// roff escapes text, so that no line is read as a roff request and readers can
// copy hyphens from the page.
func roff(text string) string {
	lines := strings.Split(strings.NewReplacer(`\`, `\e`, `-`, `\-`).Replace(text), "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
