package backup

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// move replaces all rows of target with those of source, reads them again and compares.
// It fills in the report.
func move(ctx context.Context, source, target *store.Tx, r *Report) error {
	from, err := source.Tables(ctx)
	if err != nil {
		return err
	}
	to, err := target.Tables(ctx)
	if err != nil {
		return err
	}
	from = slices.DeleteFunc(from, func(t store.Table) bool { return t.Name == manifestTable })
	if !slices.EqualFunc(from, to, func(a, b store.Table) bool { return a.Name == b.Name && slices.Equal(a.Columns, b.Columns) }) {
		return fmt.Errorf("%s and %s have different tables", r.From, r.To)
	}
	if err := target.ReplaceAll(ctx); err != nil {
		return err
	}
	for _, t := range to {
		read, err := fill(ctx, source, target, t)
		if err != nil {
			return fmt.Errorf("copy the table %s: %w", t.Name, err)
		}
		written, err := digest(ctx, target, t)
		if err != nil {
			return fmt.Errorf("compare the table %s: %w", t.Name, err)
		}
		if written != read {
			return fault.New(Differs, fmt.Sprintf("the table %s differs after copying: %d rows with the digest %.12s were read, and %d with %.12s written; nothing was changed",
				t.Name, read.Rows, read.Digest, written.Rows, written.Digest), "check the disk and the database, and report this as a bug")
		}
		step()
		r.Tables = append(r.Tables, read)
		r.Rows += read.Rows
	}
	return nil
}

// step is called between the steps of a copy. Tests replace it.
var step = func() {}

// Limits of one INSERT. SQLite allows 32,766 parameters, PostgreSQL twice as many.
const (
	mostParameters = 16_000
	mostBytes      = 1 << 20
)

// fill copies one table into an emptied one and returns what it read.
func fill(ctx context.Context, source, target *store.Tx, t store.Table) (Table, error) {
	if _, err := target.Exec(ctx, "DELETE FROM "+quoted(t.Name)); err != nil {
		return Table{}, err
	}
	one := "(" + strings.TrimSuffix(strings.Repeat("?, ", len(t.Columns)), ", ") + "), "
	insert := "INSERT INTO " + quoted(t.Name) + " (" + columns(t) + ") VALUES "
	var args []any
	size := 0
	flush := func() error {
		if len(args) == 0 {
			return nil
		}
		values := strings.TrimSuffix(strings.Repeat(one, len(args)/len(t.Columns)), ", ")
		_, err := target.Exec(ctx, insert+values, args...)
		args, size = args[:0], 0
		step()
		return err
	}
	read, err := each(ctx, source, t, func(row []any) error {
		args = append(args, row...)
		for _, v := range row {
			if text, ok := v.(string); ok {
				size += len(text)
			}
		}
		if len(args)+len(row) > mostParameters || size > mostBytes {
			return flush()
		}
		return nil
	})
	if err != nil {
		return Table{}, err
	}
	return read, flush()
}

// digest reads a table.
func digest(ctx context.Context, tx *store.Tx, t store.Table) (Table, error) {
	return each(ctx, tx, t, func([]any) error { return nil })
}

// each calls f with each row of a table, in no order, and returns their number and digest.
// f must not keep the row.
func each(ctx context.Context, tx *store.Tx, t store.Table, f func(row []any) error) (Table, error) {
	rows, err := tx.Query(ctx, "SELECT "+columns(t)+" FROM "+quoted(t.Name))
	if err != nil {
		return Table{}, err
	}
	defer rows.Close()
	row, into := make([]any, len(t.Columns)), make([]any, len(t.Columns))
	for i := range row {
		into[i] = &row[i]
	}
	var all sum
	var encoded []byte
	n := int64(0)
	for ; rows.Next(); n++ {
		if err := rows.Scan(into...); err != nil {
			return Table{}, err
		}
		encoded = encoded[:0]
		for i, v := range row {
			if encoded, err = encode(encoded, v); err != nil {
				return Table{}, fmt.Errorf("column %s: %w", t.Columns[i], err)
			}
		}
		all.add(sha256.Sum256(encoded))
		if err := f(row); err != nil {
			return Table{}, err
		}
	}
	return Table{Name: t.Name, Rows: n, Digest: all.String()}, rows.Err()
}

// encode appends a value so that no two different rows look the same.
func encode(to []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(to, 'n'), nil
	case int64:
		return append(strconv.AppendInt(append(to, 'i'), v, 10), ';'), nil
	case string:
		to = append(strconv.AppendInt(append(to, 's'), int64(len(v)), 10), ':')
		return append(to, v...), nil
	}
	return nil, fmt.Errorf("values of type %T are not copied", v)
}

// sum adds digests modulo 2^256. The result does not depend on their order, because the two
// databases sort texts differently.
type sum [4]uint64

func (s *sum) add(d [sha256.Size]byte) {
	var carry uint64
	for i := range s {
		s[i], carry = bits.Add64(s[i], binary.LittleEndian.Uint64(d[8*i:]), carry)
	}
}

func (s *sum) String() string {
	var d [sha256.Size]byte
	for i, v := range s {
		binary.LittleEndian.PutUint64(d[8*i:], v)
	}
	return hex.EncodeToString(d[:])
}

func columns(t store.Table) string {
	var all []string
	for _, c := range t.Columns {
		all = append(all, quoted(c))
	}
	return strings.Join(all, ", ")
}

func quoted(name string) string { return `"` + name + `"` }
