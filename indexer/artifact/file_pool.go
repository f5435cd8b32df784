package artifact

import (
	lru "container/list"
	"errors"
	"io"
	"os"
	"sync"

	"github.com/blevesearch/mmap-go"
)

// maxOpen is the number of data files that all readers of a process keep open. A shelf
// may have more indexes than a process may have open files.
const maxOpen = 32

// pooledFile is a data file that is opened when it is read, and may be closed between
// two reads. It must stay mapped as long as it is used: if another file has taken its
// place, or none has, reads come from the mapping.
type pooledFile struct {
	path string
	info os.FileInfo
	data []byte
	// The pool guards these. element is nil if the file is closed.
	element *lru.Element
	file    *os.File
	readers int
}

// filePool keeps the files that were read last open.
var filePool struct {
	mu   sync.Mutex
	open lru.List // of *pooledFile, the one read last in front
}

// newPooledFile takes over an open file and its mapping.
func newPooledFile(f *os.File, info os.FileInfo, data []byte) *pooledFile {
	p := &pooledFile{path: f.Name(), info: info, data: data, file: f}
	filePool.mu.Lock()
	defer filePool.mu.Unlock()
	p.enter()
	return p
}

// enter puts an open file in front, and closes those read least recently. The caller
// holds the pool.
func (p *pooledFile) enter() {
	pool := &filePool.open
	p.element = pool.PushFront(p)
	for e := pool.Back(); e != nil && pool.Len() > maxOpen; {
		last := e
		e = e.Prev()
		if last.Value.(*pooledFile).readers == 0 {
			last.Value.(*pooledFile).leave()
		}
	}
}

// leave closes an open file. The caller holds the pool.
func (p *pooledFile) leave() {
	filePool.open.Remove(p.element)
	p.file.Close() // only for reading
	p.element, p.file = nil, nil
}

// acquire returns the open file, or nil if it is not at its path any more.
func (p *pooledFile) acquire() *os.File {
	filePool.mu.Lock()
	defer filePool.mu.Unlock()
	if p.element == nil {
		f, err := os.Open(p.path)
		if err != nil {
			return nil
		}
		if info, err := f.Stat(); err != nil || !os.SameFile(info, p.info) {
			f.Close()
			return nil
		}
		p.file = f
		p.readers++
		p.enter()
		return f
	}
	filePool.open.MoveToFront(p.element)
	p.readers++
	return p.file
}

func (p *pooledFile) release() {
	filePool.mu.Lock()
	defer filePool.mu.Unlock()
	p.readers--
}

// ReadAt implements [io.ReaderAt].
func (p *pooledFile) ReadAt(b []byte, offset int64) (int, error) {
	f := p.acquire()
	if f == nil {
		return p.readMapped(b, offset)
	}
	defer p.release()
	return f.ReadAt(b, offset)
}

func (p *pooledFile) readMapped(b []byte, offset int64) (n int, err error) {
	defer contain(&err)()
	if offset < 0 || offset > int64(len(p.data)) {
		return 0, errors.New("the offset is outside the data file")
	}
	if n = copy(b, p.data[offset:]); n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

// close closes the file if it is open. No read may be running.
func (p *pooledFile) close() {
	filePool.mu.Lock()
	defer filePool.mu.Unlock()
	if p.element != nil {
		p.leave()
	}
}

// MapFile maps a file read-only until unmap is called. The file may be closed before that.
func MapFile(f *os.File) (data []byte, unmap func(), err error) {
	m, err := mmap.Map(f, mmap.RDONLY, 0)
	if err != nil {
		return nil, nil, err
	}
	return m, func() { _ = m.Unmap() }, nil
}
