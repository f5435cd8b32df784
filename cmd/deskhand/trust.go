package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/trust"
)

// trustFlags are the flags of trust as they were given.
type trustFlags struct{ yes, remove, list, asJSON bool }

func trustCommand(a *app) *cobra.Command {
	var f trustFlags
	cmd := &cobra.Command{
		Use:               "trust [DIR]",
		ValidArgsFunction: folder,
		Short:             "Let a folder's deskhand.yaml run programs and reach networks",
		Long: "Show the settings of the deskhand.yaml in DIR, or in the nearest folder above, that can run programs,\n" +
			"reach a network or weaken a check, and ask whether they may. Without DIR it is the working directory.\n" +
			"They count until the file changes: a file with other bytes has to be trusted again.",
		Example: "  deskhand trust\n  deskhand trust ~/src/shop --yes\n  deskhand trust --remove\n  deskhand trust --list",
		Args:    arguments(0, 1, "one folder"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := exclusive(cmd.Flags(), "yes", "remove", "list"); err != nil {
				return err
			}
			return a.trust(cmd, f, args)
		},
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.yes, "yes", false, "trust the file without asking")
	flags.BoolVar(&f.remove, "remove", false, "forget that the file was trusted or declined")
	flags.BoolVar(&f.list, "list", false, "list the files that were trusted or declined")
	flags.BoolVar(&f.asJSON, "json", false, "print as JSON")
	return cmd
}

// What a file of a project can be.
const (
	trusted  = "trusted"
	declined = "declined"
	changed  = "changed"  // since it was trusted or declined
	gone     = "gone"     // it cannot be read
	unneeded = "unneeded" // nothing in it needs trust
	unknown  = "unknown"  // nobody said anything of it
)

// trustShown is what is known of one file.
type trustShown struct {
	Path   string     `json:"path"`
	Status string     `json:"status"`
	Keys   []string   `json:"keys,omitempty"` // that need trust
	Digest string     `json:"digest,omitempty"`
	At     *time.Time `json:"at,omitempty"`
}

func (a *app) trust(cmd *cobra.Command, f trustFlags, args []string) error {
	if f.list {
		if len(args) > 0 {
			return misuse("--list takes no folder", "leave out "+args[0])
		}
		return a.listTrust(f.asJSON)
	}
	dir, err := trustFolder(args)
	if err != nil {
		return err
	}
	if f.remove {
		return a.removeTrust(dir, f.asJSON)
	}
	path := projectConfig(dir)
	own := ownConfig()
	switch {
	case path == "":
		return misuse(fmt.Sprintf("there is no %s in %s or a folder above", configName, dir), "name the folder that has one: deskhand trust DIR")
	case own != "" && sameFolder(filepath.Dir(own), filepath.Dir(path)):
		return a.sayTrust(trustShown{Path: path, Status: unneeded}, "is your own configuration and needs no trust", f.asJSON)
	}
	p, err := a.settings.projectAt(path, own, a.tell)
	if err != nil {
		return err
	}
	return a.trustFile(cmd, f, p)
}

// projectAt reads the file of a project as a deskhand in its folder would.
func (s *settings) projectAt(path, own string, tell func(string)) (p *projectFile, err error) {
	var base configFile
	if own != "" {
		if base, err = readConfig(own, func(string) {}); err != nil {
			return nil, err
		}
	}
	return s.readProject(path, base, tell)
}

// trustFolder is the folder that is meant: DIR, or that of a deskhand.yaml.
func trustFolder(args []string) (dir string, err error) {
	if len(args) == 0 {
		dir, err = os.Getwd()
	} else {
		dir, err = filepath.Abs(args[0])
	}
	if err != nil {
		return "", misuse("the working directory is gone: "+err.Error(), "change to a folder that exists")
	}
	if filepath.Base(dir) == configName && isFile(dir) {
		dir = filepath.Dir(dir)
	}
	if info, err := os.Stat(dir); err == nil && !info.IsDir() {
		return "", misuse(dir+" is not a folder", "name the folder that has the "+configName)
	}
	return dir, nil
}

