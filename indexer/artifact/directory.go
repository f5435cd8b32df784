package artifact

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/blugelabs/bluge/index"
	segment "github.com/blugelabs/bluge_segment_api"
)

// segments is a bluge directory in memory or in a mapped file. It has one snapshot,
// which lists the segments in order. Its write methods keep the bytes that the offline
// writer persists. Its read methods return the slices without copying.
type segments [][]byte

// The only segment type that bluge v0.2.2 writes reliably.
const (
	segmentType    = "ice"
	segmentVersion = 1
)

// snapshot returns the bytes of a bluge snapshot of the segments 0 to n-1.
func (s segments) snapshot() []byte {
	b := binary.AppendUvarint(nil, 1) // snapshot format version
	b = binary.AppendUvarint(b, uint64(len(s)))
	for i := range s {
		b = binary.AppendUvarint(b, uint64(len(segmentType)))
		b = append(b, segmentType...)
		b = binary.BigEndian.AppendUint32(b, segmentVersion)
		b = binary.AppendUvarint(b, uint64(i))
		b = binary.AppendUvarint(b, 0) // no deleted documents
	}
	return binary.BigEndian.AppendUint32(b, crc32.ChecksumIEEE(b))
}

func (s *segments) List(kind string) ([]uint64, error) {
	if kind == index.ItemKindSnapshot {
		return []uint64{0}, nil
	}
	ids := make([]uint64, len(*s))
	for i := range ids {
		ids[i] = uint64(len(*s) - 1 - i)
	}
	return ids, nil
}

func (s *segments) Load(kind string, id uint64) (*segment.Data, io.Closer, error) {
	if kind == index.ItemKindSnapshot {
		return segment.NewDataBytes(s.snapshot()), nil, nil
	}
	if id >= uint64(len(*s)) {
		return nil, nil, fmt.Errorf("there is no segment %d", id)
	}
	return segment.NewDataBytes((*s)[id]), nil, nil
}

func (s *segments) Persist(kind string, id uint64, w index.WriterTo, stop chan struct{}) error {
	if kind == index.ItemKindSnapshot {
		return nil
	}
	if id != uint64(len(*s)) {
		return fmt.Errorf("segment %d out of order", id)
	}
	var b bytes.Buffer
	if _, err := w.WriteTo(&b, stop); err != nil {
		return err
	}
	*s = append(*s, b.Bytes())
	return nil
}

func (s *segments) Setup(bool) error            { return nil }
func (s *segments) Remove(string, uint64) error { return nil }
func (s *segments) Stats() (uint64, uint64)     { return uint64(len(*s)), 0 }
func (s *segments) Sync() error                 { return nil }
func (s *segments) Lock() error                 { return nil }
func (s *segments) Unlock() error               { return nil }
