package artifact

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// blockBytes is the maximum amount of Markdown in a compressed block. Only a single
// larger chunk may exceed it. At 16 KiB, the compression ratio of zstd is within 10 %
// of its best, and neighbouring chunks share a block.
const blockBytes = 16 << 10

// blockWriter compresses chunks into consecutive blocks.
type blockWriter struct {
	encoder *zstd.Encoder
	open    []byte
	index   []byte
	blocks  []byte
	n       uint32
}

func newBlockWriter() *blockWriter {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(true),
		zstd.WithEncoderLevel(zstd.SpeedBetterCompression), zstd.WithWindowSize(128<<10))
	if err != nil {
		panic(err) // the options are constants
	}
	return &blockWriter{encoder: encoder}
}

// add appends a chunk's Markdown to the open block, or starts a new block if the open
// one is full.
func (w *blockWriter) add(markdown string) (block, offset uint32) {
	if len(w.open) > 0 && len(w.open)+len(markdown) > blockBytes {
		w.flush()
	}
	block, offset = w.n, uint32(len(w.open))
	w.open = append(w.open, markdown...)
	return block, offset
}

func (w *blockWriter) flush() {
	w.blocks = w.encoder.EncodeAll(w.open, w.blocks)
	w.index = binary.LittleEndian.AppendUint32(w.index, uint32(len(w.blocks)))
	w.open = w.open[:0]
	w.n++
}

func (w *blockWriter) close() (index, blocks []byte) {
	if len(w.open) > 0 {
		w.flush()
	}
	w.encoder.Close()
	return w.index, w.blocks
}

// maxBlock is the maximum size of a decoded block. Without this limit, a damaged
// block could claim any size.
const maxBlock = 256 << 20

// maxScratch is the maximum size of a decoded block whose memory is kept for
// reuse.
const maxScratch = 256 << 10

// blockReader decodes blocks. It caches the last block for each of a few concurrent
// users. The chunks of a page are next to each other, so this decodes most blocks
// only once.
type blockReader struct {
	decoder func() (*zstd.Decoder, error)
	scratch sync.Pool // *decoded
}

// decoded is a cached block.
type decoded struct {
	group *group // nil if the cache is empty
	n     uint32
	bytes []byte
}

func newBlockReader() *blockReader {
	return &blockReader{decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
		return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
	})}
}

// read calls use with block n of g. The function use must not retain the block.
func (r *blockReader) read(g *group, n uint32, use func(block []byte) error) error {
	d, _ := r.scratch.Get().(*decoded)
	if d == nil {
		d = &decoded{bytes: make([]byte, 0, 2*blockBytes)}
	}
	if d.group != g || d.n != n {
		if err := r.decode(d, g, n); err != nil {
			return err
		}
	}
	err := use(d.bytes)
	if cap(d.bytes) <= maxScratch {
		r.scratch.Put(d)
	}
	return err
}

func (r *blockReader) decode(d *decoded, g *group, n uint32) error {
	decoder, err := r.decoder()
	if err != nil {
		return err
	}
	packed, err := g.block(n)
	if err != nil {
		return err
	}
	d.group = nil
	if d.bytes, err = decoder.DecodeAll(packed, d.bytes[:0]); err != nil {
		return fmt.Errorf("text block %d: %w", n, err)
	}
	d.group, d.n = g, n
	return nil
}

// block returns the compressed bytes of block n.
func (g *group) block(n uint32) ([]byte, error) {
	ends, blocks := g.bytes(blockIndex), g.bytes(blockSection)
	if int64(n) >= int64(len(ends)/4) {
		return nil, errDamaged
	}
	start := uint32(0)
	if n > 0 {
		start = binary.LittleEndian.Uint32(ends[4*(n-1):])
	}
	end := binary.LittleEndian.Uint32(ends[4*n:])
	if start > end || int64(end) > int64(len(blocks)) {
		return nil, errDamaged
	}
	return blocks[start:end], nil
}
