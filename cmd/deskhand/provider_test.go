//go:build unix

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// provider is a double of an embedding service. It answers the first budget
// requests and is silent after that; a negative budget is no bound.
type provider struct {
	*httptest.Server
	mu       sync.Mutex
	budget   int
	requests int
	texts    map[string]int // how often each was asked for in requests that are answered
	stuck    chan struct{}  // closed by the first request beyond the budget
	auth     string
	deaf     string // to requests with this authorization it is silent
	status   int    // 0: well
}

func newProvider(t *testing.T, budget int) *provider {
	t.Helper()
	p := &provider{budget: budget, texts: map[string]int{}, stuck: make(chan struct{})}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) spec() string { return p.URL + "/v1#double" }

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct{ Input []string }
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	p.mu.Lock()
	p.requests++
	p.auth = r.Header.Get("Authorization")
	over, status := p.budget >= 0 && p.requests > p.budget || p.deaf != "" && p.auth == p.deaf, p.status
	if over && p.requests == p.budget+1 {
		close(p.stuck)
	}
	if !over && status == 0 {
		for _, text := range body.Input {
			p.texts[text]++
		}
	}
	p.mu.Unlock()
	switch {
	case over:
		<-r.Context().Done()
		return
	case status != 0:
		w.WriteHeader(status)
		return
	}
	var items []string
	for i, text := range body.Input {
		items = append(items, fmt.Sprintf(`{"index":%d,"embedding":[%d,1,2]}`, i, len(text)))
	}
	fmt.Fprintf(w, `{"data":[%s],"usage":{"total_tokens":%d}}`, strings.Join(items, ","), len(items))
}

// set changes how the provider answers.
func (p *provider) set(budget, status int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.budget, p.status = budget, status
}

func (p *provider) counts() (requests, texts, twice int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, n := range p.texts {
		if n > 1 {
			twice++
		}
	}
	return p.requests, len(p.texts), twice
}

// sections is a corpus of so many sections on pages of ten.
func sections(t *testing.T, n int) string {
	t.Helper()
	files := map[string]string{}
	for page := range n / 10 {
		var b strings.Builder
		fmt.Fprintf(&b, "# Page %d\n\nIntroduction of page %d.\n", page, page)
		for i := range 9 {
			fmt.Fprintf(&b, "\n## Part %d of %d\n\nWords of part %d on page %d.\n", i, page, i, page)
		}
		files[fmt.Sprintf("page-%03d.md", page)] = b.String()
	}
	dir := t.TempDir()
	write(t, dir, files)
	return dir
}

// cached is the bytes in a cache: 52 for a vector of 3 numbers, and some.
func cached(t *testing.T, dir string) (bytes int64) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "embeddings", "*", "*.vectors"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			bytes += info.Size()
		}
	}
	return bytes
}

func TestBuildThatIsKilledDoesNotPayTwice(t *testing.T) {
	t.Parallel()
	p := newProvider(t, 6)
	docs, dir := sections(t, 500), t.TempDir()
	args := []string{"index", docs, "-o", filepath.Join(dir, "out"), "--embed", p.spec(), "--cache", filepath.Join(dir, "cache")}
	cmd := exec.CommandContext(t.Context(), "deskhand", args...)
	cmd.Env = append(os.Environ(), "DESKHAND_EMBED_KEY=killed")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.stuck:
	case <-time.After(patience):
		t.Error("the build sent too few requests")
	}
	// An answer is written as soon as it is read: wait until those given are.
	_, answered, _ := p.counts()
	waittest.Until(t, "the answers that were given are in the cache", func() (bool, any) {
		size := cached(t, filepath.Join(dir, "cache"))
		return size >= int64(answered*52), size
	})
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	paid, _, _ := p.counts()
	p.mu.Lock()
	p.deaf = "Bearer killed" // what it has sent may only be read now
	p.mu.Unlock()
	p.set(-1, 0)
	var report indexer.Report
	if err := json.Unmarshal([]byte(done(t, dir, append(args, "--json")...)), &report); err != nil {
		t.Fatal(err)
	}
	u := report.EmbeddingUsage
	_, texts, twice := p.counts()
	if texts != 500 || twice > 0 {
		t.Errorf("%d texts, %d of them paid for twice; want 500 and none", texts, twice)
	}
	if u == nil || u.Cached == 0 || u.Cached+u.Made != 500 || u.Tokens != int64(u.Made) {
		t.Fatalf("after %d requests the second build reports %+v, want some of 500 from the cache", paid, u)
	}
	r := deskhand(t, dir, append(args[:3:3], "other", "--embed", p.spec(), "--cache", filepath.Join(dir, "cache"))...)
	if !strings.Contains(r.stderr, "500 vectors from the cache, 0 computed in 0 requests\n") {
		t.Errorf("a third build says %s, want all from the cache", r.stderr)
	}
}

func TestBuildWithoutItsProviderLeavesTheOldIndex(t *testing.T) {
	t.Parallel()
	p := newProvider(t, -1)
	docs, dir := sections(t, 100), t.TempDir()
	out := filepath.Join(dir, "out")
	done(t, dir, "index", docs, "-o", out, "--embed", "none")
	before, err := os.ReadFile(filepath.Join(out, "metadata.json"))
	if err != nil {
		t.Fatal(err)
	}
	same := func(when string) {
		t.Helper()
		if after, err := os.ReadFile(filepath.Join(out, "metadata.json")); err != nil || string(after) != string(before) {
			t.Errorf("%s: the index changed (%v)", when, err)
		}
		done(t, dir, "index", "--verify", out)
	}
	p.set(-1, 401)
	r := deskhand(t, dir, "index", docs, "-o", out, "--embed", p.spec(), "--cache", filepath.Join(dir, "cache"))
	if r.code != exitFailed || !strings.Contains(r.stderr, "401 Unauthorized\nhint: check the key in the environment variable DESKHAND_EMBED_KEY") {
		t.Errorf("refused: exit %d, %s", r.code, r.stderr)
	}
	same("refused")

	requests, _, _ := p.counts()
	p.set(requests, 0) // silent from now on
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	cmd := exec.CommandContext(ctx, "deskhand", "index", docs, "-o", out, "--embed", p.spec(), "--cache", filepath.Join(dir, "cache"))
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	<-p.stuck
	cancel()
	if err := cmd.Wait(); err == nil || !strings.Contains(stderr.String(), "deskhand: interrupted") {
		t.Errorf("interrupted: %v, %s", err, stderr.String())
	}
	same("interrupted")
}

func TestKeysAreWrittenNowhere(t *testing.T) {
	const secret = "sk-sesame"
	t.Setenv("DESKHAND_EMBED_KEY", secret)
	p := newProvider(t, -1)
	dir := t.TempDir()
	r := deskhand(t, dir, "index", sections(t, 20), "-o", "out", "--embed", p.spec(), "--cache", "cache")
	if r.code != 0 || p.auth != "Bearer "+secret {
		t.Fatalf("exit %d, %s; the provider saw %q", r.code, r.stderr, p.auth)
	}
	if strings.Contains(r.stdout+r.stderr+done(t, dir, "config"), secret) {
		t.Error("the key was printed")
	}
	found := 0
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		found++
		if b, err := os.ReadFile(path); err != nil || strings.Contains(string(b), secret) {
			t.Errorf("%s has the key (%v)", path, err)
		}
		return nil
	})
	if err != nil || found < 3 {
		t.Errorf("%d files written, %v", found, err)
	}
}
