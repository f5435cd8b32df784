package shelf

import (
	"bytes"
	"encoding/binary"
	"encoding/gob"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// known holds the metadata of libraries by the names of their folders. [Shelf.Look] keeps it
// in a file on the shelf, because reading 200 files of JSON takes ten times as long
// (BenchmarkLook). Each entry says which metadata.json it was read from, so an old file
// is only slower. It may be deleted at any time.
//
// The file has the bytes of knownMagic, a gob of known, and the CRC-32C of both as a u32.
type known map[string]*artifact.Known

const (
	knownFile  = ".libraries"
	knownTemp  = ".libraries-*.tmp"
	knownMagic = "deskhand libraries 1\n"
	// maxKnown is the maximum size of the file, and maxKept that of a metadata.json whose
	// content it holds. A gob can decode to some hundred times its size.
	maxKnown = 4 << 20
	maxKept  = 64 << 10
	// settled is how old metadata.json must be. A file that was just written may change again
	// without another modification time.
	settled = 2 * time.Second
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// readKnown returns nil if there is no whole file.
func (s Shelf) readKnown() (k known) {
	path := filepath.Join(s.Dir, knownFile)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() || info.Size() > maxKnown {
		return nil // to open a named pipe would wait
	}
	b, err := os.ReadFile(path)
	end := len(b) - 4
	if err != nil || end < len(knownMagic) || string(b[:len(knownMagic)]) != knownMagic || crc32.Checksum(b[:end], castagnoli) != binary.LittleEndian.Uint32(b[end:]) {
		return nil
	}
	if gob.NewDecoder(bytes.NewReader(b[len(knownMagic):end])).Decode(&k) != nil {
		return nil
	}
	return k
}

// keepKnown writes the file if before, which was read from it, differs from entries.
// Nothing depends on the file, so errors are ignored: the shelf may be read-only.
func (s Shelf) keepKnown(before known, entries []Entry) {
	now, same := known{}, true
	for _, e := range entries {
		k := e.described.Known()
		if k.Size > maxKept || time.Since(e.described.File().ModTime()) < settled {
			continue
		}
		folder := filepath.Base(e.Folder)
		now[folder], same = k, same && k.Same(before[folder])
	}
	if same && len(now) == len(before) {
		return
	}
	b := bytes.NewBufferString(knownMagic)
	if gob.NewEncoder(b).Encode(now) != nil || b.Len() > maxKnown-4 {
		return
	}
	s.sweepKnown()
	_, _ = b.Write(binary.LittleEndian.AppendUint32(nil, crc32.Checksum(b.Bytes(), castagnoli)))
	temp, err := os.CreateTemp(s.Dir, knownTemp)
	if err != nil {
		return
	}
	defer os.Remove(temp.Name()) // fails if it was renamed
	_, err = temp.Write(b.Bytes())
	if chmod, closed := temp.Chmod(0o644), temp.Close(); err != nil || chmod != nil || closed != nil {
		return
	}
	_ = os.Rename(temp.Name(), filepath.Join(s.Dir, knownFile))
}

// sweepKnown deletes what killed processes left behind. Writing takes milliseconds.
func (s Shelf) sweepKnown() {
	files, _ := filepath.Glob(filepath.Join(s.Dir, knownTemp))
	for _, file := range files {
		if info, err := os.Lstat(file); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > time.Minute {
			_ = os.Remove(file) // the next process tries again
		}
	}
}
