package chunker

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
)

// defaultMaxChars is the limit in docs-mcp. Chunk IDs are compatible with
// docs-mcp.
const defaultMaxChars = 20_000

// ParseBy parses a chunk_by value: "h1", "h2", "h3" or "file".
func ParseBy(s string) (By, bool) {
	switch by := By(s); by {
	case H1, H2, H3, File:
		return by, true
	}
	return "", false
}

// level returns the heading level at which b splits, or 0 for File.
func (b By) level() int {
	switch b {
	case File:
		return 0
	case H1:
		return 1
	case H3:
		return 3
	}
	return 2
}

// effective returns the options for one file. The HTML hint overrides the caller's
// options, and the front matter overrides the hint. The front matter's mcp_strategy
// replaces all three settings.
func effective(opts Options, hint By, front frontMatter) Options {
	if hint != "" {
		opts.By = hint
	}
	if front.by != "" {
		opts.By = front.by
	}
	if s := front.strategy; s != nil {
		if s.By != "" {
			opts.By = s.By
		}
		opts.MaxChars, opts.MinChars = s.MaxChars, s.MinChars
	}
	if opts.MaxChars <= 0 {
		opts.MaxChars = defaultMaxChars
	}
	// Larger values have the same effect, but could overflow sums.
	opts.MaxChars = min(opts.MaxChars, math.MaxInt32)
	opts.MinChars = min(max(opts.MinChars, 0), math.MaxInt32)
	return opts
}

const hintName = "mcp_chunking_hint:"

// readHint finds the first <!-- mcp_chunking_hint: {"chunk_by":"h3"} --> in body, even
// inside code. If there is no hint, by is empty. If the hint is invalid, by is empty
// and problems has the reason.
func readHint(body []byte) (by By, problems []outlineProblem) {
	for from := 0; ; {
		at := bytes.Index(body[from:], []byte(hintName))
		if at < 0 {
			return "", nil
		}
		at += from
		from = at + len(hintName)
		opening := bytes.TrimRight(body[:at], " \t\n")
		if !bytes.HasSuffix(opening, []byte("<!--")) {
			continue
		}
		value, _, closed := bytes.Cut(body[from:], []byte("-->"))
		var wanted struct {
			ChunkBy string `json:"chunk_by"`
		}
		if !closed || json.Unmarshal(value, &wanted) != nil {
			return "", []outlineProblem{{at, `the chunking hint is not {"chunk_by":"h1|h2|h3|file"} and is ignored`}}
		}
		by, ok := ParseBy(wanted.ChunkBy)
		if !ok {
			return "", []outlineProblem{{at, badChunkBy(wanted.ChunkBy)}}
		}
		return by, nil
	}
}

func badChunkBy(value string) string {
	return fmt.Sprintf("chunk_by %q is not h1, h2, h3 or file and is ignored", shorten(value))
}
