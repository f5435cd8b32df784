package main

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
)

type trustFlags struct{ yes, remove, list, asJSON bool }

func trustCommand(a *app) *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:               "trust [DIR]",
		ValidArgsFunction: folder,
		Short:             "Let a folder's deskhand.yaml run programs and reach networks",
		Long: "Show the settings that can run programs, reach a network or weaken a check in the deskhand.yaml in DIR,\n" +
			"or in the nearest parent folder that has one, and ask whether to trust them. The default DIR is the\n" +
			"working directory. Trust lasts until the file's content changes; then it has to be trusted again.",
		Example: "  deskhand trust\n  deskhand trust ~/src/shop --yes\n  deskhand trust --remove\n  deskhand trust --list",
		Args:    arguments(0, 1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := settings.Exclusive(cmd.Flags(), "yes", "remove", "list"); err != nil {
				return err
			}
			return a.trust(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "trust the file without asking")
	flags.BoolVar(&f.remove, "remove", false, "forget the decision for this file")
	flags.BoolVar(&f.list, "list", false, "list all trusted and declined files")
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

func (a *app) trust(cmd *cobra.Command, f trustFlags, args []string) error {
	if f.list {
		if len(args) > 0 {
			return misuse("--list does not take a folder", "omit "+args[0])
		}
		return a.listTrust(f.asJSON)
	}
	dir, err := settings.TrustFolder(args)
	if err != nil {
		return err
	}
	if f.remove {
		return a.removeTrust(dir, f.asJSON)
	}
	p, own, err := a.settings.ProjectAt(dir, a.Tell)
	if err != nil {
		return err
	}
	if own != "" {
		return a.sayTrust(settings.Trust{Path: own, Status: settings.Unneeded}, "is your own configuration and needs no trust", f.asJSON)
	}
	return a.trustFile(cmd, f, p)
}

// trustFile records that the user trusts a file. It asks first unless --yes is
// given.
func (a *app) trustFile(cmd *cobra.Command, f trustFlags, p *settings.Project) error {
	shown := p.Trust()
	switch {
	case p.Foreign() != "":
		return misuse(p.Path()+" "+p.Foreign(), "review it, then change its owner to you or pass it with --config")
	case shown.Status == settings.Unneeded:
		return a.sayTrust(shown, "needs no trust: none of its settings can run programs, reach a network or weaken a check", f.asJSON)
	case p.Trusted() && !f.yes:
		return a.sayTrust(shown, "is already trusted: "+p.Needs(), f.asJSON)
	case f.yes:
		if err := a.settings.Decide(p, true); err != nil {
			return err
		}
		return a.sayTrust(shown, "is trusted: "+p.Needs(), f.asJSON)
	case !a.canAgree():
		fmt.Fprint(a.Stderr, p.Introduction(a.seen(p.Path())))
		fmt.Fprintln(a.Stderr)
		return misuse("cannot ask for confirmation without a terminal", "review the settings above, then run: "+p.Command()+" --yes")
	}
	agreed, err := a.agree(cmd.Context(), p)
	if err != nil {
		return err
	}
	if !agreed {
		return fault.New("declined", p.Path()+" is not trusted", "to review it again, run: "+p.Command())
	}
	return a.sayTrust(shown, "is trusted: "+p.Needs(), f.asJSON)
}

func (a *app) sayTrust(shown settings.Trust, text string, asJSON bool) error {
	if asJSON {
		return a.JSON(shown)
	}
	_, err := fmt.Fprintln(a.Stdout, console.PainterFor(a.Stdout).Plain(settings.VisibleLine(shown.Path)+" "+text))
	return err
}

func (a *app) removeTrust(dir string, asJSON bool) error {
	path, was, err := a.settings.Forget(dir)
	if err != nil {
		return err
	}
	text := map[bool]string{true: "is no longer trusted", false: "was not trusted"}[was]
	return a.sayTrust(settings.Trust{Path: path, Status: settings.Unknown}, text, asJSON)
}

func (a *app) listTrust(asJSON bool) error {
	all, err := a.settings.Trusted()
	if err != nil {
		return err
	}
	if asJSON {
		return a.JSON(all)
	}
	if len(all) == 0 {
		a.Tell("no file was trusted or declined yet")
		return nil
	}
	paint := console.PainterFor(a.Stdout)
	w := tabwriter.NewWriter(a.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tSTATUS\tSINCE")
	for _, one := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", paint.Plain(settings.VisibleLine(one.Path)), one.Status, one.At.Local().Format("2006-01-02 15:04"))
	}
	return w.Flush()
}
