package logs

import (
	"bytes"
	"compress/flate"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/deskhand/deskhand/runtime/store"
)

// A program that prints much fills batches of thousands of short entries. Rows would take
// ten times the bytes of the output, and the store writes each byte twice. Such entries
// are stored in blocks: the length of each entry as a uvarint, then its bytes, all
// compressed with DEFLATE. What an agent says one by one is stored as rows, because it is
// often replaced.
const (
	// leastBlock is the minimum number of entries of a block.
	leastBlock = 16
	// mostBlock and blockBytes limit a block, because a reader has to decompress all of it.
	mostBlock  = 1000
	blockBytes = 256 << 10
)

// block is a range of entries whose indexes and revisions follow one another.
type block struct {
	first, last      int64 // index
	revision, newest int64 // revision of the first and of the last entry
	size             int64 // bytes of the entries
	data             []byte
}

// pack divides new entries into entries to store as rows, and blocks.
func pack(fresh []item) (rows []item, blocks []block, err error) {
	var deflate *flate.Writer
	for len(fresh) > 0 {
		n, size := run(fresh)
		if n < leastBlock {
			rows = append(rows, fresh[:n]...)
			fresh = fresh[n:]
			continue
		}
		var data bytes.Buffer
		if deflate == nil {
			deflate, err = flate.NewWriter(&data, flate.DefaultCompression)
		} else {
			deflate.Reset(&data)
		}
		for _, i := range fresh[:n] {
			if err == nil {
				_, err = deflate.Write(binary.AppendUvarint(nil, uint64(len(i.entry))))
			}
			if err == nil {
				_, err = deflate.Write(i.entry)
			}
		}
		if err == nil {
			err = deflate.Close()
		}
		if err != nil {
			return nil, nil, fmt.Errorf("compress log entries: %w", err)
		}
		from, to := fresh[0], fresh[n-1]
		blocks = append(blocks, block{first: from.index, last: to.index, revision: from.revision, newest: to.revision, size: size, data: data.Bytes()})
		fresh = fresh[n:]
	}
	return rows, blocks, nil
}

// run returns how many of the first entries follow one another and fit into a block, and
// their size.
func run(items []item) (n int, size int64) {
	for n < min(len(items), mostBlock) {
		i := items[n]
		if n > 0 && (i.index != items[n-1].index+1 || i.revision != items[n-1].revision+1 || size+int64(len(i.entry)) > blockBytes) {
			break
		}
		size += int64(len(i.entry))
		n++
	}
	return n, size
}

// unpack returns the entries of a block.
func (b *block) unpack() ([]Stored, error) {
	n := b.last - b.first + 1
	damaged := fmt.Errorf("log entries %d to %d are damaged", b.first, b.last)
	if n < 1 || n > mostBlock || b.newest-b.revision+1 != n || b.size < 0 || b.size > blockBytes {
		return nil, damaged
	}
	text, err := io.ReadAll(io.LimitReader(flate.NewReader(bytes.NewReader(b.data)), b.size+n*binary.MaxVarintLen64+1))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", damaged, err)
	}
	entries := make([]Stored, 0, n)
	for i := range n {
		size, read := binary.Uvarint(text)
		if read <= 0 || size > uint64(len(text)-read) {
			return nil, damaged
		}
		end := read + int(size)
		entries = append(entries, Stored{Index: b.first + i, Revision: b.revision + i, Entry: text[read:end:end]})
		text = text[end:]
	}
	if len(text) > 0 {
		return nil, damaged
	}
	return entries, nil
}

const insertBlock = "INSERT INTO log_blocks (log_id, first_index, last_index, first_revision, last_revision, size, data) VALUES (?, ?, ?, ?, ?, ?, ?)"

// insertion returns the statement that writes a block.
func (b *block) insertion(log int64) store.Statement {
	return store.Statement{Query: insertBlock, Args: []any{log, b.first, b.last, b.revision, b.newest, b.size, b.data}, Rows: 1}
}

// nextBlock returns the entries of the first block that where selects, in the order that
// where demands, without those that were replaced. It returns nil if there is none.
func nextBlock(ctx context.Context, tx *store.Tx, log int64, where string, args ...any) (b *block, entries []Stored, err error) {
	b = &block{}
	err = tx.QueryRow(ctx, "SELECT first_index, last_index, first_revision, last_revision, size, data FROM log_blocks WHERE log_id = ? AND "+where+" LIMIT 1",
		append([]any{log}, args...)...).Scan(&b.first, &b.last, &b.revision, &b.newest, &b.size, &b.data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil, nil
	}
	if err == nil {
		entries, err = b.unpack()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read log entries: %w", err)
	}
	rows, err := tx.Query(ctx, "SELECT entry_index FROM log_entries WHERE log_id = ? AND entry_index BETWEEN ? AND ?", log, b.first, b.last)
	if err != nil {
		return nil, nil, fmt.Errorf("read log entries: %w", err)
	}
	defer rows.Close()
	replaced := map[int64]bool{}
	for rows.Next() {
		var index int64
		if err := rows.Scan(&index); err != nil {
			return nil, nil, fmt.Errorf("read log entries: %w", err)
		}
		replaced[index] = true
	}
	if len(replaced) > 0 {
		entries = slices.DeleteFunc(entries, func(s Stored) bool { return replaced[s.Index] })
	}
	return b, entries, rows.Err()
}

// inBlock reports whether a block has an entry with this index.
func inBlock(ctx context.Context, tx *store.Tx, log, index int64) (found bool, err error) {
	var last int64
	err = tx.QueryRow(ctx, "SELECT last_index FROM log_blocks WHERE log_id = ? AND first_index <= ? ORDER BY first_index DESC LIMIT 1", log, index).Scan(&last)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return last >= index, err
}
