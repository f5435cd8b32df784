package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
	"github.com/deskhand/deskhand/runtime/text"
)

// isRepository reports whether an address may be a git repository: a URL, the short
// form of an ssh address, or the path of a local repository followed by "#" and a
// revision.
func isRepository(address string) bool {
	at, _, named := strings.Cut(address, "#")
	return strings.Contains(at, "://") || shortSSH().MatchString(at) || named && isFolder(at)
}

// shortSSH matches USER@HOST:PATH.
var shortSSH = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9._-]+@[A-Za-z0-9.-]+:[^-]`) })

// gitWait is the timeout for a git call. It is long because fetching a large
// repository takes minutes.
const gitWait = 20 * time.Minute

// revisionPattern matches a branch, tag or commit.
var revisionPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._/+@-]*$`) })

// openRepository fetches one revision of a repository, without the history. If the
// docs folder is known, openRepository fetches only the files in that folder.
func openRepository(ctx context.Context, address string, o Options) (*Source, error) {
	at, ref, _ := strings.Cut(address, "#")
	if ref != "" && (!revisionPattern().MatchString(ref) || strings.Contains(ref, "..")) {
		return nil, fault.New("bad_source", fmt.Sprintf("'%s' is not a branch, tag or commit", ref), "write it after a #, for example https://example.com/docs.git#v1.2.0")
	}
	local := isFolder(at)
	if local {
		abs, err := filepath.Abs(at)
		if err != nil {
			return nil, fmt.Errorf("find %s: %w", at, err)
		}
		at = abs
	}
	s := &Source{Name: nameOf(at), Version: versionOf(ref), Address: WithoutPassword(at)}
	if ref != "" {
		s.Address += "#" + ref
	}
	g := gitCalls{address: at, shown: WithoutPassword(at), local: local || strings.HasPrefix(at, "file://"), mostFiles: maxCheckoutFiles, mostBytes: maxCheckout}
	if err := g.connectThroughProxy(ctx); err != nil {
		return nil, err
	}
	defer g.proxy.Close()
	if o.Known != "" {
		if commit, err := g.remote(ctx, cmp.Or(ref, "HEAD")); err == nil && commit == o.Known {
			s.Revision = commit
			return s, ErrUnchanged
		}
	}
	if err := s.copied(); err != nil {
		return nil, err
	}
	g.dir = s.Root
	var err error
	if s.Revision, err = g.checkout(ctx, cmp.Or(ref, "HEAD"), o.Path); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// versionTag matches a tag that contains a version.
var versionTag = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:.*[/@-])?v?(\d+(?:\.\d+)+(?:[-+.][0-9A-Za-z.+-]+)?|\d+)$`)
})

// versionOf returns the version in a tag, for example in v1.2.0, pkg@1.2.0 or
// release-3.1. It returns "" if ref contains no version, for example if it is a branch
// or commit.
func versionOf(ref string) string {
	if m := versionTag().FindStringSubmatch(ref); m != nil && !commitHash().MatchString(ref) {
		return m[1]
	}
	return ""
}

var commitHash = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[0-9a-f]{7,64}$`) })

// gitCalls runs git for one repository address.
type gitCalls struct {
	address, shown, dir string
	local               bool
	mostFiles           int // in dir
	mostBytes           int64
	proxy               *gitProxy // nil if git connects itself
}

// connectThroughProxy starts the proxy for an address with http. The user's git
// configuration may replace the address, and then names the host.
func (g *gitCalls) connectThroughProxy(ctx context.Context) error {
	if g.local || !strings.Contains(g.address, "://") {
		return nil
	}
	at := g.address
	if out, err := g.run(ctx, "", "ls-remote", "--get-url", "--", g.address); err == nil {
		at = strings.TrimSpace(string(out))
	}
	var err error
	g.proxy, err = startGitProxy(ctx, at)
	return err
}

