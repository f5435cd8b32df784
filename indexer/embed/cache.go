package embed

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// cache stores the vectors of one embedder in a folder of files called segments. Each
// process appends to a separate segment, so any number of processes can share the folder
// without a lock. If a process is killed while it writes a record, the incomplete record
// is ignored.
//
//	segment   "deskhand vectors 1\n", then records
//	record    key, u32 n, n times f32, u32 CRC-32C of the preceding bytes
//
// Numbers are little-endian. Nothing in a segment is read after an incomplete record. A
// record with a wrong checksum is ignored.
type cache struct {
	dir string

	mu       sync.Mutex
	loaded   bool
	segments []string
	records  map[key]record
	own      string // segment that this process writes, or empty before the first write
	trouble  error  // the first error; after it, nothing is written
}

// key is a digest of the text, the model and the requested dimensions.
type key [sha256.Size]byte

func keyOf(model string, dimensions int, text string) key {
	h := sha256.New()
	var n [8]byte
	for _, s := range []string{model, text} {
		binary.LittleEndian.PutUint64(n[:], uint64(len(s)))
		h.Write(n[:])
		io.WriteString(h, s)
	}
	binary.LittleEndian.PutUint64(n[:], uint64(dimensions))
	h.Write(n[:])
	return key(h.Sum(nil))
}

// record is the position of a vector in a segment.
type record struct {
	segment int
	at      int64
	bytes   int
}

const (
	segmentHead   = "deskhand vectors 1\n"
	segmentSuffix = ".vectors"
	recordHead    = sha256.Size + 4
	// mostSegments is the number of segments above which the older ones are
	// merged.
	mostSegments = 32
	// idle is how long a segment must be unchanged before it may be merged.
	idle = 10 * time.Minute
)

func newCache(root, model string) *cache {
	sum := sha256.Sum256([]byte(model))
	return &cache{dir: filepath.Join(root, hex.EncodeToString(sum[:8])), records: map[key]record{}}
}

// problem returns the reason why vectors cannot be stored, or "" if there is
// none.
func (c *cache) problem() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trouble == nil {
		return ""
	}
	return c.trouble.Error()
}

// read sets the vector of each want that is in the cache.
func (c *cache) read(wants []*want) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.load()
	files := map[int]*os.File{}
	defer func() {
		for _, f := range files {
			f.Close()
		}
	}()
	for _, w := range wants {
		r, ok := c.records[w.key]
		if !ok {
			continue
		}
		f, opened := files[r.segment]
		if !opened {
			f, _ = os.Open(c.segments[r.segment]) // nil if the segment has since been merged
			files[r.segment] = f
		}
		if f != nil {
			w.vector = readRecord(f, w.key, r)
		}
	}
}

// readRecord returns the vector of a record, or nil if the record is damaged.
func readRecord(f io.ReaderAt, k key, r record) []float32 {
	b := make([]byte, r.bytes)
	if _, err := f.ReadAt(b, r.at); err != nil {
		return nil
	}
	b, sum := b[:len(b)-4], binary.LittleEndian.Uint32(b[len(b)-4:])
	if crc32.Checksum(b, castagnoli) != sum || key(b[:len(k)]) != k {
		return nil
	}
	v := make([]float32, (len(b)-recordHead)/4)
	for i := range v {
		v[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[recordHead+4*i:]))
	}
	return v
}

// appendRecord appends the encoded record of a vector.
func appendRecord(b []byte, k key, v []float32) []byte {
	from := len(b)
	b = append(b, k[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(len(v)))
	for _, x := range v {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(x))
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b[from:], castagnoli))
}

// scanSegment calls each for every complete record in a segment. It does not check the
// records' checksums.
func scanSegment(f io.ReaderAt, size int64, each func(k key, at int64, bytes int)) {
	head := make([]byte, len(segmentHead))
	if _, err := f.ReadAt(head, 0); err != nil || string(head) != segmentHead {
		return
	}
	var b [recordHead]byte
	for at := int64(len(head)); ; {
		if _, err := f.ReadAt(b[:], at); err != nil {
			return
		}
		n := binary.LittleEndian.Uint32(b[sha256.Size:])
		if n == 0 || n > longestVector {
			return
		}
		bytes := recordHead + 4*int(n) + 4
		if at+int64(bytes) > size {
			return
		}
		each(key(b[:sha256.Size]), at, bytes)
		at += int64(bytes)
	}
}

