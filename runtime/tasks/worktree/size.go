package worktree

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// Size adds up the files in the attempt's folder, in bytes. Symbolic links are
// not followed, and the repositories' own objects are not in it. A folder that
// is gone has 0.
func (t Tree) Size(ctx context.Context) (int64, error) {
	var total int64
	err := filepath.WalkDir(t.Dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || d.IsDir() {
			return nil // it went away, or may not be read
		}
		if info, err := d.Info(); err == nil && info.Mode()&os.ModeSymlink == 0 {
			total += info.Size()
		}
		return nil
	})
	return total, err
}
