package indexer

import (
	"path/filepath"
	"testing"
)

func TestProvenanceIsThatOfTheCheckout(t *testing.T) {
	needGit(t)
	t.Setenv("SOURCE_DATE_EPOCH", "")
	dir := corpus(t, map[string]string{"docs/a.md": "# A"})
	docs := filepath.Join(dir, "docs")
	git(t, dir, "", "init", "-q")
	if p, err := readProvenance(t.Context(), docs); err != nil || p.commit != nil || p.indexedAt != nil {
		t.Errorf("without a commit: %+v, %v; want nothing", p, err)
	}
	git(t, dir, "", "add", ".")
	git(t, dir, "", "commit", "-q", "-m", "x")
	want := git(t, dir, "", "rev-parse", "HEAD")[:40]
	// A hook's environment names another checkout.
	t.Setenv("GIT_DIR", filepath.Join(t.TempDir(), "nowhere"))
	p, err := readProvenance(t.Context(), docs)
	if err != nil || p.commit == nil || *p.commit != want || p.indexedAt == nil || *p.indexedAt != "2024-02-03T02:05:06.000Z" {
		t.Errorf("readProvenance = %v %v, %v; want %s at 2024-02-03T02:05:06.000Z", p.commit, p.indexedAt, err, want)
	}
	t.Setenv("SOURCE_DATE_EPOCH", "0")
	if p, err := readProvenance(t.Context(), docs); err != nil || *p.indexedAt != "1970-01-01T00:00:00.000Z" || *p.commit != want {
		t.Errorf("with SOURCE_DATE_EPOCH: %v %v, %v; want 1970 and the commit", *p.commit, *p.indexedAt, err)
	}
}

func TestProvenanceOutsideOfGitIsNull(t *testing.T) {
	t.Setenv("SOURCE_DATE_EPOCH", "")
	t.Setenv("PATH", t.TempDir())
	p, err := readProvenance(t.Context(), t.TempDir())
	if err != nil || p.commit != nil || p.indexedAt != nil {
		t.Errorf("readProvenance = %+v, %v; want nothing", p, err)
	}
}

func TestBadSourceDateEpochIsRefused(t *testing.T) {
	for _, epoch := range []string{"yesterday", "-1", "1.5", "999999999999999"} {
		t.Setenv("SOURCE_DATE_EPOCH", epoch)
		_, err := readProvenance(t.Context(), t.TempDir())
		wantFault(t, err, "bad_option", "SOURCE_DATE_EPOCH")
	}
}
