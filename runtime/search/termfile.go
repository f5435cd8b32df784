package search

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// termFile is the file of an index of terms. It is derived from the indexes and may be
// deleted at any time. Its name is the digest of what it is derived from, so it is never
// changed, only created by renaming. It has these parts:
//
//	16 bytes  termMagic
//	3 u32     the number of terms, of places, and of chunks with twins
//	          starts, hashes, ends, places, counts, peaks, twins, see termIndex
//	u32       the CRC-32C of all that
type termFile struct{ dir, name string }

const (
	termMagic  = "deskhand terms 3"
	termHead   = len(termMagic) + 12
	termPrefix = ".terms-"
	// keptTerms is the maximum number of such files in a folder: projects select other
	// versions of the same libraries.
	keptTerms = 4
)

// KeepIn lets f keep what it derives from its libraries in files in the folder dir, which
// other processes may share. Call it before the first search.
func (f *Federation) KeepIn(dir string) { f.dir = dir }

// file returns the file of the index of the terms in these indexes.
func (f *Federation) file(of []*snapshot) termFile {
	h := sha256.New()
	io.WriteString(h, termMagic)
	for _, ed := range of {
		io.WriteString(h, "\n"+ed.reader.Metadata().Index.SHA256)
	}
	return termFile{f.dir, fmt.Sprintf("%s%x", termPrefix, h.Sum(nil)[:16])}
}

// read maps the file. It returns nil if there is no whole file.
func (f termFile) read(of []*snapshot) *termIndex {
	if f.dir == "" {
		return nil
	}
	path := filepath.Join(f.dir, f.name)
	if info, err := os.Lstat(path); err != nil || !info.Mode().IsRegular() {
		return nil // to open a named pipe would wait
	}
	file, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer file.Close()
	size, terms, places, chunks, ok := checkTerms(file, len(of))
	if !ok {
		return nil
	}
	data, unmap, err := artifact.MapFile(file)
	if err != nil || int64(len(data)) != size {
		return nil
	}
	rest := data[termHead:]
	part := func(n int) (b []byte) {
		b, rest = rest[:n:n], rest[n:]
		return b
	}
	t := &termIndex{of: of, mapped: true, starts: part(4 * (buckets + 1)), hashes: part(4 * terms), ends: part(4 * terms), places: part(2 * places), counts: part(2 * places), peaks: part(places), twins: part(4 * chunks)}
	runtime.AddCleanup(t, func(unmap func()) { unmap() }, unmap) // searches may use it until then
	return t
}

// checkTerms compares a file with its checksum, and checks all numbers on which the bounds of
// later reads depend. It reads the file and not a mapping, because all of it would then
// count as memory of this process.
func checkTerms(file *os.File, indexes int) (size int64, terms, places, chunks int, ok bool) {
	head := make([]byte, termHead)
	info, err := file.Stat()
	if err != nil {
		return 0, 0, 0, 0, false
	}
	if _, err := file.ReadAt(head, 0); err != nil || string(head[:len(termMagic)]) != termMagic {
		return 0, 0, 0, 0, false
	}
	t, p, c := u32(head[len(termMagic):], 0), u32(head[len(termMagic):], 1), u32(head[len(termMagic):], 2)
	size = int64(termHead) + 4*(buckets+1) + 8*int64(t) + 5*int64(p) + 4*int64(c) + 4
	if info.Size() != size {
		return 0, 0, 0, 0, false
	}
	in, sum, buf := io.NewSectionReader(file, int64(termHead), size), crc32.Update(0, castagnoli, head), make([]byte, 128<<10)
	part := func(n int, fits func(b []byte) bool) bool {
		for left := n; left > 0; {
			b := buf[:min(left, len(buf))]
			if _, err := io.ReadFull(in, b); err != nil || !fits(b) {
				return false
			}
			sum = crc32.Update(sum, castagnoli, b)
			left -= len(b)
		}
		return true
	}
	all := func([]byte) bool { return true }
	ascending := func(most uint32) func(b []byte) bool {
		before := uint32(0)
		return func(b []byte) bool {
			for ; len(b) >= 4; b = b[4:] {
				x := binary.LittleEndian.Uint32(b)
				if x < before || x > most {
					return false
				}
				before = x
			}
			return true
		}
	}
	inside := func(b []byte) bool {
		for ; len(b) >= 2; b = b[2:] {
			if int(binary.LittleEndian.Uint16(b)) >= indexes {
				return false
			}
		}
		return true
	}
	if !part(4*(buckets+1), ascending(t)) || !part(4*int(t), all) || !part(4*int(t), ascending(p)) ||
		!part(2*int(p), inside) || !part(2*int(p), all) || !part(int(p), all) || !part(4*int(c), all) {
		return 0, 0, 0, 0, false
	}
	last := make([]byte, 4)
	if _, err := file.ReadAt(last, size-4); err != nil || binary.LittleEndian.Uint32(last) != sum {
		return 0, 0, 0, 0, false
	}
	return size, int(t), int(p), int(c), true
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// write creates the file, and reports whether it did. A folder that cannot be written is
// no error: the index is then built by each process.
func (f termFile) write(t *termIndex) bool {
	if f.dir == "" {
		return false
	}
	temp, err := os.CreateTemp(f.dir, termPrefix+"*.tmp")
	if err != nil {
		return false
	}
	defer os.Remove(temp.Name())
	sum := crc32.New(castagnoli)
	out := io.MultiWriter(temp, sum)
	head := binary.LittleEndian.AppendUint32([]byte(termMagic), uint32(len(t.hashes)/4))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(t.places)/2))
	head = binary.LittleEndian.AppendUint32(head, uint32(len(t.twins)/4))
	for _, part := range [][]byte{head, t.starts, t.hashes, t.ends, t.places, t.counts, t.peaks, t.twins} {
		if _, err = out.Write(part); err != nil {
			break
		}
	}
	if err == nil {
		_, err = temp.Write(binary.LittleEndian.AppendUint32(nil, sum.Sum32()))
	}
	if closed := temp.Close(); err != nil || closed != nil {
		return false
	}
	if os.Rename(temp.Name(), filepath.Join(f.dir, f.name)) != nil {
		return false
	}
	f.sweep()
	return true
}

// sweep deletes the files written first, of which there are more than keptTerms. Files that
// a killed process left behind count too.
func (f termFile) sweep() {
	entries, _ := os.ReadDir(f.dir) // the next process tries again
	var old []os.FileInfo
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), termPrefix) && e.Name() != f.name && e.Type().IsRegular() {
			old = append(old, info)
		}
	}
	slices.SortFunc(old, func(a, b os.FileInfo) int { return b.ModTime().Compare(a.ModTime()) })
	for _, info := range old[min(len(old), keptTerms-1):] {
		_ = os.Remove(filepath.Join(f.dir, info.Name()))
	}
}
