package worktree

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// A worktree shares the git folder of the user's repository: its configuration,
// hooks, refs and objects. While an agent runs in a sandbox, it gets its own
// git folder, which borrows the objects. The agent commits and creates branches
// there, and LeaveBox copies the agent's results into the repository. The
// checkout's .git file names the git folder in use. The box's folder is created
// before that file changes, and removed after it changes back, so a kill in
// between loses nothing.
//
//	.box/ATTEMPT/REPO/common    refs, objects and configuration for the agent
//	.box/ATTEMPT/REPO/admin     a linked worktree's own files, for example HEAD and index
//	.box/ATTEMPT/REPO/state     where the box came from; no sandbox shows it

// Box lists the parts of an attempt that a sandbox shows, in addition to the rest of
// the system.
type Box struct {
	// Seal lists folders that appear empty. Read lists folders and files inside
	// them that stay visible. Write lists the folders and files that the agent
	// may change.
	Seal, Read, Write []string
}

const boxFolder = ".box"

// Names of the parts of a box.
const (
	boxCommon  = "common"
	boxAdmin   = "admin"
	boxState   = "state"
	boxEntered = "entered" // the agent may have worked in it
	boxNew     = ".new"    // suffix of a box that is being created
	boxDone    = ".done"   // suffix of a box whose content is in the repository
)

// boxed is the content of a box's state file.
type boxed struct {
	Admin  string            // the worktree's folder in the user's repository
	Before map[string]string // refs and their values when the box was created
}

func (t Tree) boxDir(r Repo) string {
	return filepath.Join(filepath.Dir(t.Dir), boxFolder, filepath.Base(t.Dir), r.Name)
}

// EnterBox gives each worktree its own git folder, for a run in a sandbox. The
// attempt must have no running process. [Tree.LeaveBox] undoes EnterBox.
func (t Tree) EnterBox(ctx context.Context) (Box, error) {
	b := Box{Write: []string{t.Dir}}
	if _, err := t.LeaveBox(ctx); err != nil {
		return b, err
	}
	for _, r := range t.Repos {
		if !t.present(ctx, r) {
			return b, missing(r)
		}
		common, err := commonDir(ctx, r.Path)
		if err == nil {
			err = t.enter(ctx, r, common)
		}
		if err != nil {
			return b, fmt.Errorf("create the sandbox's git folder for %s: %w", r.Name, err)
		}
		s, err := readBox(t.boxDir(r))
		if err != nil {
			return b, err
		}
		b.Seal = append(b.Seal, common, r.Path)
		b.Read = append(b.Read, filepath.Join(common, "objects"), filepath.Join(common, "lfs", "objects"))
		b.Read = append(b.Read, alternates(filepath.Join(common, "objects"), 5)...)
		b.Write = append(b.Write, filepath.Join(t.boxDir(r), boxCommon), filepath.Join(t.boxDir(r), boxAdmin), filepath.Join(s.Admin, "modules"))
	}
	return b, nil
}

// Sealed returns the user's repositories and their git folders, which a sandbox hides.
func (t Tree) Sealed(ctx context.Context) (dirs []string, err error) {
	for _, r := range t.Repos {
		common, err := commonDir(ctx, r.Path)
		if err != nil {
			return nil, err
		}
		dirs = append(dirs, common, r.Path)
	}
	return dirs, nil
}

// GitFiles returns the files that name each worktree's git folder. An agent has no
// reason to change them.
func (t Tree) GitFiles() (files []string) {
	for _, r := range t.Repos {
		files = append(files, filepath.Join(t.path(r), ".git"))
	}
	return files
}

func (t Tree) enter(ctx context.Context, r Repo, common string) error {
	own, err := gitDir(ctx, t.path(r))
	if err != nil {
		return err
	}
	admin, err := resolved(t.path(r), own)
	if err != nil {
		return err
	}
	box := t.boxDir(r)
	made := box + boxNew
	if err := errors.Join(os.RemoveAll(made), os.MkdirAll(made, 0o700)); err != nil {
		return err
	}
	before, err := t.lend(ctx, r, common, filepath.Join(made, boxCommon))
	if err != nil {
		return err
	}
	if err := lendAdmin(admin, filepath.Join(made, boxAdmin)); err != nil {
		return err
	}
	state, err := json.Marshal(boxed{admin, before})
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(made, boxState), state, 0o600); err != nil {
		return err
	}
	if err := os.Rename(made, box); err != nil {
		return err
	}
	if err := t.point(r, filepath.Join(box, boxAdmin)); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(box, boxEntered), nil, 0o600)
}