// remote returns the commit of a branch or tag in the remote repository. If ref
// is a commit, remote returns ref.
func (g gitCalls) remote(ctx context.Context, ref string) (string, error) {
	if len(ref) == 40 && commitHash().MatchString(ref) {
		return ref, nil
	}
	out, err := g.run(ctx, "", "ls-remote", "--", g.address, ref, ref+"^{}")
	if err != nil {
		return "", err
	}
	commit := ""
	for line := range strings.Lines(string(out)) {
		hash, name, _ := strings.Cut(strings.TrimSpace(line), "\t")
		if name == ref || name == "refs/heads/"+ref || name == "refs/tags/"+ref && commit == "" || strings.HasSuffix(name, "^{}") {
			commit = hash
		}
	}
	if commit == "" {
		return "", fault.New("source_failed", fmt.Sprintf("%s has no '%s'", g.shown, ref), "use an existing branch, tag or commit")
	}
	return commit, nil
}

// checkout fetches ref, checks out the docs and returns the commit.
func (g gitCalls) checkout(ctx context.Context, ref, folder string) (commit string, err error) {
	if err := os.Mkdir(g.dir, 0o700); err != nil {
		return "", fmt.Errorf("create a folder for %s: %w", g.shown, err)
	}
	steps := [][]string{
		{"init", "--quiet", "--template="},
		{"config", "remote.origin.url", g.address},
		{"config", "remote.origin.promisor", "true"},
		{"config", "remote.origin.partialclonefilter", "blob:none"},
		{"fetch", "--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--filter=blob:none", "origin", ref},
	}
	ctx, stop := g.bounded(ctx)
	defer func() { err = cmp.Or(stop(), err) }()
	for i, step := range steps {
		if _, err := g.run(ctx, g.dir, step...); err != nil {
			return "", err
		}
		if i == 0 {
			if err := put(g.dir, ".git/info/attributes", []byte(plainFiles)); err != nil {
				return "", err
			}
		}
	}
	out, err := g.run(ctx, g.dir, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
	if err != nil {
		return "", err
	}
	commit = strings.TrimSpace(string(out))
	names, err := g.run(ctx, g.dir, "ls-tree", "-r", "-z", "--name-only", commit)
	if err != nil {
		return "", err
	}
	folder = docsAmong(strings.Split(string(names), "\x00"), folder)
	if folder != "." {
		if _, err := g.run(ctx, g.dir, "sparse-checkout", "set", "--no-cone", "/"+escapeGlob(folder)+"/", "/LICEN*", "/licen*", "/COPYING*"); err != nil {
			return "", err
		}
	}
	_, err = g.run(ctx, g.dir, "checkout", "--quiet", "--detach", "--no-recurse-submodules", commit)
	return commit, err
}

// plainFiles are attributes that override those of the repository and of the user. Files are
// then checked out as they are in the repository: git runs no filters, for example of Git LFS,
// and converts no line ends.
const plainFiles = "* -filter -text -ident !eol !working-tree-encoding\n"

// sizeEvery is the time between two looks at the size of a checkout.
const sizeEvery = 500 * time.Millisecond

// Limits on a repository with its checkout.
const (
	maxCheckout      = 4 << 30
	maxCheckoutFiles = 500_000
)

// bounded returns a context that ends when the repository's folder exceeds its limits. git
// has none, and a small pack can contain any number of large files. stop ends the check and
// returns the fault if the folder is too large.
func (g gitCalls) bounded(ctx context.Context) (_ context.Context, stop func() error) {
	ctx, cancel := context.WithCancelCause(ctx)
	large := fault.New("source_failed", fmt.Sprintf("%s is too large: more than %d MiB or %d files", g.shown, g.mostBytes>>20, g.mostFiles),
		"pass the folder with the docs with --path, or clone it yourself and pass the folder")
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(sizeEvery); ; {
			select {
			case <-done:
				tick.Stop()
				return
			case <-tick.C:
				if g.exceeds() {
					cancel(large)
				}
			}
		}
	}()
	return ctx, func() error {
		close(done)
		<-ended
		tooLarge := context.Cause(ctx) == error(large)
		cancel(nil)
		if tooLarge || g.exceeds() {
			return large
		}
		return nil
	}
}

