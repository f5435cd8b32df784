package worktree

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// An agent can write the configuration of the repository that its worktree
// belongs to, and git runs programs that a configuration names. So no git that
// deskhand runs takes such a program from there: for each key that names one,
// the command line says what the user's own configuration says, or something
// that does nothing. The user's own filters, as those of LFS, go on to work.

// readers run nothing that a configuration names, but for fetching what a
// partial clone lacks, and no protocol is allowed for that.
var readers = []string{"rev-parse", "rev-list", "symbolic-ref", "for-each-ref", "check-ref-format", "merge-base", "cat-file", "config"}

// showing are commands that write nothing: a file whose filter is left out may
// be shown as it is on the disk.
var showing = []string{"status", "diff", "diff-files", "ls-files"}

// programs are the last parts of keys whose value git, or git-lfs, runs.
var programs = []string{"askpass", "alternaterefscommand", "cmd", "command", "defaultkeycommand", "difffilter", "driver", "editor", "external", "gitproxy",
	"helper", "packobjectshook", "program", "receivepack", "recentobjectshook", "sshcommand", "standalonetransferagent", "textconv", "uploadpack", "vcs"}

// maxForeign is how many such keys a repository may have.
const maxForeign = 200

// setting is one value of a configuration.
type setting struct {
	scope, key, value string
}

// guard adds to a git what keeps the programs of the repository's configuration
// from running.
func guard(cmd gitCommand) (gitCommand, error) {
	if slices.Contains(readers, cmd.verb) {
		return cmd, nil
	}
	dirs := []string{cmd.Dir}
	if slices.Contains(cmd.args, "--ignore-submodules=none") { // git looks into each, with its configuration
		dirs = append(dirs, submodules(cmd.ctx, cmd.Dir)...)
	}
	strict := !slices.Contains(showing, cmd.verb)
	var env []string // which other repository it is for, if it says so
	for _, v := range cmd.Env {
		if strings.HasPrefix(v, "GIT_DIR=") {
			env = []string{v}
		}
	}
	for _, dir := range dirs {
		all, err := configuration(cmd.ctx, dir, env...)
		if err != nil {
			return cmd, err
		}
		over, err := overrides(all, strict)
		if err != nil {
			return cmd, err
		}
		for _, o := range over {
			cmd.over = append(cmd.over, "-c", o)
		}
	}
	return cmd, nil
}

// configuration is all that git reads in dir, or with env.
func configuration(ctx context.Context, dir string, env ...string) (all []setting, err error) {
	cmd := command(ctx, dir, "config", "--list", "--includes", "--show-scope", "-z")
	cmd.Env = append(cmd.Env, env...)
	out, err := run(cmd)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of git: %w", err)
	}
	parts := fields(out)
	for i := 0; i+1 < len(parts); i += 2 {
		key, value, set := strings.Cut(parts[i+1], "\n")
		if !set {
			value = "true" // a key that stands alone
		}
		all = append(all, setting{parts[i], key, value})
	}
	return all, nil
}

// overrides are settings that take the place of what the repository says.
// strict makes git refuse a file whose filter is left out.
func overrides(all []setting, strict bool) (over []string, err error) {
	users := map[string]string{}
	foreign := map[string]bool{}
	helpers := []string{"credential.helper="} // of which all run but those before an empty one
	reset := false
	for _, s := range all {
		helper := strings.HasPrefix(s.key, "credential.") && strings.HasSuffix(s.key, ".helper")
		switch own := s.scope != "local" && s.scope != "worktree"; {
		case own && helper && s.scope != "command":
			helpers = append(helpers, s.key+"="+s.value)
		case own && s.scope != "command":
			users[s.key] = s.value
		case own:
		case helper:
			reset = true
		default:
			for _, key := range runs(s) {
				foreign[key] = true
			}
		}
	}
	if len(foreign) > maxForeign {
		return nil, fault.New(ConfigRefused, fmt.Sprintf("the repository's configuration names %d programs", len(foreign)), "take them out: git config --local --edit")
	}
	for key := range foreign {
		if strings.Contains(key, "=") { // git -c would cut it there
			return nil, fault.New(ConfigRefused, fmt.Sprintf("the repository's configuration has %q, which names a program", key), "take it out: git config --local --edit")
		}
		value, mine := users[key]
		if !mine {
			value = harmless(key, users, strict)
		}
		over = append(over, key+"="+value)
	}
	slices.Sort(over)
	if reset {
		over = append(over, helpers...)
	}
	return over, nil
}

// runs names the keys that must not be taken from the repository because of a
// setting that it has. A user's clean and smudge do not run where the repository
// has a process: git takes that in their place, even if it is empty.
func runs(s setting) []string {
	section, rest, _ := strings.Cut(s.key, ".")
	last := rest[strings.LastIndex(rest, ".")+1:]
	switch {
	case section == "filter": // and without it git must not go on, see harmless
		return []string{s.key, strings.TrimSuffix(s.key, last) + "required"}
	case strings.HasPrefix(s.key, "lfs.extension."):
		return []string{s.key}
	case strings.HasPrefix(s.key, "lfs.customtransfer.") && last == "path", section == "pager":
		return []string{s.key}
	case section == "submodule" && last == "update":
		if strings.HasPrefix(s.value, "!") {
			return []string{s.key}
		}
	case s.key == "core.editor", s.key == "sequence.editor", slices.Contains(programs, last):
		return []string{s.key}
	}
	return nil
}

// harmless is the value of a key about which the user says nothing.
func harmless(key string, users map[string]string, strict bool) string {
	section, rest, _ := strings.Cut(key, ".")
	switch last := rest[strings.LastIndex(rest, ".")+1:]; {
	case section == "filter" && last == "required":
		name := strings.TrimSuffix(key, last)
		users := users[name+"clean"] + users[name+"smudge"] + users[name+"process"]
		return fmt.Sprint(strict && users == "")
	case section == "filter", section == "lfs":
		return "" // none
	case section == "submodule":
		return "checkout"
	case last == "textconv":
		return "cat"
	}
	return "false" // a program that does nothing and says that it failed
}

// submodules are the folders in which another repository is checked out at a
// place that the index names, and those inside of them.
func submodules(ctx context.Context, dir string) (found []string) {
	const deepest = 10
	var look func(dir string, depth int)
	look = func(dir string, depth int) {
		if depth > deepest {
			return
		}
		for _, name := range gitlinks(ctx, dir) {
			inside := filepath.Join(dir, filepath.FromSlash(name))
			if _, err := os.Lstat(filepath.Join(inside, ".git")); err == nil {
				found = append(found, inside)
				look(inside, depth+1)
			}
		}
	}
	look(dir, 0)
	return found
}

// gitlinks are the names at which the index has a commit of another repository.
func gitlinks(ctx context.Context, dir string) (names []string) {
	err := each(inTree(ctx, dir, "ls-files", "--stage", "-z"), func(line string) error {
		if mode, name, ok := strings.Cut(line, "\t"); ok && strings.HasPrefix(mode, "160000 ") {
			names = append(names, name)
		}
		return nil
	})
	if err != nil {
		return nil
	}
	return names
}
