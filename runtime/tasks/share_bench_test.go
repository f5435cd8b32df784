package tasks_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/store/storetest"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// prose returns text of about n bytes that compresses like source code.
func prose(random *rand.Rand, n int) string {
	var b strings.Builder
	for b.Len() < n {
		fmt.Fprintf(&b, "	value%d := compute(%d, %q) // line\n", random.IntN(500), random.IntN(1e6), []string{"alpha", "beta", "gamma", "delta"}[random.IntN(4)])
	}
	return b.String()
}

// BenchmarkShare measures how long a machine takes to share a change of 350 files in a
// repository of 5,000 files, and how long another takes to list it: the first time, which
// fetches the commits, and again.
func BenchmarkShare(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	path := gitRepo(b)
	for i := range 5000 {
		write(b, filepath.Join(path, fmt.Sprintf("pkg%02d/file%d.go", i%50, i)), prose(random, 4000))
	}
	git(b, path, "add", "-A")
	git(b, path, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "many")
	remote, clone := filepath.Join(b.TempDir(), "remote.git"), filepath.Join(b.TempDir(), "clone")
	git(b, path, "clone", "-q", "--bare", path, remote)
	git(b, path, "remote", "add", "origin", remote)
	git(b, path, "fetch", "-q", "origin")
	git(b, b.TempDir(), "clone", "-q", remote, clone)
	d := machines{desk: openAt(b, storetest.Postgres(b), Repo{Path: path}, settings{Lease: 20 * time.Second})}
	d.other = d.another()
	d.has(d.other, clone)
	var share, first, again time.Duration
	for b.Loop() {
		b.StopTimer()
		id := d.start("say ready").AttemptID
		d.ended(id)
		dir := filepath.Join(d.attempt(id).Dir, d.repo.Name)
		for i := range 350 {
			write(b, filepath.Join(dir, fmt.Sprintf("pkg%02d/file%d.go", i%50, i)), prose(random, 4000))
		}
		git(b, dir, "add", "-A")
		git(b, dir, "-c", "user.name=A", "-c", "user.email=a@b", "commit", "-qm", "350 files")
		b.StartTimer()
		since := time.Now()
		ShareNow(d.Manager, id)
		share += time.Since(since)
		for _, to := range []*time.Duration{&first, &again} {
			since = time.Now()
			if c, err := d.other.Changes(b.Context(), id, true); err != nil || len(c.Files) != 350 {
				b.Fatalf("Changes = %d files, %v", len(c.Files), err)
			}
			*to += time.Since(since)
		}
	}
	size := 0
	if err := d.db.ReadRow(b.Context(), "SELECT MAX(size) FROM shared_bundles", nil, &size); err != nil {
		b.Fatal(err)
	}
	b.ReportMetric(float64(share.Milliseconds())/float64(b.N), "ms-share")
	b.ReportMetric(float64(first.Milliseconds())/float64(b.N), "ms-first")
	b.ReportMetric(float64(again.Milliseconds())/float64(b.N), "ms-again")
	b.ReportMetric(float64(size)/1024, "KiB-bundle")
}
