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

// An agent can write the configuration of its worktree's repository, and git
// runs programs that the configuration names. deskhand therefore never lets git
// run a program from that configuration. For each key that names a program, the
// command line sets the value from the user's own configuration, or a harmless
// value. The user's own filters, for example those of LFS, still work.

// readers lists the git commands that run no program from the configuration,
// except to fetch objects missing from a partial clone. Such a fetch fails,
// because no protocol is allowed for it.
var readers = []string{"rev-parse", "rev-list", "symbolic-ref", "for-each-ref", "check-ref-format", "merge-base", "cat-file", "config"}

// showing lists the git commands that write nothing. If a file's filter is not
// run, they may show the file unfiltered.
var showing = []string{"status", "diff", "diff-files", "ls-files"}

// programs lists the last parts of keys whose values are programs that git or
// git-lfs runs.
var programs = []string{"askpass", "alternaterefscommand", "cmd", "command", "defaultkeycommand", "difffilter", "driver", "editor", "external", "gitproxy",
	"helper", "packobjectshook", "program", "receivepack", "recentobjectshook", "sshcommand", "standalonetransferagent", "textconv", "uploadpack", "vcs"}

// maxForeign is the maximum number of such keys in a repository's configuration.
const maxForeign = 200

// setting is one value from git's configuration.
type setting struct {
	scope, key, value string
}

// guard adds arguments to cmd, so that programs in the repository's
// configuration do not run.
func guard(cmd gitCommand) (gitCommand, error) {
	if slices.Contains(readers, cmd.verb) {
		return cmd, nil
	}
	dirs := []string{cmd.Dir}
	if slices.Contains(cmd.args, "--ignore-submodules=none") { // git enters each submodule, with its configuration
		dirs = append(dirs, submodules(cmd.ctx, cmd.Dir)...)
	}
	strict := !slices.Contains(showing, cmd.verb)
	var env []string // with GIT_DIR, if the command names another repository
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

// configuration returns all settings that git reads in dir. env is added to
// git's environment.
func configuration(ctx context.Context, dir string, env ...string) (all []setting, err error) {
	list := []string{"config", "--list", "--includes", "--show-scope", "-z"}
	var out []byte
	if len(env) == 0 {
		out, err = settled(ctx, dir, list...)
	} else {
		cmd := command(ctx, dir, list...)
		cmd.Env = append(cmd.Env, env...)
		out, err = run(cmd)
	}
	if err != nil {
		return nil, fmt.Errorf("read git's configuration: %w", err)
	}
	parts := fields(out)
	for i := 0; i+1 < len(parts); i += 2 {
		key, value, set := strings.Cut(parts[i+1], "\n")
		if !set {
			value = "true" // a key without a value
		}
		all = append(all, setting{parts[i], key, value})
	}
	return all, nil
}

// overrides returns settings that replace the repository's settings. If strict
// is set, git refuses a file if the file's filter is left out.
func overrides(all []setting, strict bool) (over []string, err error) {
	users := map[string]string{}
	foreign := map[string]bool{}
	helpers := []string{"credential.helper="} // git runs all helpers after the last empty one
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
		return nil, fault.New(ConfigRefused, fmt.Sprintf("the repository's configuration names %d programs", len(foreign)), "remove them: git config --local --edit")
	}
	for key := range foreign {
		if strings.Contains(key, "=") { // git -c would split the key there
			return nil, fault.New(ConfigRefused, fmt.Sprintf("the repository's configuration has %q, which names a program", key), "remove it: git config --local --edit")
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

// runs returns the keys whose values must not come from the repository, given
// the repository's setting s. If the repository sets a filter's process, the
// user's clean and smudge do not run either, because git prefers process even
// if it is empty.
func runs(s setting) []string {
	section, rest, _ := strings.Cut(s.key, ".")
	last := rest[strings.LastIndex(rest, ".")+1:]
	switch {
	case section == "filter": // git must not continue without the filter; see harmless
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

// harmless returns the value for a key that the user does not set.
func harmless(key string, users map[string]string, strict bool) string {
	section, rest, _ := strings.Cut(key, ".")
	switch last := rest[strings.LastIndex(rest, ".")+1:]; {
	case section == "filter" && last == "required":
		name := strings.TrimSuffix(key, last)
		users := users[name+"clean"] + users[name+"smudge"] + users[name+"process"]
		return fmt.Sprint(strict && users == "")
	case section == "filter", section == "lfs":
		return "" // no program
	case section == "submodule":
		return "checkout"
	case last == "textconv":
		return "cat"
	}
	return "false" // a program that does nothing and fails
}

// submodules returns the folders that the index records as submodules and in
// which a repository is checked out. It includes nested submodules.
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

// gitlinks returns the paths at which the index records a commit of another
// repository.
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
