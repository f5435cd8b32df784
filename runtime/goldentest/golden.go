// Package goldentest compares text with golden files. It is for tests.
package goldentest

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

// Compare fails the test if got differs from a golden file. If UPDATE is set, as
// "make golden" does, Compare writes the file instead. Nothing else may write golden
// files: what is written is then always what is compared, and a passing run of all
// tests shows that none is stale.
func Compare(t testing.TB, file, got string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; \"make golden\" writes golden files", err)
	}
	if string(want) != got {
		t.Errorf("the text differs from %s (\"make golden\" rewrites it):\n%s", file, firstDifference(string(want), got))
	}
}

// firstDifference returns the lines around the first that differ.
func firstDifference(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i] != b[i] {
			return fmt.Sprintf("line %d\nwant: %s\ngot:  %s", i+1, strings.Join(a[min(i, len(a)):min(i+4, len(a))], "\n      "), strings.Join(b[min(i, len(b)):min(i+4, len(b))], "\n      "))
		}
	}
	return ""
}
