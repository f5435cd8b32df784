package main

import (
	"cmp"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

// version, commit and date are set by the linker in releases. In other builds, they come
// from Go's build information.
var version, commit, date string

// build is the output of version --json.
type build struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"` // empty if unknown
	Date     string `json:"date"`   // date of the commit, in RFC 3339; empty if unknown
	Platform string `json:"platform"`
	Go       string `json:"go"`
}

func versionCommand(a *app) *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and date",
		Args:  arguments(0, 0, "no arguments"),
		// Bug reports start with the version, so it works even with a broken
		// configuration file.
		PersistentPreRunE: func(*cobra.Command, []string) error { return nil },
		RunE: func(*cobra.Command, []string) error {
			if asJSON {
				return a.JSON(ownVersion())
			}
			_, err := fmt.Fprintln(a.Stdout, versionLine())
			return err
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print as JSON")
	return cmd
}

// versionLine returns the output of version and --version.
func versionLine() string {
	b := ownVersion()
	short := b.Commit[:min(12, len(b.Commit))]
	return fmt.Sprintf("deskhand %s (commit %s, %s) %s %s", b.Version, cmp.Or(short, "unknown"), cmp.Or(b.Date, "date unknown"), b.Platform, b.Go)
}

func buildVersion() string { return ownVersion().Version }

func ownVersion() build {
	b := build{Version: version, Commit: commit, Date: date, Platform: runtime.GOOS + "/" + runtime.GOARCH, Go: runtime.Version()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		b.Version = cmp.Or(b.Version, "dev")
		return b
	}
	if info.Main.Version != "(devel)" {
		b.Version = cmp.Or(b.Version, info.Main.Version)
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = cmp.Or(b.Commit, s.Value)
		case "vcs.time":
			b.Date = cmp.Or(b.Date, s.Value)
		}
	}
	at, rev := ofPseudoVersion(b.Version)
	b.Version, b.Commit, b.Date = cmp.Or(b.Version, "dev"), cmp.Or(b.Commit, rev), cmp.Or(b.Date, at)
	return b
}

// pseudo matches the time and commit in a pseudo-version, which Go gives to a
// commit without a tag.
var pseudo = regexp.MustCompile(`[-.](\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)-([0-9a-f]{12})(?:\+.*)?$`)

func ofPseudoVersion(v string) (date, commit string) {
	f := pseudo.FindStringSubmatch(v)
	if f == nil {
		return "", ""
	}
	return fmt.Sprintf("%s-%s-%sT%s:%s:%sZ", f[1], f[2], f[3], f[4], f[5], f[6]), f[7]
}
