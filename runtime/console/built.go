package console

import (
	"fmt"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/runtime/text"
)

// Built says what a build did, and tells of the rest on Stderr.
func (c *Console) Built(r indexer.Report, unchanged bool) string {
	if r.FilesReused > 0 {
		fmt.Fprintf(c.Stderr, "reused %d of %s (%d new, %d changed, %d deleted)\n", r.FilesReused, text.Count(r.Files, "file"), r.FilesNew, r.FilesChanged, r.FilesDeleted)
	}
	if n := len(r.Problems); n > 0 {
		fmt.Fprintf(c.Stderr, "completed with %s\n", text.Count(n, "problem"))
	}
	if e := r.Embedding; e != nil {
		fmt.Fprintf(c.Stderr, "embedded by %s, %d dimensions\n", e, e.Dimensions)
	}
	if u := r.EmbeddingUsage; u != nil && u.Cached+u.Requests > 0 {
		fmt.Fprintf(c.Stderr, "%s\n", Usage(*u))
		if u.CacheProblem != "" {
			c.Tell("the vectors are not in the cache, so the next build asks for them again: " + u.CacheProblem)
		}
	}
	chunks, files := text.Count(r.Chunks, "chunk"), text.Count(r.Files, "file")
	if unchanged {
		return fmt.Sprintf("unchanged: %s of %s in %s", chunks, files, r.Out)
	}
	return fmt.Sprintf("wrote %s of %s to %s (%s)", chunks, files, r.Out, Size(r.Bytes))
}
