package indexer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/chunker"
)

// Fix writes a manifest to dir that splits each file at the best heading level for it.
// If dir already has a manifest, Fix writes nothing. wrote reports whether Fix wrote
// the manifest. Manifests in subfolders are kept, and the files that they apply to are
// ignored. Errors and faults are the same as for the walk in Build. If Fix ends early,
// it leaves no files behind.
func Fix(ctx context.Context, dir string) (file string, wrote bool, err error) {
	root, err := resolveRoot(dir)
	if err != nil {
		return "", false, err
	}
	file = filepath.Join(dir, manifestFile)
	if _, err := os.Lstat(file); err == nil {
		return file, false, nil
	}
	f, err := walk(ctx, root, selection{}, false)
	if err != nil {
		return file, false, fmt.Errorf("fix %s: %w", dir, err)
	}
	if len(f.pages) == 0 {
		return file, false, noDocuments(dir, f, nil)
	}
	manifest, err := suggest(ctx, f.pages)
	if err != nil {
		return file, false, fmt.Errorf("fix %s: %w", dir, err)
	}
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err == nil {
		err = writeNew(file, append(text, '\n'))
	}
	if err != nil {
		return file, false, fmt.Errorf("write manifest: %w", err)
	}
	return file, true, nil
}

// suggested is the manifest that Fix writes.
type suggested struct {
	Version   string              `json:"version"`
	Strategy  suggestedStrategy   `json:"strategy"`
	Overrides []suggestedOverride `json:"overrides,omitempty"`
}

type suggestedStrategy struct {
	ChunkBy chunker.By `json:"chunk_by"`
}

type suggestedOverride struct {
	Pattern  string            `json:"pattern"`
	Strategy suggestedStrategy `json:"strategy"`
}

// suggest returns a manifest whose default is the most frequent strategy. Overrides
// are for files with another strategy. suggest ignores files that cannot be read. It
// returns an error only if ctx is cancelled.
func suggest(ctx context.Context, pages []*page) (suggested, error) {
	best := map[string]chunker.By{}
	votes := map[chunker.By]int{}
	for _, p := range pages {
		if err := ctx.Err(); err != nil {
			return suggested{}, err
		}
		if p.manifest != nil {
			continue
		}
		if src, err := readFile(p.open, 64<<20, nil); err == nil {
			best[p.path] = suggestBy(src)
			votes[best[p.path]]++
		}
	}
	usual := chunker.H2
	for _, by := range []chunker.By{chunker.H1, chunker.H3, chunker.File} {
		if votes[by] > votes[usual] {
			usual = by
		}
	}
	m := suggested{Version: "1", Strategy: suggestedStrategy{usual}}
	for _, p := range pages {
		if by, read := best[p.path]; read && by != usual {
			m.Overrides = append(m.Overrides, suggestedOverride{escapeGlob(p.path), suggestedStrategy{by}})
		}
	}
	return m, nil
}

// suggestBy chooses a file's strategy by the number of headings at each level.
func suggestBy(src []byte) chunker.By {
	n := chunker.Headings(src)
	switch {
	case n[3] >= 6 && n[3] >= 2*n[2]:
		return chunker.H3
	case n[2] >= 2:
		return chunker.H2
	case n[1] >= 2:
		return chunker.H1
	case n[3] >= 2:
		return chunker.H3
	}
	return chunker.File
}

// escapeGlob returns a glob that matches only name.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(name)
}

// writeNew writes file atomically.
func writeNew(file string, content []byte) error {
	temp, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name()) // no effect after the rename
	_, err = temp.Write(content)
	if err := errors.Join(err, temp.Chmod(0o644), temp.Close()); err != nil {
		return err
	}
	return os.Rename(temp.Name(), file)
}
