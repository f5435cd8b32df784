package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// smallDisk runs a server whose state is on a disk of 6 MB, and returns the path
// of that disk as this process sees it.
func smallDisk(t *testing.T, flags ...string) (*socket, string) {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("unshare", "-rm", "mount", "-t", "tmpfs", "none", dir).CombinedOutput(); err != nil {
		t.Skipf("NOT TESTED: no file system can be mounted here: %v %s", err, out)
	}
	cmd := exec.Command("unshare", append([]string{"-rm", "sh", "-c", `mount -t tmpfs -o size=6m none "$0" && exec deskhand serve --http 127.0.0.1:0 --state "$0/state" "$@"`, dir}, flags...)...)
	cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+bearer)
	s := socketOf(t, cmd)
	s.token = bearer
	return s, fmt.Sprintf("/proc/%d/root%s", cmd.Process.Pid, dir)
}

// With the disk full a server is alive and not ready, and says why at each door.
func TestAttackDoorsAFullDiskIsSaid(t *testing.T) {
	t.Setenv("CI", "")
	s, disk := smallDisk(t, "--tools", "ask")
	ready := func(t *testing.T, want int, says string) {
		t.Helper()
		eventually(t, "/readyz", func() error {
			if status, body := s.get("/readyz"); status != want || !strings.Contains(body, says) {
				return fmt.Errorf("GET /readyz = %d %s, want %d and %q", status, body, want, says)
			}
			return nil
		})
	}
	t.Run("ready with room", func(t *testing.T) { ready(t, http.StatusOK, "ready") })
	fill := filepath.Join(disk, "fill")
	f, err := os.Create(fill)
	if err != nil {
		t.Fatal(err)
	}
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
	f.Close()
	t.Run("not ready without", func(t *testing.T) {
		ready(t, http.StatusServiceUnavailable, "the disk that holds the store is full")
	})
	t.Run("alive", func(t *testing.T) {
		if status, _ := s.get("/healthz"); status != http.StatusOK {
			t.Errorf("GET /healthz = %d", status)
		}
	})
	t.Run("a tool says why", func(t *testing.T) {
		m, err := s.withoutSession().ask("tools/call", `{"name":"ask_user","arguments":{"questions":[{"question":"`+strings.Repeat("why ", 200)+`?"}]}}`)
		if got := string(m.Result); err != nil || !strings.Contains(got, "the disk that holds the store is full") || strings.Contains(got, "internal error") {
			t.Errorf("ask_user = %.500s, %v", got, err)
		}
	})
	if err := os.Remove(fill); err != nil {
		t.Fatal(err)
	}
	t.Run("ready again", func(t *testing.T) { ready(t, http.StatusOK, "ready") })
}

// Leaks can be watched.
func TestMetricsHaveFiguresOfTheProcess(t *testing.T) {
	s := overSocket(t, "--tools", "ask", "--state", filepath.Join(t.TempDir(), "state"))
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, strings.TrimSuffix(s.url, "/mcp")+"/metrics", nil)
	if err != nil {
		t.Fatal(err)
	}
	status, body, _ := browsed(t, r, bearer)
	for _, want := range []string{"\ngo_goroutines ", "\nprocess_resident_memory_bytes ", "\nprocess_open_fds ", "\ngo_memstats_heap_alloc_bytes "} {
		if status != http.StatusOK || !strings.Contains(body, want) {
			t.Errorf("GET /metrics = %d, without %q", status, want)
		}
	}
}
