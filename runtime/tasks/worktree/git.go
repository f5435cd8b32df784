package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// settings overrides the user's configuration. Without it, that configuration
// could change the output that deskhand parses, or make git run or write more
// than requested.
var settings = []string{
	"core.hooksPath=" + os.DevNull,
	"core.fsmonitor=false",
	"core.quotePath=false",
	"core.splitIndex=false",
	"core.pager=cat",
	"color.ui=false",
	"commit.gpgSign=false",
	"gc.auto=0",
	"maintenance.auto=false",
	"advice.detachedHead=false",
	"diff.orderFile=" + os.DevNull,
	"diff.renameLimit=1000",
	"status.showUntrackedFiles=normal",
	"submodule.recurse=false",
	"worktree.guessRemote=false",
	"checkout.defaultRemote=",
	"commit.verbose=false",
	"log.showSignature=false",
}

// gitCommand is a git command to run.
type gitCommand struct {
	*exec.Cmd
	ctx  context.Context
	verb string
	args []string // arguments, including the verb
	over []string // arguments that guard adds
	with []string // settings for this command, as NAME=value
	bare bool     // run without settings, for a program that itself runs git
}

// command returns a git command that runs in dir. It uses the user's
// configuration, overridden by settings. It drops the variables that a calling
// git leaves in the environment.
func command(ctx context.Context, dir string, args ...string) gitCommand {
	cmd := exec.CommandContext(ctx, "git")
	cmd.Dir = dir
	cmd.Env = environment()
	cmd.WaitDelay = 2 * time.Second // a child of git may hold the pipe
	return gitCommand{Cmd: cmd, ctx: ctx, verb: args[0], args: args}
}

// line returns the command line with all settings. If a setting occurs twice,
// git uses the last value.
func (c gitCommand) line() []string {
	all := append([]string{"git"}, c.over...)
	general := settings
	if c.bare {
		general = nil
	}
	for _, s := range slices.Concat(general, c.with) {
		all = append(all, "-c", s)
	}
	return append(all, c.args...)
}

// inTree is like command, for a worktree. It makes dir the working tree,
// regardless of the repository's configuration.
func inTree(ctx context.Context, dir string, args ...string) gitCommand {
	cmd := command(ctx, dir, args...)
	cmd.Env = append(cmd.Env, "GIT_WORK_TREE="+dir)
	return cmd
}

// kept lists the git variables that name git's programs, the user's configuration or the
// user. It lists no others, because they could point to another repository.
var kept = map[string]bool{
	"GIT_EXEC_PATH": true, "GIT_CONFIG_GLOBAL": true, "GIT_CONFIG_SYSTEM": true, "GIT_CONFIG_NOSYSTEM": true,
	"GIT_AUTHOR_NAME": true, "GIT_AUTHOR_EMAIL": true, "GIT_COMMITTER_NAME": true, "GIT_COMMITTER_EMAIL": true,
}

func environment() []string {
	var env []string
	for _, v := range os.Environ() {
		name, _, _ := strings.Cut(v, "=")
		if !strings.HasPrefix(strings.ToUpper(name), "GIT_") || kept[strings.ToUpper(name)] {
			env = append(env, v)
		}
	}
	return append(env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_LITERAL_PATHSPECS=1", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none",
		"GIT_EDITOR=false", "GIT_SEQUENCE_EDITOR=false", "LC_ALL=C", "PAGER=cat")
}

// git runs git and returns what it printed.
func git(ctx context.Context, dir string, args ...string) ([]byte, error) {
	return run(command(ctx, dir, args...))
}

