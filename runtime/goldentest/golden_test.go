package goldentest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recorder is a test whose failure is read.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

func TestCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.golden")
	t.Setenv("UPDATE", "1")
	Compare(t, file, "one\ntwo\n")
	if text, err := os.ReadFile(file); err != nil || string(text) != "one\ntwo\n" {
		t.Errorf("with UPDATE, the file has %q, %v", text, err)
	}
	t.Setenv("UPDATE", "")
	Compare(t, file, "one\ntwo\n")
	r := &recorder{TB: t}
	Compare(r, file, "one\n2\n")
	if !strings.Contains(r.failed, "line 2\nwant: two") || !strings.Contains(r.failed, "got:  2") {
		t.Errorf("for a text that differs, the test says %q", r.failed)
	}
}
