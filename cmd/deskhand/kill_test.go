//go:build unix

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// generated writes a corpus of so many pages of some 13 KB, all of which name
// the edition.
func generated(t testing.TB, pages int, edition string) string {
	t.Helper()
	dir := t.TempDir()
	random := rand.New(rand.NewPCG(uint64(pages), uint64(len(edition))))
	words := make([]string, 4000)
	for i := range words {
		for range 3 + random.IntN(7) {
			words[i] += string(rune('a' + random.IntN(26)))
		}
	}
	files := map[string]string{}
	for i := range pages {
		var b strings.Builder
		fmt.Fprintf(&b, "# Page %d of %s\n\n", i, edition)
		for range 8 {
			fmt.Fprintf(&b, "## %s %s\n\n", words[random.IntN(len(words))], words[random.IntN(len(words))])
			for n := range 200 {
				b.WriteString(words[random.IntN(len(words))])
				b.WriteString([]string{" ", " ", " ", ".\n\n"}[n%4])
			}
		}
		files[fmt.Sprintf("part-%d/page-%03d.md", i%7, i)] = b.String()
	}
	write(t, dir, files)
	return dir
}

// editionOf opens the index, checks every byte, asks it, and says of which
// corpus it is.
func editionOf(t *testing.T, index string, pages int, editions ...string) string {
	t.Helper()
	r, err := artifact.Open(index)
	if err != nil {
		t.Fatalf("open after the kill: %v", err)
	}
	defer r.Close()
	if err := r.Verify(); err != nil {
		t.Fatalf("verify after the kill: %v", err)
	}
	engine, err := search.Open(index)
	if err != nil {
		t.Fatalf("open after the kill: %v", err)
	}
	defer engine.Close()
	if got := engine.Metadata().Stats.TotalFiles; got != pages {
		t.Fatalf("%d files in the index, want %d", got, pages)
	}
	var has []string
	for _, edition := range editions {
		page, err := engine.Search(t.Context(), search.Query{Text: edition, Limit: 50})
		if err != nil {
			t.Fatalf("search after the kill: %v", err)
		}
		if len(page.Hits) > 0 && strings.HasSuffix(page.Hits[0].Title, " of "+edition) {
			has = append(has, edition)
		}
	}
	if len(has) != 1 {
		t.Fatalf("the index is of the editions %q, want one", has)
	}
	return has[0]
}

// A build that is killed at any moment leaves the old index or the complete
// new one, and what it leaves behind is gone after the next build.
func TestBuildsThatAreKilledLoseNothing(t *testing.T) {
	t.Parallel()
	const pages = 60
	corpora := map[string]string{"aardvarks": generated(t, pages, "aardvarks"), "zebras": generated(t, pages, "zebras")}
	index := filepath.Join(t.TempDir(), "index")
	begin := time.Now()
	done(t, t.TempDir(), "index", corpora["aardvarks"], "-o", index)
	whole := time.Since(begin)
	serving := "aardvarks"
	other := func() string {
		if serving == "aardvarks" {
			return "zebras"
		}
		return "aardvarks"
	}
	const kills = 20
	survived := 0
	for i := range kills {
		building := other()
		cmd := exec.Command("deskhand", "index", corpora[building], "-o", index)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			cmd.Wait()
		}()
		switch i % 5 {
		case 3, 4: // the moments around the commit are few
			untilCommitted(index, i%5 == 4, ended)
		default:
			at := time.Duration((float64(i) + rand.Float64()) / float64(kills) * float64(whole))
			start := time.Now()
			select {
			case <-ended:
				whole = min(whole, time.Since(start)) // the machine was busier before
			case <-time.After(at):
			}
		}
		cmd.Process.Kill()
		<-ended
		got := editionOf(t, index, pages, "aardvarks", "zebras")
		if got == building {
			survived++
			serving = building
		}
	}
	t.Logf("a build takes %v; %d of %d killed ones were committed", whole.Round(time.Millisecond), survived, kills)
	done(t, t.TempDir(), "index", corpora[other()], "-o", index)
	if got := editionOf(t, index, pages, "aardvarks", "zebras"); got != other() {
		t.Errorf("the index is of %s after a whole build of %s", got, other())
	}
	noLeftovers(t, index)
}

// untilCommitted returns when the folder has a second data file, or with renamed
// another metadata.json, which is right before and after the last step of a
// build; or when the build has ended.
func untilCommitted(index string, renamed bool, ended <-chan struct{}) {
	state := func() string {
		if renamed {
			info, err := os.Stat(filepath.Join(index, artifact.MetadataFile))
			if err != nil {
				return err.Error()
			}
			return info.ModTime().String()
		}
		data, _ := filepath.Glob(filepath.Join(index, "index-*.idx"))
		return strings.Join(data, " ")
	}
	for before := state(); state() == before; {
		select {
		case <-ended:
			return
		default:
		}
	}
}

// noLeftovers wants nothing in an index folder but the index and its lock.
func noLeftovers(t *testing.T, index string) {
	t.Helper()
	r, err := artifact.Open(index)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	entries, err := os.ReadDir(index)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		got = append(got, e.Name())
	}
	want := []string{".lock", r.Metadata().Index.Path, "metadata.json"}
	if slices.Sort(got); !slices.Equal(got, want) {
		t.Errorf("the index folder holds %q, want %q", got, want)
	}
}

func TestBuildsThatAreInterruptedEndInOrder(t *testing.T) {
	t.Parallel()
	const pages = 60
	old, next := generated(t, pages, "aardvarks"), generated(t, pages, "zebras")
	for name, signal := range map[string]os.Signal{"interrupt": os.Interrupt, "terminate": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			index := filepath.Join(t.TempDir(), "index")
			done(t, t.TempDir(), "index", old, "-o", index)
			cmd := exec.Command("deskhand", "index", next, "-o", index)
			stderr := &waittest.Log{}
			cmd.Stderr = stderr
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			ended := make(chan error, 1)
			go func() { ended <- cmd.Wait() }()
			eventually(t, "build", func() error {
				if !strings.Contains(stderr.String(), "building") && len(ended) == 0 {
					return fmt.Errorf("it does not begin to build: %s", stderr)
				}
				return nil
			})
			_ = cmd.Process.Signal(signal) // an error: the build had ended
			asked := time.Now()
			err := <-ended
			if took := time.Since(asked); took > waittest.Soon {
				t.Errorf("it took %v to end", took)
			}
			if err == nil { // the signal came after the commit
				if got := editionOf(t, index, pages, "aardvarks", "zebras"); got != "zebras" {
					t.Errorf("the build ended well, and the index is of %s", got)
				}
				noLeftovers(t, index)
				return
			}
			if code := cmd.ProcessState.ExitCode(); code != 1 || !strings.Contains(stderr.String(), "deskhand: interrupted") {
				t.Errorf("exit %d, stderr %q; want 1 and that it was interrupted", code, stderr)
			}
			if got := editionOf(t, index, pages, "aardvarks", "zebras"); got != "aardvarks" {
				t.Errorf("the index is of %s", got)
			}
			noLeftovers(t, index)
		})
	}
}
