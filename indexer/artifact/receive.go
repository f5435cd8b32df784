package artifact

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
)

// Data returns the bytes of the data file. The bytes must not be read after
// Close.
func (r *Reader) Data() *io.SectionReader {
	return io.NewSectionReader(r.at, 0, r.meta.Index.Bytes)
}

// Receive installs an artifact that was built elsewhere. It creates the folder dir
// if needed. The function read writes the data file that m describes. If the
// artifact in dir already has this data and is not damaged, read is not called. The
// old artifact stays in use until the last step, a rename. Receive returns the
// errors of Create and of read, and the fault "artifact_damaged" if the data does
// not match m.
func Receive(dir string, m Metadata, read func(io.Writer) error) error {
	w, err := Create(dir)
	if err != nil {
		return err
	}
	defer w.Abort()
	if p := w.previous; p == nil || p.meta.Index != m.Index || !reflect.DeepEqual(p.meta.Embedding, m.Embedding) || p.Verify() != nil {
		if err := w.receive(m, read); err != nil {
			return err
		}
	}
	text, err := m.Encode()
	if err != nil {
		return fmt.Errorf("encode metadata: %w", err)
	}
	if w.file == nil && w.digest == sha256.Sum256(text) {
		return nil // nothing changed, so readers need not reload
	}
	if err := w.closePrevious(); err != nil {
		return err
	}
	if err := replaceFile(filepath.Join(dir, MetadataFile), text); err != nil {
		return fmt.Errorf("replace metadata: %w", err)
	}
	w.sweep(m.Index.Path)
	return nil
}

// receive writes the data file, checks it, and renames it.
func (w *Writer) receive(m Metadata, read func(io.Writer) error) error {
	var err error
	if w.file, err = os.CreateTemp(w.dir, tempPrefix+"*"); err != nil {
		return fmt.Errorf("create data file: %w", err)
	}
	sum := sha256.New()
	data := &bounded{w: io.MultiWriter(w.file, sum), left: m.Index.Bytes}
	if err := read(data); err != nil {
		return err
	}
	if data.left != 0 || hex.EncodeToString(sum.Sum(nil)) != m.Index.SHA256 {
		return damaged(w.dir, "its data file does not match the one in metadata.json")
	}
	if err := w.file.Chmod(0o644); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return fmt.Errorf("set the data file's mode: %w", err)
	}
	if err := errors.Join(w.file.Sync(), w.file.Close()); err != nil {
		return fmt.Errorf("write data file: %w", err)
	}
	if err := opens(w.file.Name(), m); err != nil {
		return damaged(w.dir, err.Error())
	}
	if err := w.closePrevious(); err != nil {
		return err
	}
	if err := os.Rename(w.file.Name(), filepath.Join(w.dir, m.Index.Path)); err != nil {
		return fmt.Errorf("rename data file: %w", err)
	}
	return nil
}

// opens returns an error if a data file cannot be opened as the artifact m.
func opens(path string, m Metadata) error {
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	r := &Reader{meta: m, blocks: newBlockReader()}
	return errors.Join(r.load(file), r.Close())
}

// bounded is a writer that accepts up to left more bytes.
type bounded struct {
	w    io.Writer
	left int64
}

func (b *bounded) Write(p []byte) (int, error) {
	if int64(len(p)) > b.left {
		return 0, errors.New("the data is longer than metadata.json says")
	}
	n, err := b.w.Write(p)
	b.left -= int64(n)
	return n, err
}
