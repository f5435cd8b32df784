//go:build unix

package trust

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestReadFileRefuses(t *testing.T) {
	dir := t.TempDir()
	pipe, large := filepath.Join(dir, "pipe"), filepath.Join(dir, "large")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(large, make([]byte, 11), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{pipe, dir, "/dev/zero", filepath.Join(dir, "none")} {
		if data, _, err := ReadFile(path, 10); err == nil {
			t.Errorf("ReadFile(%s) = %q, want an error", path, data)
		}
	}
	if _, _, err := ReadFile(large, 10); !errors.As(err, new(TooLarge)) {
		t.Errorf("ReadFile of 11 bytes with room for 10: %v", err)
	}
	if data, owner, err := ReadFile(large, 11); len(data) != 11 || owner != "" || err != nil {
		t.Errorf("ReadFile = %d bytes, %q, %v", len(data), owner, err)
	}
}

func TestReadFileNamesAnotherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can give a file to somebody else")
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(file, 54321, -1); err != nil {
		t.Fatal(err)
	}
	if _, owner, err := ReadFile(file, 10); !strings.Contains(owner, "54321") || err != nil {
		t.Errorf("owner = %q, %v; want 54321", owner, err)
	}
	r := In(t.TempDir())
	if err := r.Put(Record{Path: "/a", Digest: "d", Agreed: true}); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(r.file("/a"), 54321, -1); err != nil {
		t.Fatal(err)
	}
	if _, ok, err := r.Find("/a"); ok || err == nil {
		t.Errorf("a record that another user wrote counts: %v, %v", ok, err)
	}
}
