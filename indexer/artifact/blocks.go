package artifact

import (
	"encoding/binary"
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"
)

// blockBytes is how much text a compressed block holds: at 16 KiB zstd gets
// within a tenth of its best ratio, and neighbours fall in the same block.
const blockBytes = 16 << 10

// blockWriter fills blocks in order.
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

// add appends a chunk's markdown and text to the open block, which a new one
// replaces once it is full.
func (w *blockWriter) add(markdown, text string) (block, offset uint32) {
	if len(w.open) > 0 && len(w.open)+len(markdown)+len(text) > blockBytes {
		w.flush()
	}
	block, offset = w.n, uint32(len(w.open))
	w.open = append(append(w.open, markdown...), text...)
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

// cachedBlocks is how many decoded blocks a reader keeps: 1 MiB or so, enough
// for the hits of a page and the neighbours of a get_doc.
const cachedBlocks = 64

// maxBlock bounds what a damaged block may claim to hold.
const maxBlock = 256 << 20

// blockCache keeps the blocks read last, decoded.
type blockCache struct {
	mu      sync.Mutex
	decoded map[blockID][]byte
	order   [cachedBlocks]blockID
	next    int
	decoder func() (*zstd.Decoder, error)
}

type blockID struct {
	group *group
	n     uint32
}

func newBlockCache() *blockCache {
	return &blockCache{
		decoded: map[blockID][]byte{},
		decoder: sync.OnceValues(func() (*zstd.Decoder, error) {
			return zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderMaxMemory(maxBlock), zstd.WithDecoderLowmem(true))
		}),
	}
}

// get returns block n of g; the bytes are not to be changed.
func (c *blockCache) get(g *group, n uint32) ([]byte, error) {
	id := blockID{g, n}
	c.mu.Lock()
	block, ok := c.decoded[id]
	c.mu.Unlock()
	if ok {
		return block, nil
	}
	decoder, err := c.decoder()
	if err != nil {
		return nil, err
	}
	packed, err := g.block(n)
	if err != nil {
		return nil, err
	}
	if block, err = decoder.DecodeAll(packed, make([]byte, 0, blockBytes)); err != nil {
		return nil, fmt.Errorf("text block %d: %w", n, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.decoded[id]; !ok {
		delete(c.decoded, c.order[c.next])
		c.decoded[id], c.order[c.next] = block, id
		c.next = (c.next + 1) % cachedBlocks
	}
	return block, nil
}

// block is the compressed bytes of block n.
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