// exceeds reports whether the repository's folder is larger than it may be.
func (g gitCalls) exceeds() bool {
	files, bytes := 0, int64(0)
	_ = filepath.WalkDir(g.dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return nil // git has removed it
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			bytes += info.Size()
		}
		if files++; files > g.mostFiles || bytes > g.mostBytes {
			return fs.SkipAll
		}
		return nil
	})
	return files > g.mostFiles || bytes > g.mostBytes
}

// docsAmong returns the folder to check out. This is wanted if it is set, or else
// the first of Folders in which names has docs. If there is none, docsAmong
// returns the whole repository.
func docsAmong(names []string, wanted string) string {
	if wanted != "" {
		return path.Clean(wanted)
	}
	for _, isDocs := range docsBy {
		for _, folder := range Folders {
			if slices.ContainsFunc(names, func(name string) bool { return strings.HasPrefix(name, folder+"/") && isDocs(name) }) {
				return folder
			}
		}
	}
	return "."
}

// escapeGlob returns a git pattern that matches only the path s.
func escapeGlob(s string) string {
	return regexp.MustCompile(`[*?\[\]\\!# ]`).ReplaceAllString(s, `\$0`)
}

// run runs git in such a way that git runs nothing from a repository: no hooks, no
// submodules, no helper protocols and no terminal prompts. The user's git configuration
// applies, because it contains credentials and proxies.
func (g gitCalls) run(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitWait)
	defer cancel()
	safe := []string{
		"-c", "core.hooksPath=" + os.DevNull, "-c", "core.symlinks=false", "-c", "core.fsmonitor=false",
		"-c", "submodule.recurse=false", "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.detachedHead=false",
	}
	cmd := exec.CommandContext(ctx, "git", append(safe, args...)...)
	cmd.Dir, cmd.WaitDelay = dir, 5*time.Second
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_SSH") || strings.HasPrefix(v, "GIT_CONFIG_") || strings.HasPrefix(v, "GIT_PROXY") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	protocols := "https:http:ssh:git"
	if g.local {
		protocols += ":file"
	}
	cmd.Env = append(g.proxy.environment(cmd.Env), "GIT_ALLOW_PROTOCOL="+protocols, "GIT_TERMINAL_PROMPT=0", "GIT_LFS_SKIP_SMUDGE=1", "GIT_ASKPASS=", "LC_ALL=C")
	if os.Getenv("GIT_SSH_COMMAND") == "" {
		cmd.Env = append(cmd.Env, "GIT_SSH_COMMAND=ssh -oBatchMode=yes")
	}
	stdout, stderr := &limited{most: maxNames, full: cancel}, &text.Tail{Max: 64 << 10} // longer than an address, which may have a password
	cmd.Stdout, cmd.Stderr = stdout, stderr
	err := cmd.Run()
	if err == nil {
		return stdout.kept.Bytes(), nil
	}
	if stdout.cut {
		return nil, fault.New("source_failed", fmt.Sprintf("%s has too many files: their names alone take more than %d MiB", g.shown, maxNames>>20),
			"clone it yourself and pass the folder with the docs")
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	hint := "check the address, the revision and your access: git ls-remote " + g.shown
	said := strings.TrimPrefix(strings.ReplaceAll(stderr.LastLine(), g.address, g.shown), "fatal: ")
	said = text.Shorten(text.Plain(said), 300)
	if failure := g.proxy.failure(); failure != nil {
		said = failure.Error() // git saw only that its proxy has no connection
		if refused := new(netguard.Refused); errors.As(failure, &refused) {
			hint = "if the new address is correct, use it"
		}
	}
	return nil, fault.New("source_failed", fmt.Sprintf("git %s of %s failed: %s", args[0], g.shown, cmp.Or(said, err.Error())), hint)
}

// maxNames is a limit on the output of git: on the names of a revision's files.
const maxNames = 64 << 20

// limited keeps the first bytes of what is written to it. Then it calls full, which ends
// the program that writes.
type limited struct {
	kept bytes.Buffer // not embedded, because its ReadFrom has no limit
	most int
	full func()
	cut  bool
}

// Write implements [io.Writer].
func (l *limited) Write(p []byte) (int, error) {
	if l.kept.Len()+len(p) > l.most {
		l.cut = true
		l.full()
		return 0, errors.New("too much output")
	}
	return l.kept.Write(p)
}
