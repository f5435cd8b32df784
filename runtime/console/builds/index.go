// Package builds prints the results of index and model builds.
package builds

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/console"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Metadata returns the current metadata.json of the index in dir, or
// nil if there is none.
func Metadata(dir string) []byte {
	b, _ := os.ReadFile(filepath.Join(dir, artifact.MetadataFile))
	return b
}

// Checked prints the report of a check, which writes nothing, and returns err.
func Checked(c *console.Console, r indexer.Report, err error, asJSON bool) error {
	return report(c, r, err, asJSON, func() string {
		return fmt.Sprintf("checked %s, %s: %s", textutil.Count(r.Files, "file"), textutil.Count(r.Chunks, "chunk"), textutil.Count(len(r.Problems), "problem"))
	})
}

// Built prints the report of a build and returns err. The parameter before is the
// index's [Metadata] from before the build.
func Built(c *console.Console, r indexer.Report, err error, before []byte, asJSON bool) error {
	return report(c, r, err, asJSON, func() string { return built(c, r, bytes.Equal(before, Metadata(r.Out))) })
}

// report prints the problems of a build and then the result.
func report(c *console.Console, r indexer.Report, err error, asJSON bool, did func() string) error {
	if asJSON {
		if err != nil && len(r.Problems) == 0 {
			return err
		}
		return errors.Join(c.JSON(r), err)
	}
	paint := console.PainterFor(c.Stderr)
	for _, p := range r.Problems {
		fmt.Fprintln(c.Stderr, paint.Plain(p.String()))
	}
	if len(r.LeftOut) > 0 {
		fmt.Fprintln(c.Stderr, paint.Plain(formats.LeftOut(r.LeftOut)))
	}
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(c.Stdout, did())
	return err
}

// built describes a build's result. It prints details on stderr.
func built(c *console.Console, r indexer.Report, unchanged bool) string {
	if r.FilesReused > 0 {
		fmt.Fprintf(c.Stderr, "reused %d of %s (%d new, %d changed, %d deleted)\n", r.FilesReused, textutil.Count(r.Files, "file"), r.FilesNew, r.FilesChanged, r.FilesDeleted)
	}
	if r.FilesReused == 0 && r.FilesDeleted > 0 {
		c.Tell(fmt.Sprintf("this replaced the index of another folder, with %s; to keep both, name another folder for one with -o", textutil.Count(r.FilesDeleted, "file")))
	}
	if n := len(r.Problems); n > 0 {
		fmt.Fprintf(c.Stderr, "completed with %s\n", textutil.Count(n, "problem"))
	}
	if e := r.Embedding; e != nil {
		fmt.Fprintf(c.Stderr, "embedding model: %s\n", modelName(e))
	}
	if u := r.EmbeddingUsage; u != nil && u.Cached+u.Requests > 0 {
		fmt.Fprintf(c.Stderr, "%s\n", console.Usage(*u))
		if u.CacheProblem != "" {
			c.Tell("the vectors could not be cached, so the next build requests them again: " + u.CacheProblem)
		}
	}
	if m, err := described(r.Out); err == nil && m == indexer.DefaultDescription && !unchanged {
		c.Tell(fmt.Sprintf("agents read \"Search the %s.\"; say what these docs are with --description, such as 'Acme handbook'", m))
	}
	chunks, files := textutil.Count(r.Chunks, "chunk"), textutil.Count(r.Files, "file")
	if unchanged {
		return fmt.Sprintf("unchanged: %s of %s in %s", chunks, files, r.Out)
	}
	return fmt.Sprintf("wrote %s of %s to %s (%s)", chunks, files, r.Out, console.Size(r.Bytes))
}

// modelName returns an embedding model's name for people.
func modelName(e *artifact.Embedding) string {
	for _, own := range [][2]string{{embed.Default, "built-in"}, {embed.Multilingual, "built-in, multilingual"}} {
		if m, err := embed.Open(own[0]); err == nil && m.Name() == e.String() {
			return own[1]
		}
	}
	return fmt.Sprintf("%s, %d dimensions", e, e.Dimensions)
}

// described returns what the index in dir tells agents that its corpus is.
func described(dir string) (string, error) {
	var m struct {
		Description string `json:"corpus_description"`
	}
	err := json.Unmarshal(Metadata(dir), &m)
	return m.Description, err
}

// Fix writes a manifest into the corpus in dir, unless it already has one.
func Fix(ctx context.Context, c *console.Console, dir string) error {
	path, wrote, err := indexer.Fix(ctx, dir)
	if err != nil {
		return err
	}
	if !wrote {
		fmt.Fprintf(c.Stdout, "the manifest already exists: %s\n", path)
		return nil
	}
	fmt.Fprintf(c.Stdout, "wrote %s\n", path)
	return nil
}

// Verify checks every byte of the index in dir.
func Verify(c *console.Console, dir string) error {
	r, err := artifact.Open(dir)
	if err != nil {
		return err
	}
	defer r.Close()
	if err := r.Verify(); err != nil {
		return err
	}
	m := r.Metadata()
	fmt.Fprintf(c.Stdout, "%s is intact: %s of %s, %d bytes, sha256 %s\n", dir, textutil.Count(m.Stats.TotalChunks, "chunk"), textutil.Count(m.Stats.TotalFiles, "file"), m.Index.Bytes, m.Index.SHA256)
	return nil
}