// stream runs a git command whose output goes to cmd.Stdout. If the command
// fails, the error describes why. All git commands run here.
func stream(cmd gitCommand) error {
	cmd, err := guard(cmd)
	if err != nil {
		return err
	}
	cmd.Args = cmd.line()
	said := &head{limit: 2000}
	cmd.Stderr = said
	err = cmd.Run()
	switch {
	case err == nil:
		return nil
	case len(cmd.over) > 0 && filterFailed.Match(said.Bytes()):
		name := string(filterFailed.FindSubmatch(said.Bytes())[1])
		return fault.New(FilterRefused, fmt.Sprintf("filter %q comes from the repository's own configuration, which an agent can write, so it is not run: %s", name, said.line()),
			"if it is yours, copy its settings into your own configuration: git config --global filter."+name+".clean ..., the same for smudge, process and required")
	case filterFailed.Match(said.Bytes()), largeMissing.Match(said.Bytes()):
		return fault.New(FilterFailed, "a filter from your git configuration, for example git LFS, failed: "+said.line(),
			"install the program that it runs (git-lfs for LFS), or fix the filter with git config --global, then retry; the files in the folder are unchanged")
	case errors.Is(err, exec.ErrNotFound):
		return fault.New(GitMissing, "the program git is not in PATH", "install git 2.26 or newer")
	case strings.Contains(said.String(), "dubious ownership"):
		const hint = "git config --global --add safe.directory "
		_, top, told := strings.Cut(said.String(), hint) // the path is quoted for a shell if necessary
		top, _, _ = strings.Cut(top, "\n")
		if !told {
			top = cmd.Dir
		}
		return fault.New(RepoNotTrusted, "git does not trust "+top+": it belongs to another user", hint+top)
	case strings.Contains(said.String(), "from promisor remote"):
		return fault.New(ObjectsMissing, "the repository is a partial clone and lacks required objects: "+said.line(),
			"fetch them first: check the branch out once in "+cmd.Dir+", or run git fetch --refetch --no-filter there")
	case lockHeld.Match(said.Bytes()):
		return fault.New(RepoBusy, fmt.Sprintf("another git process holds %s", lockHeld.FindSubmatch(said.Bytes())[1]),
			"retry when that process has finished; if git crashed there, remove the file")
	case strings.Contains(said.String(), "No space left on device"):
		return fault.New(DiskFull, "the disk is full: "+said.line(), "free some space, for example by removing the folders of old attempts")
	case said.Len() > 0:
		return errors.New(said.line())
	}
	if _, gone := os.Stat(cmd.Dir); gone != nil {
		return gone
	}
	return err
}

var filterFailed = regexp.MustCompile(`(?:clean|smudge) filter '?(.+?)'? failed`)

// largeMissing matches the shell's message that git-lfs is not installed. Git
// itself only reports that the remote end hung up.
var largeMissing = regexp.MustCompile(`(?m)^git-lfs .*not found$`)

// lockHeld matches git's message that the lock file it names exists.
var lockHeld = regexp.MustCompile(`Unable to create '(.+?)': File exists`)

// head holds the beginning of a program's output.
type head struct {
	bytes.Buffer
	limit int
}

func (h *head) Write(p []byte) (int, error) {
	h.Buffer.Write(p[:min(len(p), h.limit-h.Len())])
	return len(p), nil
}

// line returns the output on one line.
func (h *head) line() string {
	return strings.Join(strings.FieldsFunc(h.String(), func(r rune) bool { return r == '\n' || r == '\r' }), "; ")
}

// feed runs git with names on stdin. Each name ends with NUL.
func feed(cmd gitCommand, names []string) ([]byte, error) {
	cmd.Stdin = io.Reader(strings.NewReader(strings.Join(names, "\x00") + "\x00"))
	return run(cmd)
}

// fields splits output into parts. Each part ends with NUL.
func fields(out []byte) []string {
	if len(out) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

// revision returns the ID of the commit that name refers to.
func revision(ctx context.Context, dir, name string) (string, error) {
	out, err := git(ctx, dir, "rev-parse", "--verify", "--quiet", "--end-of-options", name+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s is not a commit: %w", name, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// commonDir returns the folder that all worktrees of a repository share.
func commonDir(ctx context.Context, dir string) (string, error) {
	out, err := settled(ctx, dir, "rev-parse", "--git-common-dir")
	if err != nil {
		return "", err
	}
	return resolved(dir, strings.TrimSuffix(string(out), "\n"))
}

// gitDir returns the folder that git keeps for a worktree alone.
func gitDir(ctx context.Context, dir string) (string, error) {
	out, err := settled(ctx, dir, "rev-parse", "--absolute-git-dir")
	return strings.TrimSuffix(string(out), "\n"), err
}

// gitPath returns the path of a file that git keeps for a worktree alone.
func gitPath(ctx context.Context, dir, name string) (string, error) {
	own, err := gitDir(ctx, dir)
	return filepath.Join(own, filepath.FromSlash(name)), err
}

func resolved(dir, path string) (string, error) {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	return filepath.EvalSymlinks(path)
}