// trustFile trusts one file, after asking if that is wanted.
func (a *app) trustFile(cmd *cobra.Command, f trustFlags, p *projectFile) error {
	if _, err := p.upstreams(); err != nil {
		return err
	}
	shown := trustShown{Path: p.path, Status: trusted, Digest: p.sum}
	for _, g := range p.needs {
		shown.Keys = append(shown.Keys, key(g.name))
	}
	switch {
	case p.owner != "":
		return fault.New("misuse", p.path+" "+p.why, "check what it says, then make it yours, or name it with --config")
	case len(p.needs) == 0:
		shown.Status = unneeded
		return a.sayTrust(shown, "needs no trust: its settings only choose", f.asJSON)
	case p.trusted && !f.yes:
		return a.sayTrust(shown, "is trusted already: "+names(p.needs), f.asJSON)
	case f.yes:
		if err := a.keepTrust(p, true); err != nil {
			return err
		}
		return a.sayTrust(shown, "is trusted: "+names(p.needs), f.asJSON)
	case !a.canAgree():
		a.showTrust(p)
		fmt.Fprintln(a.stderr)
		return misuse("there is no terminal to ask at", "check the settings above, then run: "+p.command()+" --yes")
	}
	agreed, err := a.agree(cmd.Context(), p)
	if err != nil {
		return err
	}
	if !agreed {
		return fault.New("declined", p.path+" is not trusted", "to review it again, run: "+p.command())
	}
	return a.sayTrust(shown, "is trusted: "+names(p.needs), f.asJSON)
}

func (a *app) sayTrust(shown trustShown, text string, asJSON bool) error {
	if asJSON {
		return a.json(shown)
	}
	_, err := fmt.Fprintln(a.stdout, painter(a.stdout).plain(visibleLine(shown.Path)+" "+text))
	return err
}

// removeTrust forgets the nearest file that is there or was known.
func (a *app) removeTrust(dir string, asJSON bool) error {
	for path := filepath.Join(dir, configName); ; {
		place, err := trust.Place(path)
		if errors.Is(err, fs.ErrNotExist) {
			place, err = path, nil // the folder is gone
		}
		if err != nil {
			return err
		}
		was, err := a.settings.records.Remove(place)
		if err != nil {
			return err
		}
		if was {
			return a.sayTrust(trustShown{Path: path, Status: unknown}, "is trusted no more", asJSON)
		}
		if isFile(path) {
			return a.sayTrust(trustShown{Path: path, Status: unknown}, "was not trusted", asJSON)
		}
		up := filepath.Dir(filepath.Dir(path))
		if up == filepath.Dir(path) {
			return misuse(fmt.Sprintf("nothing is known of a %s in %s or a folder above", configName, dir), "see which files are: deskhand trust --list")
		}
		path = filepath.Join(up, configName)
	}
}

func (a *app) listTrust(asJSON bool) error {
	records, err := a.settings.records.List()
	if err != nil {
		return err
	}
	all := []trustShown{}
	for _, r := range records {
		all = append(all, trustShown{Path: r.Path, Status: standingOf(r), Digest: r.Digest, At: &r.At})
	}
	if asJSON {
		return a.json(all)
	}
	if len(all) == 0 {
		a.tell("no file was trusted or declined yet")
		return nil
	}
	paint := painter(a.stdout)
	w := tabwriter.NewWriter(a.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "FILE\tSTATUS\tSINCE")
	for _, one := range all {
		fmt.Fprintf(w, "%s\t%s\t%s\n", paint.plain(visibleLine(one.Path)), one.Status, one.At.Local().Format("2006-01-02 15:04"))
	}
	return w.Flush()
}

// standingOf compares a record with the file that it is about.
func standingOf(r trust.Record) string {
	data, _, err := trust.ReadFile(r.Path, maxProjectFile)
	switch {
	case err != nil:
		return gone
	case trust.Digest(data) != r.Digest:
		return changed
	case r.Agreed:
		return trusted
	}
	return declined
}

// visibleLine is text on one line, with what is unseen written out.
func visibleLine(text string) string { return unbroken(elicit.Visible(text)) }