// point makes the checkout's .git file name gitDir. It replaces whatever the
// file named before.
func (t Tree) point(r Repo, gitDir string) error {
	temp := filepath.Join(t.Dir, marker+"-git")
	at := filepath.Join(t.path(r), ".git")
	if err := os.RemoveAll(temp); err != nil {
		return err
	}
	if err := os.WriteFile(temp, []byte("gitdir: "+filepath.ToSlash(gitDir)+"\n"), 0o644); err != nil {
		return err
	}
	if info, err := os.Lstat(at); err == nil && info.IsDir() {
		// The agent has put a repository in the file's place. The repository is
		// kept.
		if err := os.Rename(at, at+"-of-the-agent"); err != nil {
			return err
		}
	}
	return os.Rename(temp, at)
}

// nothingHere is the HEAD of a git folder that has nothing checked out.
const nothingHere = "ref: refs/deskhand/none\n"

// lend creates a box's common folder: it copies the refs, and borrows the
// objects. No other worktree shares this folder.
func (t Tree) lend(ctx context.Context, r Repo, common, to string) (before map[string]string, err error) {
	for _, dir := range []string{"objects/info", "objects/pack", "refs/heads", "refs/tags", "info"} {
		if err := os.MkdirAll(filepath.Join(to, filepath.FromSlash(dir)), 0o700); err != nil {
			return nil, err
		}
	}
	settings, err := t.lentSettings(ctx, r)
	if err != nil {
		return nil, err
	}
	packed, before, err := t.lentRefs(ctx, r)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{
		"objects/info/alternates": filepath.Join(common, "objects") + "\n",
		"packed-refs":             packed,
		"HEAD":                    nothingHere,
		"config":                  settings,
	} {
		if err := os.WriteFile(filepath.Join(to, filepath.FromSlash(name)), []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"shallow", "info/exclude", "info/attributes", "info/sparse-checkout"} {
		text, err := os.ReadFile(filepath.Join(common, filepath.FromSlash(name)))
		if name == "info/exclude" {
			text, err = append(text, excluded(r.Copied)...), nil
		}
		if err != nil {
			continue // the file does not exist
		}
		if err := os.WriteFile(filepath.Join(to, filepath.FromSlash(name)), text, 0o600); err != nil {
			return nil, err
		}
	}
	return before, nil
}

// excluded returns ignore patterns for names, which [Tree.CopyIn] copied. If an
// agent adds all files, git then leaves these files out.
func excluded(names []string) (text string) {
	escape := strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `)
	for _, name := range names {
		if !strings.ContainsAny(name, "\n\r") {
			text += "\n/" + escape.Replace(name)
		}
	}
	return text + "\n"
}

// lent lists the settings that a box gets from the repository's configuration.
// They affect how git reads bytes, names and places. None of them runs a
// program.
var lent = map[string][]string{
	"core":   {"filemode", "ignorecase", "symlinks", "precomposeunicode", "autocrlf", "eol", "safecrlf", "longpaths", "sparsecheckout", "sparsecheckoutcone"},
	"user":   {"name", "email"},
	"i18n":   {"commitencoding", "logoutputencoding"},
	"remote": {"url", "fetch", "promisor", "partialclonefilter"}, "branch": {"remote", "merge"}, "submodule": {"url", "active", "branch"},
	"extensions": {"objectformat", "partialclone", "worktreeconfig"},
}

func (t Tree) lentSettings(ctx context.Context, r Repo) (string, error) {
	all, err := configuration(ctx, r.Path)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	b.WriteString("[core]\n\tbare = true\n\trepositoryformatversion = 1\n") // bare, because this folder has no checkout
	for _, s := range all {
		section, rest, _ := strings.Cut(s.key, ".")
		sub, name := "", rest
		if i := strings.LastIndex(rest, "."); i >= 0 {
			sub, name = rest[:i], rest[i+1:]
		}
		own := s.scope == "local" || section == "user" // the user's settings outside the repository are private
		if !own || !slices.Contains(lent[section], name) || strings.ContainsAny(sub+s.value, "\n\x00") {
			continue
		}
		value := s.value
		if name == "url" {
			value = withoutUser(value)
		}
		quote := strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace
		header := section
		if sub != "" {
			header += ` "` + quote(sub) + `"`
		}
		fmt.Fprintf(&b, "[%s]\n\t%s = \"%s\"\n", header, name, quote(value))
	}
	return b.String(), nil
}

// withoutUser removes the user name and password from an address.
func withoutUser(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	host, path, _ := strings.Cut(rest, "/")
	at := strings.LastIndex(host, "@")
	if !ok || at < 0 || scheme == "ssh" {
		return address
	}
	return scheme + "://" + host[at+1:] + "/" + path
}

// lentRefs returns the refs for a box, as the content of a packed-refs file and
// as a map of values. They are the user's refs, and the refs that this
// attempt's agent created in earlier boxes. The latter get their original
// names.
func (t Tree) lentRefs(ctx context.Context, r Repo) (packed string, before map[string]string, err error) {
	out, err := git(ctx, r.Path, "for-each-ref", "--format=%(objectname) %(refname)")
	if err != nil {
		return "", nil, err
	}
	before = map[string]string{}
	made := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		id, ref, ok := strings.Cut(line, " ")
		mine, kept := strings.CutPrefix(ref, t.keptRef(""))
		switch {
		case !ok, ref == "refs/stash":
		case kept && strings.Contains(mine, "/"): // the other kept refs are for commits that had no name
			made["refs/"+mine] = id
		case !strings.HasPrefix(ref, "refs/deskhand/"):
			before[ref] = id
		}
	}
	for ref, id := range made {
		if _, theirs := before[ref]; !theirs {
			before[ref] = id
		}
	}
	for _, ref := range slices.Sorted(maps.Keys(before)) {
		packed += before[ref] + " " + ref + "\n"
	}
	return packed, before, nil
}

// keptRef returns the ref under which one of the attempt's refs is kept.
func (t Tree) keptRef(name string) string { return keptRefs + filepath.Base(t.Dir) + "/" + name }

// lendAdmin copies git's data about the worktree. It leaves submodules in
// place, because their checkouts refer to that place.
func lendAdmin(admin, to string) error {
	if err := os.MkdirAll(filepath.Join(admin, "modules"), 0o700); err != nil {
		return err
	}
	if err := copyState(admin, to, true); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "commondir"), []byte("../"+boxCommon+"\n"), 0o600); err != nil {
		return err
	}
	return os.Symlink(filepath.Join(admin, "modules"), filepath.Join(to, "modules"))
}

// ours lists files in a worktree's git folder that are never replaced by the
// agent's files. They specify where the worktree belongs, or could name a
// program to run.
var ours = []string{"commondir", "gitdir", "locked", "modules", "config", "config.worktree", "hooks", "HEAD"}

// copyState copies the files of a worktree's git folder, except locks and
// links. If in is false, it also skips the files in ours.
func copyState(from, to string, in bool) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer root.Close()
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		first, _, _ := strings.Cut(name, "/")
		at := filepath.Join(to, filepath.FromSlash(name))
		switch {
		case err != nil:
			return err
		case first == "modules", first == "locked", first == "commondir", !in && slices.Contains(ours, first):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir():
			return os.MkdirAll(at, 0o700)
		case !d.Type().IsRegular() || strings.HasSuffix(name, ".lock"):
			return nil
		}
		return copyOut(root, name, at)
	})
}

func copyOut(root *os.Root, name, to string) error {
	source, err := root.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.OpenFile(to, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(target, source)
	return errors.Join(err, target.Close())
}

// alternates returns the folders from which an object folder borrows objects,
// directly and indirectly.
func alternates(objects string, depth int) (found []string) {
	text, err := os.ReadFile(filepath.Join(objects, "info", "alternates"))
	if err != nil || depth == 0 {
		return nil
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if !filepath.IsAbs(line) {
			line = filepath.Join(objects, line)
		}
		found = append(append(found, line), alternates(line, depth-1)...)
	}
	return found
}

func readBox(dir string) (s boxed, err error) {
	text, err := os.ReadFile(filepath.Join(dir, boxState))
	if err == nil {
		err = json.Unmarshal(text, &s)
	}
	if err != nil {
		return s, fmt.Errorf("read state of the sandbox's git: %w", err)
	}
	return s, nil
}

// InBox reports whether any worktree has its own git folder now.
func (t Tree) InBox() bool {
	return slices.ContainsFunc(t.Repos, func(r Repo) bool {
		_, err := os.Lstat(t.boxDir(r))
		return err == nil
	})
}

// LeaveBox copies the results of a sandboxed run, if there are any, into the
// repositories. It moves the attempt's branch to the agent's commit, and keeps
// other branches, tags and stashes as refs under refs/deskhand/kept. The
// attempt must have no running process. moved describes, for people, what the
// agent did outside its branch.
//
// Fault: box_broken if git cannot read the folder that the agent has left. In
// that case, nothing changes.
func (t Tree) LeaveBox(ctx context.Context) (moved []string, err error) {
	var problems []error
	for _, r := range t.Repos {
		notes, err := t.leave(ctx, r)
		for _, n := range notes {
			moved = append(moved, r.Name+": "+n)
		}
		if err != nil {
			hint := "check it in " + t.boxDir(r) + ", or move that folder away to continue without it"
			if f := fault.Of(err); f != nil && f.Hint != "" {
				hint = f.Hint
			}
			problems = append(problems, fault.New(BoxBroken, fmt.Sprintf("cannot copy the agent's commits in %s into the repository: %v", r.Name, err), hint))
		}
	}
	if len(problems) == 0 {
		os.Remove(filepath.Dir(t.boxDir(Repo{Name: "x"})))
	}
	if len(problems) == 1 {
		return moved, problems[0]
	}
	return moved, errors.Join(problems...)
}

func (t Tree) leave(ctx context.Context, r Repo) (moved []string, err error) {
	box := t.boxDir(r)
	if err := t.putBack(r, box+boxDone); err != nil { // an earlier LeaveBox was interrupted in its last step
		return nil, err
	}
	if err := os.RemoveAll(box + boxNew); err != nil {
		return nil, err
	}
	if _, err := os.Lstat(box); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if _, err := os.Lstat(filepath.Join(box, boxEntered)); err == nil {
		if moved, err = t.bringHome(ctx, r, box); err != nil {
			return moved, err
		}
	}
	if err := os.Rename(box, box+boxDone); err != nil {
		return moved, err
	}
	return moved, t.putBack(r, box+boxDone)
}

// putBack makes the checkout use the user's git folder again, and removes the
// box.
func (t Tree) putBack(r Repo, done string) error {
	if _, err := os.Lstat(done); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	s, err := readBox(done)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(t.path(r)); err == nil {
		if err := t.point(r, s.Admin); err != nil {
			return err
		}
	}
	return removeAll(done)
}

// bringHome copies the box's objects, refs and worktree state into the
// repository. Each of its steps can be repeated.
func (t Tree) bringHome(ctx context.Context, r Repo, box string) (moved []string, err error) {
	s, err := readBox(box)
	if err != nil {
		return nil, err
	}
	common := filepath.Join(box, boxCommon)
	for _, dir := range []string{common, filepath.Join(common, "objects"), filepath.Join(common, "objects", "pack"), filepath.Join(common, "refs"), filepath.Join(box, boxAdmin)} {
		if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("%s is no longer a folder", dir)
		}
	}
	theirs, err := commonDir(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	if err := bringObjects(ctx, r, common); err != nil {
		return nil, err
	}
	if err := bringLarge(common, theirs); err != nil {
		return nil, err
	}
	refs, err := t.boxRefs(ctx, r, common)
	if err != nil {
		return nil, err
	}
	for _, id := range stashed(common) {
		refs[fmt.Sprintf("refs/stash-%.12s", id)] = id
	}
	delete(refs, "refs/stash") // the refs already include it, as the newest stash
	if moved, err = t.bringRefs(ctx, r, s.Before, refs); err != nil {
		return moved, err
	}
	head := t.boxHead(ctx, r, filepath.Join(box, boxAdmin), refs)
	return moved, bringAdmin(filepath.Join(box, boxAdmin), s.Admin, head)
}

// fewObjects is the maximum number of objects to store one by one, as "git
// fetch" does.
const fewObjects = 100

// bringObjects stores the box's objects in the repository. It copies only their
// content, and git computes their names again. It reads no configuration from
// the box.
func bringObjects(ctx context.Context, r Repo, common string) error {
	objects := filepath.Join(common, "objects")
	if err := os.RemoveAll(filepath.Join(objects, "info")); err != nil { // the folder includes alternates, which the agent may have changed
		return err
	}
	in := func(args ...string) gitCommand {
		cmd := command(ctx, r.Path, args...)
		cmd.Env = append(cmd.Env, "GIT_OBJECT_DIRECTORY="+objects)
		return cmd
	}
	ids, err := run(in("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectname)"))
	if err != nil {
		return err
	}
	defer func() { // restores the folder as the agent left it, in case of a retry
		if theirs, err := commonDir(ctx, r.Path); err == nil {
			os.MkdirAll(filepath.Join(objects, "info"), 0o700)
			os.WriteFile(filepath.Join(objects, "info", "alternates"), []byte(filepath.Join(theirs, "objects")+"\n"), 0o600)
		}
	}()
	count := bytes.Count(ids, []byte("\n"))
	if count == 0 {
		return nil
	}
	store := []string{"unpack-objects", "-q"}
	if count > fewObjects {
		store = []string{"index-pack", "--stdin"}
	}
	pack := in("pack-objects", "--stdout", "-q")
	pack.Stdin = bytes.NewReader(ids)
	from, to := io.Pipe()
	pack.Stdout = to
	packed := make(chan error, 1)
	go func() {
		err := stream(pack)
		to.CloseWithError(err)
		packed <- err
	}()
	unpack := command(ctx, r.Path, store...)
	unpack.Stdin = from
	_, err = run(unpack)
	from.CloseWithError(io.ErrClosedPipe)
	return errors.Join(<-packed, err)
}

// boxRefs returns the box's refs that point to objects in the repository.
func (t Tree) boxRefs(ctx context.Context, r Repo, common string) (map[string]string, error) {
	settings, err := t.lentSettings(ctx, r)
	if err != nil {
		return nil, err
	}
	for name, text := range map[string]string{"config": settings, "HEAD": nothingHere} { // replaces whatever the agent wrote
		path := filepath.Join(common, name)
		if err := os.RemoveAll(path); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return nil, err
		}
	}
	cmd := command(ctx, r.Path, "for-each-ref", "--format=%(objectname) %(refname)")
	theirs, err := commonDir(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	cmd.Env = append(cmd.Env, "GIT_DIR="+common, "GIT_OBJECT_DIRECTORY="+filepath.Join(theirs, "objects"))
	out, err := run(cmd)
	if err != nil {
		return nil, err
	}
	refs := map[string]string{}
	for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
		if id, ref, ok := strings.Cut(line, " "); ok {
			refs[ref] = id
		}
	}
	return refs, nil
}

// stashed returns the commits of "git stash" in a box. Only the newest of them
// has a ref.
func stashed(common string) (ids []string) {
	root, err := os.OpenRoot(common)
	if err != nil {
		return nil
	}
	defer root.Close()
	text, err := root.ReadFile("logs/refs/stash")
	if err != nil {
		return nil
	}
	for _, line := range strings.Split(string(text), "\n") {
		if parts := strings.Fields(line); len(parts) > 1 && len(parts[1]) >= 40 && strings.Trim(parts[1], "0123456789abcdef") == "" {
			ids = append(ids, parts[1])
		}
	}
	return ids
}

// maxKept is the maximum number of refs that are kept from one box.
const maxKept = 1000

// bringRefs moves the attempt's branch, and keeps the other new refs.
func (t Tree) bringRefs(ctx context.Context, r Repo, before, after map[string]string) (moved []string, err error) {
	own := "refs/heads/" + t.Branch
	kept := 0
	for _, ref := range slices.Sorted(maps.Keys(after)) {
		id := after[ref]
		if before[ref] == id {
			continue
		}
		if ref == own {
			there, err := t.advance(ctx, r, id, before[own])
			if err != nil {
				return moved, err
			}
			if there {
				continue
			}
			moved = append(moved, "the attempt's branch was moved in the repository while the agent ran, and was left there")
		}
		if known, _ := revision(ctx, r.Path, id); strings.HasPrefix(ref, "refs/stash-") && known == "" {
			continue // the agent can write anything to the stash log
		}
		if kept++; kept > maxKept {
			return moved, fmt.Errorf("the agent created more than %d refs", maxKept)
		}
		at := t.keptRef(strings.TrimPrefix(ref, "refs/"))
		if _, err := git(ctx, r.Path, "update-ref", "-m", "deskhand: created by the agent", at, id); err != nil {
			at = t.keptRef(fmt.Sprintf("%.12s", id)) // the name is also the parent folder of another ref
			if _, err := git(ctx, r.Path, "update-ref", at, id); err != nil {
				return moved, err
			}
		}
		verb := "created"
		if before[ref] != "" {
			verb = "moved"
		}
		moved = append(moved, fmt.Sprintf("the agent %s %s in its own copy of the refs; the repository has it as %s", verb, ref, at))
	}
	return moved, nil
}

// advance moves the attempt's branch to the agent's commit, unless another
// process has moved the branch. If the move fails, for example because a killed
// git left its lock, advance returns an error. The caller can then try again.
func (t Tree) advance(ctx context.Context, r Repo, to, before string) (there bool, err error) {
	own := "refs/heads/" + t.Branch
	if now, _ := revision(ctx, r.Path, own); now == to {
		return true, nil
	}
	if _, err = git(ctx, r.Path, "update-ref", "-m", "deskhand: commits of the agent", own, to, before); err == nil {
		return true, nil
	}
	switch now, _ := revision(ctx, r.Path, own); {
	case now == to: // a git process that outlived its killed parent has moved it
		return true, nil
	case now != before || before == "":
		return false, nil
	}
	if common, at := commonDir(ctx, r.Path); at == nil {
		lock := filepath.Join(common, filepath.FromSlash(own)+".lock")
		if _, held := os.Lstat(lock); held == nil {
			return false, fault.New(BoxBroken, fmt.Sprintf("branch %s is locked", t.Branch), "stop the git process that is working in "+r.Path+"; if there is none, remove "+lock)
		}
	}
	return false, err
}

// boxHead returns the new content of the worktree's HEAD: the attempt's branch,
// or the commit that the agent had checked out.
func (t Tree) boxHead(ctx context.Context, r Repo, admin string, refs map[string]string) string {
	own := "ref: refs/heads/" + t.Branch
	if info, err := os.Lstat(filepath.Join(admin, "HEAD")); err != nil || !info.Mode().IsRegular() || info.Size() > 4096 {
		return own
	}
	text, err := os.ReadFile(filepath.Join(admin, "HEAD"))
	if err != nil {
		return own
	}
	said := strings.TrimSpace(string(text))
	if ref, ok := strings.CutPrefix(said, "ref: "); ok {
		if said == own {
			return own
		}
		said = refs[strings.TrimSpace(ref)]
	}
	id, err := revision(ctx, r.Path, said)
	if said == "" || err != nil || id != said {
		return own
	}
	return id
}

// bringAdmin replaces the worktree's index, logs and unfinished operations with
// the agent's.
func bringAdmin(from, to, head string) error {
	entries, err := os.ReadDir(to)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if slices.Contains(ours, e.Name()) {
			continue
		}
		if err := os.RemoveAll(filepath.Join(to, e.Name())); err != nil {
			return err
		}
	}
	if err := copyState(from, to, false); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(to, "HEAD"), []byte(head+"\n"), 0o600)
}
