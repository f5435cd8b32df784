package worktree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
)

// bringLarge copies the files that git-lfs stored in a box into the
// repository's LFS store. Each file is named by the digest of its content.
func bringLarge(common, theirs string) error {
	const store = "lfs/objects"
	root, err := os.OpenRoot(common)
	if err != nil {
		return err
	}
	defer root.Close()
	err = fs.WalkDir(root.FS(), store, func(name string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || len(path.Base(name)) != sha256.Size*2 {
			return err
		}
		id := path.Base(name)
		to := filepath.Join(theirs, filepath.FromSlash(store), id[:2], id[2:4], id)
		if _, err := os.Lstat(to); err == nil {
			return nil
		}
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			return err
		}
		return copyNamed(root, name, to, id)
	})
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("copy git-lfs files: %w", err)
	}
	return nil
}

// copyNamed copies a file if the digest of its content is id. Otherwise it
// skips the file.
func copyNamed(root *os.Root, name, to, id string) error {
	source, err := root.Open(name)
	if err != nil {
		return err
	}
	defer source.Close()
	temp, err := os.CreateTemp(filepath.Dir(to), ".deskhand-")
	if err != nil {
		return err
	}
	defer os.Remove(temp.Name())
	digest := sha256.New()
	_, err = io.Copy(io.MultiWriter(temp, digest), source)
	if err = errors.Join(err, temp.Close()); err != nil || hex.EncodeToString(digest.Sum(nil)) != id {
		return err
	}
	return os.Rename(temp.Name(), to)
}
