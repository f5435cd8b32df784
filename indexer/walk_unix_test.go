//go:build unix

package indexer

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
)

func link(t *testing.T, target, dir, name string) {
	t.Helper()
	if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

func TestWalkFollowsLinksThatStayInside(t *testing.T) {
	dir := corpus(t, map[string]string{"real/page.md": "x", "..data/config.md": "y", "text.txt": "z"})
	link(t, "real/page.md", dir, "relative.md")
	link(t, filepath.Join(dir, "real/page.md"), dir, "absolute.md")
	link(t, "..data/config.md", dir, "config.md")
	link(t, "relative.md", dir, "chain.md")
	link(t, "text.txt", dir, "text.md")
	link(t, "real", dir, "folder")
	link(t, "real", dir, "folder.md")
	pages, f := walked(t, dir, selection{}, false)
	wantPaths(t, "pages", pages, "absolute.md", "chain.md", "config.md", "real/page.md", "relative.md", "text.md")
	wantProblems(t, f.problems)
}

func TestWalkReportsLinksThatLeadOutOrNowhere(t *testing.T) {
	outside := corpus(t, map[string]string{"secret.md": "s", "sub/x.md": "x"})
	dir := corpus(t, map[string]string{"good.md": "x"})
	link(t, filepath.Join(outside, "secret.md"), dir, "out.md")
	link(t, outside, dir, "folder")
	link(t, "missing.md", dir, "broken.md")
	link(t, "missing", dir, "broken-of-no-concern")
	link(t, "/dev/null", dir, "null.md")
	pages, f := walked(t, dir, selection{}, false)
	wantPaths(t, "pages", pages, "good.md")
	wantProblems(t, f.problems,
		"broken.md: is a broken link",
		"folder: is a link that points outside the corpus",
		"null.md: is a link that points outside the corpus",
		"out.md: is a link that points outside the corpus")
}

func TestWalkEndsOnLinkLoops(t *testing.T) {
	dir := corpus(t, map[string]string{"a/page.md": "x", "b/page.md": "y"})
	link(t, ".", dir, "self")
	link(t, "..", filepath.Join(dir, "a"), "up")
	link(t, "../b", filepath.Join(dir, "a"), "other")
	link(t, "../a", filepath.Join(dir, "b"), "other")
	link(t, "y.md", dir, "x.md")
	link(t, "x.md", dir, "y.md")
	pages, f := walked(t, dir, selection{}, false)
	wantPaths(t, "pages", pages, "a/page.md", "b/page.md")
	for _, p := range f.problems {
		if !strings.Contains(p.Reason, "is a link that cannot be followed") {
			t.Errorf("problem %s, want one of a link", p)
		}
	}
	if len(f.problems) != 2 {
		t.Errorf("%d problems, want 2: x.md and y.md", len(f.problems))
	}
}

func TestWalkTakesRootThatIsALink(t *testing.T) {
	real := corpus(t, map[string]string{"page.md": "x"})
	dir := t.TempDir()
	link(t, real, dir, "docs")
	pages, _ := walked(t, filepath.Join(dir, "docs"), selection{}, false)
	wantPaths(t, "pages", pages, "page.md")
}

func TestWalkNeverOpensSpecialFiles(t *testing.T) {
	dir := corpus(t, map[string]string{"good.md": "x"})
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe.md"), 0o644); err != nil {
		t.Fatal(err)
	}
	link(t, "pipe.md", dir, "to-pipe.md")
	socket, err := net.Listen("unix", filepath.Join(dir, "socket.md"))
	if err != nil {
		t.Skipf("SKIPPED: no unix sockets here: %v", err)
	}
	defer socket.Close()
	report := make(chan Report, 1)
	go func() {
		r, err := Check(t.Context(), Options{Dir: dir})
		if err != nil {
			t.Error(err)
		}
		report <- r
	}()
	select {
	case r := <-report:
		wantProblems(t, r.Problems,
			"pipe.md: is a named pipe, not a file",
			"socket.md: is a socket, not a file",
			"to-pipe.md: is a named pipe, not a file")
		if r.Files != 1 {
			t.Errorf("Files = %d, want 1", r.Files)
		}
	case <-time.After(waittest.Patience):
		t.Fatal("Check hangs on a special file")
	}
}

func TestReadFileRefusesAPipeWithoutWaiting(t *testing.T) {
	pipe := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(pipe, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := readFile(pipe, 100, nil); err == nil || err.Error() != "not a regular file" {
		t.Errorf("readFile(pipe) = %v, want a refusal", err)
	}
}

// Root may read everything, so as root the test runs again as somebody else.
func TestUnreadableFilesAreProblems(t *testing.T) {
	const asNobody = "DESKHAND_TEST_AS_NOBODY"
	if os.Getuid() == 0 {
		if os.Getenv(asNobody) != "" {
			t.Fatal("still root")
		}
		binary := filepath.Join(t.TempDir(), "test")
		src, err := os.ReadFile(os.Args[0])
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(binary, src, 0o755); err != nil {
			t.Fatal(err)
		}
		for dir := filepath.Dir(binary); dir != os.TempDir() && dir != "/"; dir = filepath.Dir(dir) {
			if err := os.Chmod(dir, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		tmp := filepath.Join(t.TempDir(), "tmp")
		if err := os.Mkdir(tmp, 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(tmp, 0o777); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(binary, "-test.run=^TestUnreadableFilesAreProblems$", "-test.v")
		cmd.Dir = tmp
		cmd.Env = append(os.Environ(), asNobody+"=1", "TMPDIR="+tmp)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Skipf("SKIPPED: cannot run as another user: %v", err)
		}
		if err != nil {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
		return
	}
	dir := corpus(t, map[string]string{"good.md": "x", "locked.md": "y", "folder/page.md": "z", "m/.docs-mcp.json": "{}", "m/page.md": "m"})
	for _, name := range []string{"locked.md", "folder", "m/.docs-mcp.json"} {
		file := filepath.Join(dir, name)
		if err := os.Chmod(file, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(file, 0o755) })
	}
	r, err := Build(t.Context(), Options{Dir: dir, Out: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	wantProblems(t, r.Problems,
		"folder: folder cannot be read: permission denied",
		"locked.md: skipped: permission denied",
		"m/.docs-mcp.json: cannot be read: permission denied")
	if r.Files != 2 {
		t.Errorf("Files = %d, want 2", r.Files)
	}
}
