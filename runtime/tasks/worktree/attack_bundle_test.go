package worktree

import (
	"bytes"
	"compress/zlib"
	"crypto/sha1"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
)

const (
	sharedAttempt = "0190b5f8-0000-7000-8000-000000000001"
	sharedRepo    = "0190b5f8-0000-7000-8000-000000000002"
)

// raw writes an object that git itself would refuse to create.
func raw(t *testing.T, dir, kind string, data []byte) string {
	t.Helper()
	cmd := exec.Command("git", "hash-object", "-t", kind, "-w", "--literally", "--stdin")
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(data)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git hash-object: %v\n%s", err, out)
	}
	return strings.TrimSpace(string(out))
}

// entry is an entry of a tree as git stores it.
func entry(t *testing.T, mode, name, id string) []byte {
	t.Helper()
	bytes := make([]byte, len(id)/2)
	if _, err := fmt.Sscanf(id, "%x", &bytes); err != nil {
		t.Fatal(err)
	}
	return append([]byte(mode+" "+name+"\x00"), bytes...)
}

// personal describes everything in a repository that belongs to a person.
func personal(t *testing.T, repo string) string {
	t.Helper()
	config, err := os.ReadFile(filepath.Join(repo, ".git", "config"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join([]string{string(config), shell(t, repo, "for-each-ref", "refs/heads", "refs/tags", "refs/remotes", "refs/stash"), shell(t, repo, "rev-parse", "HEAD"), shell(t, repo, "-c", "core.hooksPath="+os.DevNull, "status", "--porcelain", "--ignored")}, "\n--\n")
}

// The objects of a bundle come from agents of another machine. What git considers harmful
// is refused, and changes nothing.
func TestAttackBundleObjects(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	blob := strings.TrimSpace(shell(t, repo, "rev-parse", "HEAD:readme.md"))
	sub := shell(t, repo, "rev-parse", "HEAD:src")
	modules := func(text string) func(string) []byte {
		return func(dir string) []byte { return entry(t, "100644", ".gitmodules", raw(t, dir, "blob", []byte(text))) }
	}
	for name, tree := range map[string]func(dir string) []byte{
		"a file in .git":               func(string) []byte { return entry(t, "40000", ".git", sub) },
		"a file in .GIT":               func(string) []byte { return entry(t, "40000", ".GIT", sub) },
		"a file in git~1":              func(string) []byte { return entry(t, "40000", "git~1", sub) },
		"a file outside":               func(string) []byte { return entry(t, "100644", "..", blob) },
		"a path as a name":             func(string) []byte { return entry(t, "100644", "../../etc/x", blob) },
		"a name twice":                 func(string) []byte { return append(entry(t, "100644", "a", blob), entry(t, "100644", "a", blob)...) },
		"a module with an option":      modules("[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch\n"),
		"a module outside":             modules("[submodule \"../../x\"]\n\tpath = x\n\turl = https://example.com/x\n"),
		"a module with a command":      modules("[submodule \"x\"]\n\tpath = x\n\turl = https://example.com/x\n\tupdate = !touch /tmp/pwned\n"),
		"a module file that is a link": func(dir string) []byte { return entry(t, "120000", ".gitmodules", blob) },
		"":                             func(string) []byte { return entry(t, "100644", "a", blob) }, // accepted
		"a missing blob":               func(string) []byte { return entry(t, "100644", "a", strings.Repeat("12", 20)) },
	} {
		t.Run(name, func(t *testing.T) {
			victim := repository2(t, repo)
			before := personal(t, victim)
			dir := filepath.Join(t.TempDir(), "objects")
			shell(t, filepath.Dir(dir), "clone", "-q", repo, dir)
			id := raw(t, dir, "tree", tree(dir))
			cmd := exec.Command("git", "commit-tree", id, "-p", "HEAD", "-m", "evil")
			cmd.Dir = dir
			out, err := cmd.Output()
			if err != nil {
				t.Fatal(err)
			}
			tip := strings.TrimSpace(string(out))
			file := filepath.Join(t.TempDir(), "bundle")
			writeBundle(t, dir, file, "refs/heads/x", tip)
			err = Repo{Name: "app", Path: victim}.Receive(t.Context(), file, tip, SharedRef(sharedAttempt, sharedRepo))
			if name == "" {
				if err != nil {
					t.Errorf("Receive of a harmless tree = %v", err)
				}
				return
			}
			wantFault(t, "Receive", err, ShareRefused)
			if now := personal(t, victim); now != before {
				t.Errorf("it changed from\n%s\nto\n%s", before, now)
			}
			if refs := shell(t, victim, "for-each-ref", "refs/deskhand"); refs != "" {
				t.Errorf("refs: %s", refs)
			}
		})
	}
}

// repository2 returns a clone with a checkout.
func repository2(t *testing.T, repo string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "victim")
	shell(t, filepath.Dir(dir), "clone", "-q", repo, dir)
	return dir
}

// writeBundle writes a bundle like git does, of a commit, its tree and the tree's blobs as
// far as they exist.
func writeBundle(t *testing.T, dir, file, ref, tip string) {
	t.Helper()
	ids := tip + "\n" + shell(t, dir, "rev-parse", tip+"^{tree}") + "\n"
	known := shell(t, dir, "cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
	old := shell(t, dir, "rev-list", "--objects", "HEAD")
	for line := range strings.Lines(known) {
		if id, kind, _ := strings.Cut(strings.TrimSpace(line), " "); kind == "blob" && !strings.Contains(old, id) {
			ids += id + "\n"
		}
	}
	cmd := exec.Command("git", "pack-objects", "--stdout", "-q")
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(ids)
	pack, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	put(t, file, "# v2 git bundle\n-"+shell(t, dir, "rev-parse", "HEAD")+" first\n"+tip+" "+ref+"\n\n"+string(pack))
}

// A bundle sets one ref of ours, whatever refs it names, and runs nothing.
func TestAttackBundleRefs(t *testing.T) {
	private(t)
	repo := repository(t, "app")
	for _, ref := range []string{"refs/heads/main", "refs/remotes/origin/main", "refs/tags/v1", "refs/deskhand/landed/x", "HEAD"} {
		t.Run(ref, func(t *testing.T) {
			victim := repository2(t, repo)
			ran := plantOne(t, victim, victim, map[string]string{"filter.pwn.clean": "{}", "filter.pwn.smudge": "{}", "fetch.fsck.skipList": "/nowhere", "core.alternateRefsCommand": "{}"}, "", true, "")
			dir := repository2(t, repo)
			put(t, filepath.Join(dir, ".gitattributes"), "* filter=pwn diff=pwn\n")
			put(t, filepath.Join(dir, "large.bin"), "version https://git-lfs.github.com/spec/v1\n")
			if err := os.Symlink("/etc/passwd", filepath.Join(dir, "link")); err != nil {
				t.Fatal(err)
			}
			shell(t, dir, "add", "-A")
			shell(t, dir, "commit", "-q", "-m", "work")
			tip, file := shell(t, dir, "rev-parse", "HEAD"), filepath.Join(t.TempDir(), "bundle")
			shell(t, dir, "bundle", "create", "-q", file, "HEAD", "^HEAD~1")
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			put(t, file, strings.Replace(string(data), tip+" HEAD\n", tip+" "+ref+"\n", 1))
			before := personal(t, victim)
			r := Repo{Name: "app", Path: victim, Target: "main", Base: shell(t, repo, "rev-parse", "main"), Ref: SharedRef(sharedAttempt, sharedRepo)}
			if err := r.Receive(t.Context(), file, tip, r.Ref); err != nil {
				t.Fatal(err)
			}
			tree := Tree{Dir: filepath.Join(t.TempDir(), "none"), Branch: "deskhand/x", Repos: []Repo{r}, Stored: true}
			if c, err := tree.Changes(t.Context(), Relaxed, false); err != nil || len(c.Files) != 3 {
				t.Errorf("Changes = %+v, %v", c, err)
			}
			if f, err := tree.File(t.Context(), "app/link", Slice{MaxBytes: 100}); err != nil || string(f.Content) != "/etc/passwd" {
				t.Errorf("File of a link = %q, %v; want where it leads", f.Content, err)
			}
			if now := personal(t, victim); now != before {
				t.Errorf("it changed from\n%s\nto\n%s", before, now)
			}
			if refs := shell(t, victim, "for-each-ref", "--format=%(refname)", "refs/deskhand"); refs != r.Ref {
				t.Errorf("refs of ours: %s", refs)
			}
			if out, err := os.ReadFile(ran); err == nil {
				t.Errorf("these ran:\n%s", out)
			}
		})
	}
	t.Run("another commit", func(t *testing.T) {
		victim, dir := repository2(t, repo), repository2(t, repo)
		shell(t, dir, "commit", "-q", "--allow-empty", "-m", "work")
		file := filepath.Join(t.TempDir(), "bundle")
		shell(t, dir, "bundle", "create", "-q", file, "HEAD", "^HEAD~1")
		err := Repo{Name: "app", Path: victim}.Receive(t.Context(), file, shell(t, repo, "rev-parse", "main"), SharedRef(sharedAttempt, sharedRepo))
		wantFault(t, "Receive of another commit", err, ShareRefused)
		shell(t, dir, "bundle", "create", "-q", file, "HEAD", "main", "^HEAD~1")
		err = Repo{Name: "app", Path: victim}.Receive(t.Context(), file, shell(t, dir, "rev-parse", "HEAD"), SharedRef(sharedAttempt, sharedRepo))
		wantFault(t, "Receive of several refs", err, ShareRefused)
		if err := (Repo{Name: "app", Path: victim}).Receive(t.Context(), file, shell(t, dir, "rev-parse", "HEAD"), "refs/heads/main"); err == nil {
			t.Error("Receive sets a branch of the person")
		}
	})
	t.Run("commits that it builds on are missing", func(t *testing.T) {
		victim, dir := repository2(t, repo), repository2(t, repo)
		shell(t, dir, "commit", "-q", "--allow-empty", "-m", "one")
		shell(t, dir, "commit", "-q", "--allow-empty", "-m", "two")
		file := filepath.Join(t.TempDir(), "bundle")
		shell(t, dir, "bundle", "create", "-q", file, "HEAD", "^HEAD~1")
		if err := (Repo{Name: "app", Path: victim}).Receive(t.Context(), file, shell(t, dir, "rev-parse", "HEAD"), SharedRef(sharedAttempt, sharedRepo)); !errors.Is(err, ErrLacking) {
			t.Errorf("Receive = %v, want ErrLacking", err)
		}
	})
}

// packOf returns a pack with the given entries, each with its content compressed.
func packOf(entries ...[]byte) []byte {
	pack := binary.BigEndian.AppendUint32([]byte("PACK\x00\x00\x00\x02"), uint32(len(entries)))
	for _, e := range entries {
		pack = append(pack, e...)
	}
	sum := sha1.Sum(pack)
	return append(pack, sum[:]...)
}

// packEntry returns an entry of a pack that announces size bytes.
func packEntry(kind byte, size uint64, more, content []byte) []byte {
	first := kind<<4 | byte(size&15)
	if size >>= 4; size > 0 {
		first |= 0x80
	}
	e := []byte{first}
	for ; size > 0; size >>= 7 {
		b := byte(size & 0x7f)
		if size>>7 > 0 {
			b |= 0x80
		}
		e = append(e, b)
	}
	var zip bytes.Buffer
	w := zlib.NewWriter(&zip)
	w.Write(content)
	w.Close()
	return append(append(e, more...), zip.Bytes()...)
}

// Git would allocate what these packs announce.
func TestAttackBundleSizes(t *testing.T) {
	id := bytes.Repeat([]byte{1}, 20)
	fine := packEntry(3, 5, nil, []byte("hello"))
	if err := checkPack(bytes.NewReader(packOf(fine, packEntry(packRefDelta, 4, id, []byte{5, 5, 0x90, 5}), packEntry(packOffsetDelta, 4, []byte{9}, []byte{5, 5, 0x90, 5}))), 20); err != nil {
		t.Errorf("checkPack of a good pack = %v", err)
	}
	count := packOf(fine)
	binary.BigEndian.PutUint32(count[8:], 4_000_000_000)
	var hours [][]byte
	for range 300 {
		hours = append(hours, packEntry(packRefDelta, 9, id, []byte{5, 0x80, 0x80, 0x80, 0x80, 1, 0x90, 5, 0x90}))
	}
	for name, pack := range map[string][]byte{
		"hours of work":            packOf(hours...),
		"a huge blob":              packOf(packEntry(3, 1<<40, nil, []byte("x"))),
		"a huge tree":              packOf(packEntry(2, 300<<20, nil, []byte("x"))),
		"a delta with huge result": packOf(packEntry(packRefDelta, 7, id, []byte{5, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})),
		"more than is announced":   packOf(packEntry(3, 5, nil, bytes.Repeat([]byte("a"), 1<<20))),
		"less than is announced":   packOf(packEntry(3, 6, nil, []byte("hello"))),
		"billions of objects":      count,
		"a size without end":       packOf(append([]byte{0xbf}, bytes.Repeat([]byte{0xff}, 30)...)),
		"no pack":                  []byte("not a pack"),
		"an end in the middle":     packOf(fine)[:16],
	} {
		t.Run(name, func(t *testing.T) {
			if err := checkPack(bytes.NewReader(pack), 20); !errors.Is(err, errPack) {
				t.Errorf("checkPack = %v, want it refused", err)
			}
		})
	}
	private(t)
	victim := repository(t, "app")
	file := filepath.Join(t.TempDir(), "bundle")
	tip := strings.Repeat("ab", 20)
	put(t, file, "# v2 git bundle\n"+tip+" refs/heads/x\n\n"+string(packOf(packEntry(3, 1<<40, nil, []byte("x")))))
	err := Repo{Name: "app", Path: victim}.Receive(t.Context(), file, tip, SharedRef(sharedAttempt, sharedRepo))
	wantFault(t, "Receive of a huge object", err, ShareRefused)
	if f := fault.Of(err); f != nil && !strings.Contains(f.Message, "1099511627776 bytes") {
		t.Errorf("Receive = %q, want it to name the size", f.Message)
	}
}

// A branch on the remote can become a folder of branches.
func TestRefreshAfterABranchBecameAFolder(t *testing.T) {
	private(t)
	remote, here := repository(t, "app"), repository(t, "app")
	shell(t, remote, "branch", "release")
	r := Repo{Name: "app", Path: here}
	if err := r.Refresh(t.Context(), remote); err != nil {
		t.Fatal(err)
	}
	other := sharedRefs + sharedAttempt + "/" + sharedRepo
	shell(t, here, "update-ref", other, "HEAD")
	shell(t, remote, "branch", "-m", "release", "release/1")
	if err := r.Refresh(t.Context(), remote); err != nil {
		t.Errorf("Refresh = %v", err)
	}
	if got, want := shell(t, here, "for-each-ref", "--format=%(refname)", sharedRefs), other+"\n"+sharedRefs+"origin/main\n"+sharedRefs+"origin/release/1"; got != want {
		t.Errorf("refs:\n%s\nwant\n%s", got, want)
	}
}

// The other machine may die between its push and the store.
func TestARemoteMayBeNewer(t *testing.T) {
	private(t)
	remote, here := repository(t, "app"), repository(t, "app")
	tip := shell(t, remote, "rev-parse", "HEAD")
	shell(t, remote, "commit", "-q", "--allow-empty", "-m", "newer")
	ref := SharedRef(sharedAttempt, sharedRepo)
	shell(t, remote, "update-ref", remoteRefs+sharedAttempt+"/"+sharedRepo, "HEAD")
	r := Repo{Name: "app", Path: here}
	if err := r.FetchShared(t.Context(), remote, tip, ref); err != nil || r.Shared(t.Context(), ref) != tip {
		t.Errorf("FetchShared = %v, and %s is at %s", err, ref, r.Shared(t.Context(), ref))
	}
	shell(t, remote, "checkout", "-q", "--orphan", "other")
	shell(t, remote, "commit", "-q", "-m", "other")
	shell(t, remote, "update-ref", remoteRefs+sharedAttempt+"/"+sharedRepo, "HEAD")
	wantFault(t, "FetchShared of another history", r.FetchShared(t.Context(), remote, tip, ref), ShareRefused)
}

// checkBundle survives any bytes.
func FuzzBundle(f *testing.F) {
	tip := strings.Repeat("ab", 20)
	f.Add([]byte("# v2 git bundle\n-" + tip + " first\n" + tip + " refs/heads/x\n\n" + string(packOf(packEntry(3, 5, nil, []byte("hello"))))))
	f.Add([]byte("# v3 git bundle\n@object-format=sha1\n@filter=blob:none\n" + tip + " HEAD\n\nPACK"))
	f.Add([]byte("# v2 git bundle\n\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if h, err := checkBundle(bytes.NewReader(data)); err == nil && !isID(h.tip) {
			t.Errorf("checkBundle(%q) = %+v", data, h)
		}
	})
}
