package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/shelf"
)

// A client that starts a server while the first index is being built connects,
// and search_docs says what is going on; then the tools are those of the docs.
func TestServeStartsWhileTheFirstBuildRuns(t *testing.T) {
	corpus := acme(t, nil)
	index := filepath.Join(t.TempDir(), "index")
	building, err := artifact.Create(index) // as another process that takes its time
	if err != nil {
		t.Fatal(err)
	}
	p := overPipe(t, "--index", index, "--watch", corpus)
	d := door{t, "stdio", p.ask}
	for _, call := range [][2]string{{"search_docs", `{"query":"widget"}`}, {"list_docs", `{}`}, {"get_doc", `{"chunk_id":"a.md"}`}} {
		d.refused(call[0], call[1], "is being built for the first time", "Call again in a few seconds.")
	}
	if !strings.Contains(d.tool("search_docs").Description, "Search the documentation. Use this") {
		t.Errorf("search_docs says %q", d.tool("search_docs").Description)
	}
	if err := building.Abort(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the first index", func() error {
		if a := d.call("search_docs", `{"query":"widget"}`); a.IsError {
			return fmt.Errorf("refused: %s", a.text())
		}
		if text := d.tool("search_docs").Description; strings.Contains(text, "Search the documentation.") {
			return fmt.Errorf("the description is still %q", text)
		}
		return nil
	})
	if strings.Contains(p.stderr.String(), "index is gone") {
		t.Errorf("the log speaks of an index that is gone: %s", p.stderr)
	}
}

// Clients start servers in other folders than the project's.
func TestServeFindsTheFolderOfTheProject(t *testing.T) {
	corpus := acme(t, nil)
	project := t.TempDir()
	if err := os.Rename(corpus, filepath.Join(project, "docs")); err != nil {
		t.Fatal(err)
	}
	write(t, project, map[string]string{"deskhand.yaml": "index: .deskhand/index\n", "src/deep/main.go": ""})
	for name, p := range map[string]*pipe{
		"below":     met(unmetIn(t, filepath.Join(project, "src", "deep"), "--watch", "docs", "--tools", "docs")),
		"elsewhere": met(unmet(t, "--directory", project, "--watch", "docs", "--tools", "docs")),
	} {
		door{t, name, p.ask}.succeed("search_docs", `{"query":"widget"}`)
	}
	if _, err := os.Stat(filepath.Join(project, "src", "deep", ".deskhand")); err == nil {
		t.Error("an index was built below the project")
	}
}

func TestWatchTellsOfProblemsOnce(t *testing.T) {
	corpus := acme(t, nil)
	bad := map[string]string{}
	for i := range 14 {
		bad[fmt.Sprintf("bad-%02d.md", i)] = "---\ntitle: [\n---\nText.\n"
	}
	write(t, corpus, bad)
	p := overPipe(t, "--index", filepath.Join(t.TempDir(), "index"), "--watch", corpus)
	write(t, corpus, map[string]string{"guides/fresh.md": "# Fresh\n\nThe first freshword.\n"})
	d := door{t, "stdio", p.ask}
	eventually(t, "rebuild", func() error {
		if len(d.search(map[string]any{"query": "freshword"}).Hits) == 0 {
			return fmt.Errorf("the new page is not served")
		}
		return nil
	})
	log := p.stderr.String()
	if n := strings.Count(log, `msg="problem in the docs" problem="bad-0`); n != 10 {
		t.Errorf("%d problems logged, want the first 10 once: %s", n, log)
	}
	if !strings.Contains(log, "level=WARN") || !strings.Contains(log, "more=4") {
		t.Errorf("the log does not warn, or not of 4 more: %s", log)
	}
}

// Clients start the same server twice; both serve, whoever builds first.
func TestWatchWaitsForAnotherBuild(t *testing.T) {
	corpus := acme(t, endpoints(200))
	index := filepath.Join(t.TempDir(), "index")
	for i := range 3 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			byPipe(t, index, "--watch", corpus).succeed("search_docs", `{"query":"widget"}`)
		})
	}
}

// The libraries of local folders are rebuilt while they are served, and no others.
func TestWatchRebuildsLibraries(t *testing.T) {
	handbook, gone, dir := t.TempDir(), t.TempDir(), t.TempDir()
	write(t, handbook, map[string]string{"docs/a.md": "# Alpha\n\nThe old word.\n", "other.md": "# Other\n"})
	write(t, gone, map[string]string{"b.md": "# Beta\n\nThe word of beta.\n"})
	of := shelf.Shelf{Dir: dir}
	for _, o := range []shelf.Options{{Source: handbook, Path: "docs", Name: "handbook", Version: "1"}, {Source: gone, Name: "gone"}, {Source: filepath.Join(handbook, "other.md"), Name: "file"}} {
		if _, err := of.Add(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.RemoveAll(gone); err != nil {
		t.Fatal(err)
	}
	write(t, handbook, map[string]string{"docs/new.md": "# New\n\nWritten while no server ran: earlyword.\n"})
	p := overPipe(t, "--shelf", dir, "--watch-libraries", "--tools", "docs")
	d := door{t, "stdio", p.ask}
	found := func(word, library string) error {
		hits := d.search(map[string]any{"query": word, "library": library}).Hits
		if len(hits) == 0 || !strings.Contains(hits[0].Snippet, word) {
			return fmt.Errorf("the library %s has no '%s': %+v", library, word, hits)
		}
		return nil
	}
	eventually(t, "the first build", func() error { return found("earlyword", "handbook") })
	write(t, handbook, map[string]string{"docs/deep/c.md": "# Deep\n\nThe lateword.\n"})
	eventually(t, "the rebuild", func() error { return found("lateword", "handbook") })
	if err := found("beta", "gone"); err != nil {
		t.Error(err)
	}
	if e, err := of.Find("handbook"); err != nil || e.ID() != "handbook@1" || e.Pages != 3 {
		t.Errorf("the library is %+v, %v", e, err)
	}
	if log := p.stderr.String(); strings.Contains(log, "level=ERROR") || !strings.Contains(log, `msg="library built" library=handbook@1`) {
		t.Errorf("the log is %s", log)
	}
}
