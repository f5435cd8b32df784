package worktree

import (
	"bufio"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Machines that share a store exchange the commits of an attempt as git bundles, or as a
// ref of the remote. The receiving machine gets objects and one ref of ours: see
// [Repo.Ref]. A bundle is data from agents. Git therefore never fetches from it: Receive
// reads its header, measures its objects, and lets git index the pack with all checks of
// fsck, which no version of git applies to bundles by default.

// sharedRefs is the prefix of refs to work that other machines have shared.
const sharedRefs = "refs/deskhand/shared/"

// remoteRefs is the prefix of the refs on a remote through which machines share work.
const remoteRefs = "refs/deskhand/attempts/"

// SharedRef returns the ref to an attempt's shared work. Both IDs are ours.
func SharedRef(attemptID, repoID string) string { return sharedRefs + attemptID + "/" + repoID }

// ref returns the full name of the ref with the attempt's work in a repository.
func (t Tree) ref(r Repo) string {
	if r.Ref != "" {
		return r.Ref
	}
	return "refs/heads/" + t.Branch
}

// Tip returns the last commit of the attempt's work in a repository. After
// [Tree.Foresee], it may be a commit that only a plan uses.
func (t Tree) Tip(ctx context.Context, r Repo) (string, error) {
	if f, ok := t.foreseen[r.Name]; ok {
		return f.head, nil
	}
	return revision(ctx, r.Path, t.ref(r))
}

// ErrTooBig reports a bundle that exceeds its limit.
var ErrTooBig = errors.New("the bundle is too big")

// Bundle writes the commits of the attempt's branch that other machines lack to a file, at
// most limit bytes. since is the tip of the last bundle; if the branch does not contain it,
// or it is empty, the bundle holds everything since the remote's branches or, without a
// remote, since the attempt's base. since of the result is empty if so.
// The size is 0 if other machines lack nothing. Error: [ErrTooBig].
func (t Tree) Bundle(ctx context.Context, r Repo, file, since string, limit int64) (b Bundled, err error) {
	if b.Tip, err = t.Tip(ctx, r); err != nil {
		return b, err
	}
	if since != "" {
		if !contains(ctx, r.Path, b.Tip, since) {
			since = ""
		}
	}
	not := []string{"^" + since}
	if b.Since = since; since == "" {
		if not, err = t.known(ctx, r); err != nil {
			return b, err
		}
	}
	out, err := git(ctx, r.Path, append([]string{"rev-list", "--count", b.Tip}, not...)...)
	if err != nil {
		return b, fmt.Errorf("count the new commits of %s: %w", r.Name, err)
	}
	if strings.TrimSpace(string(out)) == "0" {
		return b, nil
	}
	f, err := os.OpenFile(file, os.O_RDWR|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return b, fmt.Errorf("create a bundle: %w", err)
	}
	defer f.Close()
	// The branch may move while git writes. The bundle's header has the tip that it holds.
	cmd := command(ctx, r.Path, append([]string{"bundle", "create", "--quiet", "-", t.ref(r)}, not...)...)
	cmd.with = []string{"pack.threads=1", "pack.writeBitmapHashCache=false"}
	to := &limited{to: f, left: limit}
	cmd.Stdout = to
	if err := stream(cmd); err != nil {
		if to.full {
			return b, ErrTooBig
		}
		return b, fmt.Errorf("bundle the commits of %s: %w", r.Name, err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return b, err
	}
	h, err := checkBundle(f)
	if err != nil {
		return b, err
	}
	b.Tip, b.Size = h.tip, limit-to.left
	return b, f.Sync()
}

// Bundled describes a bundle.
type Bundled struct {
	Tip   string
	Since string
	Size  int64
}

// known returns arguments that exclude the commits that other machines have or can fetch.
func (t Tree) known(ctx context.Context, r Repo) ([]string, error) {
	out, err := git(ctx, r.Path, "for-each-ref", "--count=1", "--format=%(refname)", "refs/remotes/origin/")
	if err != nil {
		return nil, err
	}
	if len(out) > 0 {
		return []string{"--not", "--remotes=origin"}, nil
	}
	if r.Base == "" {
		return nil, nil
	}
	return []string{"^" + r.Base}, nil
}

// limited writes at most left bytes.
type limited struct {
	to   io.Writer
	left int64
	full bool
}

func (l *limited) Write(p []byte) (int, error) {
	if int64(len(p)) > l.left {
		l.full = true
		return 0, ErrTooBig
	}
	l.left -= int64(len(p))
	return l.to.Write(p)
}

// bundleHeader is the header of a bundle.
type bundleHeader struct {
	tip  string
	size int64 // bytes before the pack
}

// maxBundleHeader is the maximum size of a header in bytes. It has a line for each commit
// that the bundle builds on.
const maxBundleHeader = 1 << 20

// checkBundle reads a bundle with exactly one ref, whatever its name, and checks the sizes
// of its objects.
func checkBundle(f io.ReadSeeker) (h bundleHeader, err error) {
	in := bufio.NewReader(io.LimitReader(f, maxBundleHeader))
	line := func() (string, error) {
		s, err := in.ReadString('\n')
		h.size += int64(len(s))
		if err != nil {
			return "", badPack("its header is incomplete")
		}
		return strings.TrimSuffix(s, "\n"), nil
	}
	first, err := line()
	if err != nil || first != "# v2 git bundle" && first != "# v3 git bundle" {
		return h, badPack("it is not a git bundle")
	}
	for {
		s, err := line()
		switch {
		case err != nil:
			return h, err
		case s == "":
			if h.tip == "" {
				return h, badPack("the bundle has no ref")
			}
			if _, err := f.Seek(h.size, io.SeekStart); err != nil {
				return h, err
			}
			return h, checkPack(f, len(h.tip)/2)
		case strings.HasPrefix(s, "@object-format="), strings.HasPrefix(s, "-"):
		case strings.HasPrefix(s, "@"):
			return h, badPack("the bundle has the capability %q", quote(s))
		default:
			id, _, named := strings.Cut(s, " ")
			if !named || !isID(id) {
				return h, badPack("its header has a line that is not a ref")
			}
			if h.tip != "" {
				return h, badPack("the bundle has several refs")
			}
			h.tip = id
		}
	}
}

// isID reports whether s is a full object ID.
func isID(s string) bool {
	_, err := hex.DecodeString(s)
	return err == nil && (len(s) == 40 || len(s) == 64) && strings.ToLower(s) == s
}

// ErrLacking reports that a repository lacks commits that a bundle builds on.
var ErrLacking = errors.New("the repository lacks commits that the bundle builds on")

// Receive adds the objects of a bundle to the repository, and sets ref to its tip, which
// must be tip. It writes nothing else: no branch, no configuration and no file of a
// checkout, and no hook or filter runs. Errors: [ErrLacking], and a fault for a bundle that
// is not acceptable.
func (r Repo) Receive(ctx context.Context, file, tip, ref string) error {
	if !strings.HasPrefix(ref, sharedRefs) {
		return fmt.Errorf("%s is not a ref for shared work", ref)
	}
	f, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("open a bundle: %w", err)
	}
	defer f.Close()
	h, err := checkBundle(f)
	if err == nil && h.tip != tip {
		err = badPack("its commit is %.12s and not %.12s", h.tip, tip)
	}
	if err != nil {
		return unacceptable(err)
	}
	if _, err := git(ctx, r.Path, "bundle", "verify", file); err != nil {
		if strings.Contains(err.Error(), "lacks these prerequisite") {
			return ErrLacking
		}
		return unacceptable(err)
	}
	if _, err := f.Seek(h.size, io.SeekStart); err != nil {
		return err
	}
	index := command(ctx, r.Path, "index-pack", "--strict", "--fix-thin", "--stdin")
	index.with = []string{largeFiles, "pack.threads=1"}
	index.Stdin = f
	if _, err := run(index); err != nil {
		return unacceptable(err)
	}
	return r.accept(ctx, tip, ref)
}

// accept sets ref to a commit whose objects are all in the repository.
func (r Repo) accept(ctx context.Context, tip, ref string) error {
	if _, err := revision(ctx, r.Path, tip); err != nil {
		return unacceptable(fmt.Errorf("%.12s is not a commit", tip))
	}
	if _, err := git(ctx, r.Path, "rev-list", "--quiet", "--objects", tip, "--not", "--all"); err != nil {
		return unacceptable(fmt.Errorf("objects of %.12s are missing: %w", tip, err))
	}
	if _, err := git(ctx, r.Path, "update-ref", "-m", "deskhand: shared by another machine", ref, tip); err != nil {
		return fmt.Errorf("record the shared commits of %s: %w", r.Name, err)
	}
	return nil
}

func unacceptable(err error) error {
	if f := fault.Of(err); f != nil {
		return f
	}
	return fault.New(ShareRefused, fmt.Sprintf("the commits from the other machine were not accepted: %v", err),
		"review the attempt on the machine that ran it; its agent may have created objects that git considers harmful")
}

// Shared returns the commit that a ref for shared work has here, or "".
func (r Repo) Shared(ctx context.Context, ref string) string {
	tip, err := revision(ctx, r.Path, ref)
	if err != nil {
		return ""
	}
	return tip
}

// Mark sets a ref for shared work to a commit that the repository has. It returns
// [ErrLacking] if it does not have the commit.
func (r Repo) Mark(ctx context.Context, tip, ref string) error {
	if !Has(ctx, r.Path, tip) {
		return ErrLacking
	}
	return r.accept(ctx, tip, ref)
}

// Refresh fetches the branches of an address into refs of ours, so that the repository has
// the commits on which shared work builds. The branches of the person stay as they are.
func (r Repo) Refresh(ctx context.Context, address string) error {
	return r.fetch(ctx, address, "+refs/heads/*:"+sharedRefs+"origin/*", "--prune") // a deleted branch would be in the way of a folder
}

// FetchShared fetches an attempt's commit from a remote. Git checks each object. If the
// machine that shares has pushed newer commits and not yet recorded it, they are ignored.
func (r Repo) FetchShared(ctx context.Context, address, tip, ref string) error {
	name := strings.TrimPrefix(ref, sharedRefs)
	incoming := sharedRefs + "incoming/" + name
	defer git(context.WithoutCancel(ctx), r.Path, "update-ref", "-d", incoming)
	if err := r.fetch(ctx, address, "+"+remoteRefs+name+":"+incoming); err != nil {
		return err
	}
	if got := r.Shared(ctx, incoming); got != tip && !contains(ctx, r.Path, got, tip) {
		return unacceptable(fmt.Errorf("the remote has %.12s and not %.12s", got, tip))
	}
	return r.accept(ctx, tip, ref)
}

func (r Repo) fetch(ctx context.Context, address, refspec string, options ...string) error {
	return r.alone(ctx, func() error {
		args := append([]string{"fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-auto-maintenance", "--no-write-fetch-head"}, options...)
		cmd := command(ctx, r.Path, append(args, "--", address, refspec)...)
		cmd.with = []string{"fetch.fsckObjects=true", largeFiles}
		cmd.Env = append(cmd.Env, pushed)
		return unreachable(cmd, "fetch", address)
	})
}

func unreachable(cmd gitCommand, verb, address string) error {
	_, err := run(cmd)
	if err == nil || fault.Of(err) != nil {
		return err
	}
	return fault.New(NotFound, fmt.Sprintf("git cannot %s %s: %v", verb, address, err), "check on this machine: git ls-remote "+address)
}

// PushShared pushes a commit of the attempt to a ref of ours on a remote. An empty commit
// deletes the ref.
func (r Repo) PushShared(ctx context.Context, address, tip, ref string) error {
	cmd := command(ctx, r.Path, "push", "--quiet", "--no-verify", "--no-recurse-submodules", "--force", "--", address, tip+":"+remoteRefs+strings.TrimPrefix(ref, sharedRefs))
	cmd.Env = append(cmd.Env, pushed)
	return unreachable(cmd, "push to", address)
}

// ForgetShared deletes the refs to shared work of attempts for which gone is true.
func (r Repo) ForgetShared(ctx context.Context, gone func(attemptID string) bool) error {
	if r.requirePresent() != nil {
		return nil
	}
	out, err := git(ctx, r.Path, "for-each-ref", "--format=%(refname)", sharedRefs)
	if err != nil {
		return fmt.Errorf("list the shared commits in %s: %w", r.Name, err)
	}
	for _, ref := range strings.Fields(string(out)) {
		id, _, _ := strings.Cut(strings.TrimPrefix(ref, sharedRefs), "/")
		if len(id) != 36 || !gone(id) { // "origin" and "incoming" are no IDs
			continue
		}
		if _, err := git(ctx, r.Path, "update-ref", "-d", ref); err != nil {
			return fmt.Errorf("forget the shared commits in %s: %w", r.Name, err)
		}
	}
	return nil
}
