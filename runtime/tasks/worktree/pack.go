package worktree

import (
	"bufio"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// Limits of a pack from another machine. Git holds a tree, a commit and the result of a
// delta in memory, and the objects of a small pack can be very large.
const (
	maxPackObject = 256 << 20 // bytes of one object, and of one delta's result
	maxPackTotal  = 4 << 30   // bytes of all objects, without the results of deltas
	maxPackDeltas = 64 << 30  // bytes of the results of all deltas, which git computes: some minutes
	maxPackCount  = 2_000_000 // objects
)

// Types of the entries of a pack; see gitformat-pack.
const (
	packOffsetDelta = 6
	packRefDelta    = 7
)

// errPack reports a pack that git should not read.
var errPack = errors.New("the pack is not acceptable")

func badPack(format string, args ...any) error {
	return fmt.Errorf("%w: %s", errPack, fmt.Sprintf(format, args...))
}

// checkPack reads a pack and fails if its objects exceed the limits, before git allocates
// memory for them. Git checks everything else. idBytes is the length of an object ID.
func checkPack(from io.Reader, idBytes int) error {
	in := bufio.NewReaderSize(from, 64<<10)
	var head [12]byte
	if _, err := io.ReadFull(in, head[:]); err != nil || string(head[:4]) != "PACK" {
		return badPack("it has no header")
	}
	count := binary.BigEndian.Uint32(head[8:])
	if count > maxPackCount {
		return badPack("it has %d objects; the maximum is %d", count, maxPackCount)
	}
	p := packScan{in: in, idBytes: idBytes}
	for n := range count {
		if err := p.entry(); err != nil {
			if !errors.Is(err, errPack) {
				err = badPack("object %d: %v", n, err)
			}
			return err
		}
	}
	return nil
}

// packScan is the state of [checkPack].
type packScan struct {
	in      *bufio.Reader
	idBytes int
	zip     io.ReadCloser // reused
	total   int64
	results uint64 // of deltas
}

// entry reads one entry.
func (p *packScan) entry() error {
	first, err := p.in.ReadByte()
	if err != nil {
		return err
	}
	kind, size, shift := first>>4&7, uint64(first&15), 4
	for b := first; b&0x80 != 0; shift += 7 {
		if b, err = p.in.ReadByte(); err != nil {
			return err
		}
		if shift > 56 {
			return badPack("an object has no valid size")
		}
		size |= uint64(b&0x7f) << shift
	}
	if size > maxPackObject {
		return tooLarge(size)
	}
	switch kind {
	case packOffsetDelta:
		for b := byte(0x80); b&0x80 != 0; {
			if b, err = p.in.ReadByte(); err != nil {
				return err
			}
		}
	case packRefDelta:
		if _, err := p.in.Discard(p.idBytes); err != nil {
			return err
		}
	}
	return p.content(int64(size), kind == packOffsetDelta || kind == packRefDelta)
}

func tooLarge(size uint64) error {
	return badPack("an object has %d bytes; the maximum is %d", size, maxPackObject)
}

// content reads an entry's compressed content, which must have the announced size.
func (p *packScan) content(size int64, delta bool) (err error) {
	if p.zip == nil {
		p.zip, err = zlib.NewReader(p.in)
	} else {
		err = p.zip.(zlib.Resetter).Reset(p.in, nil)
	}
	if err != nil {
		return err
	}
	if p.total += size; p.total > maxPackTotal {
		return badPack("its objects have more than %d bytes", int64(maxPackTotal))
	}
	text := io.LimitReader(p.zip, size+1)
	read := int64(0)
	if delta {
		// A delta begins with the sizes of its source and of its result.
		n, result, err := deltaSizes(text)
		if err != nil {
			return err
		}
		if read = n; result > maxPackObject {
			return tooLarge(result)
		}
		if p.results += result; p.results > maxPackDeltas {
			return badPack("its deltas result in more than %d bytes", int64(maxPackDeltas))
		}
	}
	n, err := io.Copy(io.Discard, text) // to its end, where zlib compares the checksum
	if err != nil {
		return err
	}
	if read+n != size {
		return badPack("an object has not the size that it announces")
	}
	return nil
}

// deltaSizes returns how many bytes it has read, and the size of the delta's result.
func deltaSizes(text io.Reader) (read int64, result uint64, err error) {
	one := make([]byte, 1)
	for range 2 {
		result = 0
		for shift := 0; ; shift += 7 {
			if _, err := io.ReadFull(text, one); err != nil {
				return read, 0, err
			}
			read++
			if shift > 56 {
				return read, 0, badPack("a delta has no valid size")
			}
			result |= uint64(one[0]&0x7f) << shift
			if one[0]&0x80 == 0 {
				break
			}
		}
	}
	return read, result, nil
}