// load finds the records in all segments. Only the first call has an effect.
func (c *cache) load() {
	if c.loaded {
		return
	}
	c.loaded = true
	entries, err := os.ReadDir(c.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.trouble = err
	}
	var old []int
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		resting := time.Since(info.ModTime()) > idle
		path := filepath.Join(c.dir, e.Name())
		if strings.HasPrefix(e.Name(), ".") && resting {
			os.Remove(path) // left behind by a merge that was killed
		}
		if filepath.Ext(path) != segmentSuffix || !c.index(path, info.Size()) {
			continue
		}
		if resting {
			old = append(old, len(c.segments)-1)
		}
	}
	if len(c.segments) > mostSegments && len(old) > 1 {
		c.merge(old)
	}
}

// index adds the records of a segment to the index. It returns false if the segment
// cannot be read.
func (c *cache) index(path string, size int64) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	c.segments = append(c.segments, path)
	scanSegment(f, size, func(k key, at int64, bytes int) { c.records[k] = record{len(c.segments) - 1, at, bytes} })
	return true
}

// write appends the vectors of wants to this process's segment, in a single
// write.
func (c *cache) write(wants []*want) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trouble != nil {
		return
	}
	c.load()
	if err := c.add(wants); err != nil {
		c.trouble = err
	}
}

func (c *cache) add(wants []*want) error {
	f, err := c.open()
	if err != nil {
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	at := info.Size()
	var b []byte
	for _, w := range wants {
		from := len(b)
		b = appendRecord(b, w.key, w.vector)
		c.records[w.key] = record{len(c.segments) - 1, at + int64(from), len(b) - from}
	}
	if _, err := f.Write(b); err != nil {
		return err
	}
	return f.Close()
}

// open opens this process's segment for appending. It is the last segment. If another
// process has merged it, open creates a new one.
func (c *cache) open() (*os.File, error) {
	if c.own != "" {
		f, err := os.OpenFile(c.own, os.O_WRONLY|os.O_APPEND, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
	}
	if err := os.MkdirAll(c.dir, 0o700); err != nil {
		return nil, err
	}
	path := filepath.Join(c.dir, rand.Text()+segmentSuffix)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	if _, err := f.WriteString(segmentHead); err != nil {
		f.Close()
		return nil, err
	}
	c.own, c.segments = path, append(c.segments, path)
	return f, nil
}

// merge replaces the old segments with a single segment. If it fails, the old
// segments are unchanged.
func (c *cache) merge(old []int) {
	f, err := os.CreateTemp(c.dir, ".merge-*")
	if err != nil {
		return
	}
	defer os.Remove(f.Name())
	defer f.Close()
	if _, err := f.WriteString(segmentHead); err != nil {
		return
	}
	for _, i := range old {
		if !c.copySegment(f, i) {
			return
		}
	}
	size, err := f.Seek(0, io.SeekCurrent)
	if err != nil || f.Sync() != nil || f.Close() != nil {
		return
	}
	path := filepath.Join(c.dir, rand.Text()+segmentSuffix)
	if os.Rename(f.Name(), path) != nil || !c.index(path, size) {
		return
	}
	for _, i := range old {
		os.Remove(c.segments[i])
	}
}

// copySegment copies a segment's complete records to f. It skips records that the
// index reads from another segment.
func (c *cache) copySegment(f *os.File, segment int) bool {
	from, err := os.Open(c.segments[segment])
	if err != nil {
		return true // another process has merged the segment
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return false
	}
	ok := true
	scanSegment(from, info.Size(), func(k key, at int64, bytes int) {
		if r := c.records[k]; r.segment != segment || r.at != at || !ok {
			return
		}
		if v := readRecord(from, k, record{segment, at, bytes}); v != nil {
			_, err := f.Write(appendRecord(nil, k, v))
			ok = err == nil
		}
	})
	return ok
}
