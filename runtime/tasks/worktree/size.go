package worktree

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
)

// Size returns the total size of the files in the attempt's folder, in bytes.
// It does not follow symbolic links, and does not count the repositories'
// objects. A missing folder has size 0.
func (t Tree) Size(ctx context.Context) (int64, error) {
	var total int64
	err := filepath.WalkDir(t.Dir, func(_ string, d fs.DirEntry, err error) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil || d.IsDir() {
			return nil // the file has disappeared or is unreadable
		}
		if info, err := d.Info(); err == nil && info.Mode()&os.ModeSymlink == 0 {
			total += info.Size()
		}
		return nil
	})
	return total, err
}
