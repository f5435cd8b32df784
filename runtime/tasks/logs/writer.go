package logs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/store"
)

// Limit is the maximum size of a stored log. If the log exceeds it, the oldest
// entries are dropped, and pages report that the log was truncated.
type Limit struct {
	Entries, Bytes int64
}

// Options configures a Writer. The zero value is ready to use.
type Options struct {
	// Redact removes secrets. If it is nil, nothing is removed.
	Redact *Redactor
	// Spool is the file to which raw lines are written first. It may be nil.
	Spool *Spool
	// Raw and Normalized limit the logs. Zero means 200,000 entries and 64 MiB
	// each. The newest 20,000 normalized entries always stay, whatever their
	// size.
	Raw, Normalized Limit
}

var usual = Limit{Entries: 200_000, Bytes: 64 << 20}

// leastNormalized is the number of normalized entries that always stay; see
// [Options].
const leastNormalized = 20_000

const (
	// pace is the pause between two batches of a log. While entries keep coming, the
	// pauses double up to slowPace, because a batch of one entry takes as much of the disk
	// as a batch of hundreds: about 13 pages.
	pace     = 50 * time.Millisecond
	slowPace = 250 * time.Millisecond
	// batchEntries and batchBytes limit a batch. A batch is one transaction,
	// which should delay other writers of the store by at most about 50 ms.
	batchEntries = 16_000
	batchBytes   = 4 << 20
	// maxWaiting and maxWaitingBytes limit the entries that wait for the store.
	// At the limit, the process that writes them has to wait too.
	maxWaiting      = 40_000
	maxWaitingBytes = 16 << 20
	// maxLine is the length, in bytes, at which a line that has not ended is
	// split.
	maxLine = 32 << 10
	// partialPause is how long an incomplete line, for example a prompt, is
	// held back in case the rest follows.
	partialPause = 250 * time.Millisecond
)

// Writer writes the logs of one process. Its methods may be called
// concurrently. They block while the store cannot keep up or cannot be written.
type Writer struct {
	db      *store.DB
	process string
	options Options

	rawMu    sync.Mutex // serializes Raw, so that the spool has the same order
	partials map[Stream]*partial

	mu      sync.Mutex
	changed *sync.Cond // signals free space, stored entries, or an error
	raw     []item
	normal  []item
	newAt   map[int64]int // position in normal, by entry index
	nextNew int64         // index of the next normalized entry
	stored  int64         // number of normalized entries in the store; their indexes are lower
	waiting int           // bytes in raw and normal
	added   int64         // items added so far
	done    int64         // items stored so far
	err     error         // if set, nothing more is stored
	closing bool

	heads      map[Channel]head // stored heads; used only by storeLoop
	sizes      map[int64]int    // sizes of the newest normalized entries in the store; used only by storeLoop
	wake       chan struct{}    // capacity 1
	hurry      chan struct{}    // capacity 1: a caller is waiting in Flush
	incomplete chan struct{}    // capacity 1: there is an incomplete line
	stop       func()
	background sync.WaitGroup
}

// partial is the beginning of an incomplete line.
type partial struct {
	text  []byte
	since time.Time
	key   bool // whether the line is inside a private key
}

// NewWriter starts writing the logs of a process. It continues where an earlier
// writer stopped. A process has one writer at a time. If another writer takes
// over, the earlier one gets [ErrTaken].
func NewWriter(ctx context.Context, db *store.DB, process string, o Options) (*Writer, error) {
	if o.Raw == (Limit{}) {
		o.Raw = usual
	}
	if o.Normalized == (Limit{}) {
		o.Normalized = usual
	}
	w := &Writer{
		db: db, process: process, options: o, partials: map[Stream]*partial{}, newAt: map[int64]int{},
		heads: map[Channel]head{}, wake: make(chan struct{}, 1), hurry: make(chan struct{}, 1), incomplete: make(chan struct{}, 1),
	}
	w.changed = sync.NewCond(&w.mu)
	err := db.UpdateFast(ctx, func(tx *store.Tx) error {
		for _, c := range []Channel{Normalized, Raw} {
			h, err := readHead(ctx, tx, process, c)
			if err == nil && h == nil {
				h, err = makeHead(ctx, tx, process, c)
			}
			if err != nil {
				return err
			}
			w.heads[c] = *h
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("open log of %s: %w", process, err)
	}
	w.nextNew = w.heads[Normalized].next
	w.stored = w.nextNew
	keep, cancel := context.WithCancel(context.Background())
	w.stop = cancel
	w.background.Go(func() { w.storeLoop(keep) })
	w.background.Go(func() { w.endPartials(keep) })
	return w, nil
}

// Raw adds bytes that the process wrote. A line becomes an entry when it ends,
// or when nothing more arrives for a quarter of a second.
func (w *Writer) Raw(s Stream, p []byte) {
	w.rawMu.Lock()
	defer w.rawMu.Unlock()
	part := w.partials[s]
	if part == nil {
		part = &partial{}
		w.partials[s] = part
	}
	part.since = time.Now()
	var records []record
	for len(p) > 0 {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			part.text = append(part.text, p...)
			p = nil
		} else {
			records = append(records, w.cut(s, part, append(part.text, p[:end]...), true)...)
			p = p[end+1:]
		}
		if len(part.text) >= maxLine {
			records = append(records, w.cut(s, part, part.text, false)...)
		}
	}
	if len(part.text) > 0 {
		nudge(w.incomplete)
	}
	w.lines(records)
}

// cut converts a line to records. If the line is incomplete and its end could
// be the start of a secret, cut leaves that end in part.
func (w *Writer) cut(s Stream, part *partial, text []byte, whole bool) []record {
	rest := 0
	if !whole {
		rest = w.options.Redact.held(text)
	}
	content := bytes.Clone(text[:len(text)-rest])
	part.text = append(part.text[:0], text[len(text)-rest:]...)
	if len(content) == 0 && !whole {
		return nil
	}
	if w.options.Redact != nil {
		var of bool
		of, part.key = keyLine(content, part.key)
		if of {
			content = redacted
		}
		content = w.options.Redact.Redact(content)
	}
	var records []record
	for len(content) > maxLine {
		records = append(records, record{stream: s, cut: true, content: content[:maxLine]})
		content = content[maxLine:]
	}
	return append(records, record{stream: s, cut: !whole, content: content})
}

// lines writes records to the spool, and passes them to storeLoop.
func (w *Writer) lines(records []record) {
	if len(records) == 0 {
		return
	}
	var problem error
	if w.options.Spool != nil {
		problem = w.options.Spool.write(records)
	}
	items := make([]item, 0, len(records))
	bytes := 0
	for _, r := range records {
		entry, err := line(r.stream, r.content, r.cut)
		if err != nil {
			entry = []byte(`{"type":"STDERR","content":""}`) // unreachable: text and flags can always be encoded
		}
		items = append(items, item{entry: entry, spooled: r.end})
		bytes += len(entry)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waitForSpace()
	w.raw = append(w.raw, items...)
	w.waiting += bytes
	w.added += int64(len(items))
	if problem != nil && w.err == nil {
		w.options.Spool, problem = nil, fmt.Errorf("log of %s continues without its spool: %w", w.process, problem)
		w.normalized(-1, Failed(problem.Error()))
	}
	w.ring()
}

// flushPartials stores incomplete lines that have waited too long. If all is
// set, it stores all incomplete lines. It reports whether some are left.
func (w *Writer) flushPartials(all bool) (left bool) {
	w.rawMu.Lock()
	defer w.rawMu.Unlock()
	for _, s := range []Stream{Stdout, Stderr} {
		part := w.partials[s]
		if part == nil || len(part.text) == 0 {
			continue
		}
		if all || time.Since(part.since) >= partialPause {
			w.lines(w.cut(s, part, part.text, all))
		}
		left = left || len(part.text) > 0
	}
	return left
}

// Append adds a normalized entry and returns its index. A zero time means now.
func (w *Writer) Append(e Entry) int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.waitForSpace()
	defer w.ring()
	return w.normalized(-1, e)
}

// Replace replaces an entry that this writer added. The new entry keeps the index and
// gets a new revision.
func (w *Writer) Replace(index int64, e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if index < 0 || index >= w.nextNew {
		return
	}
	w.waitForSpace()
	w.normalized(index, e)
	w.ring()
}

// normalized buffers an entry for the given index. If index is negative, it
// buffers a new entry.
func (w *Writer) normalized(index int64, e Entry) int64 {
	if e.At.IsZero() {
		e.At = time.Now()
	}
	i := item{index: index, entry: w.encode(e)}
	w.waiting += len(i.entry)
	if index < 0 {
		i.index = w.nextNew
		w.nextNew++
	} else if at, ok := w.newAt[index]; ok {
		w.waiting -= len(w.normal[at].entry)
		w.normal[at].entry = i.entry
		return index
	}
	w.newAt[i.index] = len(w.normal)
	w.normal = append(w.normal, i)
	w.added++
	return i.index
}

// encode returns an entry as JSON without secrets.
func (w *Writer) encode(e Entry) []byte {
	out, err := e.encode()
	if err == nil && len(out) > maxEntry {
		out, err = e.small().encode()
	}
	if err == nil {
		clean := w.options.Redact.Redact(out)
		if json.Valid(clean) {
			return clean
		}
		err = errors.New("a secret is part of the entry's JSON structure")
	}
	out, _ = Entry{At: e.At, Type: Failed("").Type, Content: "this entry cannot be shown: " + err.Error()}.encode()
	return out
}

// waitForSpace waits until there is space in the buffer.
func (w *Writer) waitForSpace() {
	for w.err == nil && !w.closing && (len(w.raw)+len(w.normal) >= maxWaiting || w.waiting >= maxWaitingBytes) {
		nudge(w.hurry)
		w.changed.Wait()
	}
}

func (w *Writer) ring() { nudge(w.wake) }

func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// Flush waits until all entries added so far are stored, except an incomplete
// line.
func (w *Writer) Flush(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.changed.Broadcast()
	})
	defer stop()
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ring()
	nudge(w.hurry)
	for want := w.added; w.done < want; w.changed.Wait() {
		if w.err != nil {
			return w.err
		}
		if ctx.Err() != nil {
			return fmt.Errorf("store log of %s: %w", w.process, ctx.Err())
		}
	}
	return w.err
}

// Close stores the remaining entries, ends the log and closes the spool. It gives up
// when ctx ends.
func (w *Writer) Close(ctx context.Context) error {
	w.flushPartials(true)
	err := w.Flush(ctx)
	w.mu.Lock()
	w.closing = true
	w.changed.Broadcast()
	w.mu.Unlock()
	w.stop()
	w.background.Wait()
	if err == nil {
		err = End(ctx, w.db, w.process)
	}
	if w.options.Spool != nil {
		err = errors.Join(err, w.options.Spool.Close())
	}
	return err
}

// endPartials stores incomplete lines, until ctx ends. storeLoop cannot do
// this, because it would wait for space that only storeLoop itself can free.
func (w *Writer) endPartials(ctx context.Context) {
	for {
		select {
		case <-w.incomplete:
		case <-ctx.Done():
			return
		}
		for left := true; left; {
			select {
			case <-time.After(partialPause):
				left = w.flushPartials(false)
			case <-ctx.Done():
				return
			}
		}
	}
}

// storeLoop stores batches until ctx ends.
func (w *Writer) storeLoop(ctx context.Context) {
	pause := pace
	for {
		select {
		case <-w.wake:
			pause = min(2*pause, slowPace)
		default:
			pause = pace
			select {
			case <-w.wake:
			case <-ctx.Done():
				return
			}
		}
		more, err := w.batch(ctx)
		if err != nil {
			if !w.retry(ctx, err) {
				return
			}
			continue
		}
		if more {
			w.ring()
			continue
		}
		select {
		case <-time.After(pause):
		case <-w.hurry:
		case <-ctx.Done():
			return
		}
	}
}

// retry waits before a batch is tried again. It returns false if the batch must
// not be tried again.
func (w *Writer) retry(ctx context.Context, err error) bool {
	if ctx.Err() != nil || errors.Is(err, ErrTaken) {
		w.mu.Lock()
		defer w.mu.Unlock()
		if ctx.Err() == nil {
			w.err = fmt.Errorf("store log of %s: %w", w.process, err)
		}
		w.changed.Broadcast()
		return false
	}
	select {
	case <-time.After(time.Second):
	case <-ctx.Done():
	}
	w.ring()
	return true
}

// batch stores the entries that have waited longest. It reports whether more
// are waiting.
func (w *Writer) batch(ctx context.Context) (more bool, err error) {
	w.mu.Lock()
	raw := firstItems(w.raw, batchEntries, batchBytes)
	normal := firstItems(w.normal, batchEntries, batchBytes)
	raw, normal = append([]item(nil), raw...), append([]item(nil), normal...)
	w.mu.Unlock()
	if len(raw)+len(normal) == 0 {
		return false, nil
	}
	heads, err := w.storePlanned(ctx, raw, normal)
	if err == nil && heads == nil {
		heads, err = w.storeItems(ctx, raw, normal)
	}
	if errors.Is(err, store.ErrUncertain) {
		err = w.settle(ctx, heads, err)
	}
	if err != nil {
		return false, err
	}
	w.remember(normal)
	w.mu.Lock()
	defer w.mu.Unlock()
	for c, h := range heads {
		w.heads[c] = h
	}
	for _, i := range raw {
		w.waiting -= len(i.entry)
	}
	w.raw = w.raw[len(raw):]
	w.dropStored(normal)
	w.done += int64(len(raw))
	w.changed.Broadcast()
	return len(w.raw)+len(w.normal) > 0, nil
}

// storeItems writes items of both channels in a transaction, and returns the new heads.
func (w *Writer) storeItems(ctx context.Context, raw, normal []item) (heads map[Channel]head, err error) {
	changes := map[Channel]change{}
	for c, items := range map[Channel][]item{Normalized: normal, Raw: raw} {
		if len(items) == 0 {
			continue
		}
		if changes[c], err = w.heads[c].change(c, items); err != nil { // compresses, so not in the transaction
			return nil, err
		}
	}
	heads = map[Channel]head{}
	return heads, w.db.UpdateFast(ctx, func(tx *store.Tx) error {
		revisions := map[Channel]int64{}
		for c, ch := range changes {
			h, err := w.store(ctx, tx, c, ch)
			if err != nil {
				return err
			}
			heads[c], revisions[c] = h, h.revision
		}
		return note(ctx, tx, w.process, revisions, false)
	})
}

// dropStored removes stored normalized entries from the buffer. An entry that was
// replaced in the meantime stays, as a replacement.
func (w *Writer) dropStored(stored []item) {
	var again []item
	for n, i := range stored {
		now := w.normal[n]
		w.stored = max(w.stored, i.index+1)
		if &now.entry[0] == &i.entry[0] {
			w.waiting -= len(i.entry)
			w.done++
			continue
		}
		again = append(again, now)
	}
	w.normal = append(again, w.normal[len(stored):]...)
	clear(w.newAt)
	for at, i := range w.normal {
		w.newAt[i.index] = at
	}
}

// change is what a batch does to a channel.
type change struct {
	next           head // does not include what replacements change
	rows, replaced []item
	blocks         []block
}

func (h head) change(c Channel, items []item) (ch change, err error) {
	var fresh []item
	ch.next, fresh, ch.replaced = h.add(c, items)
	ch.rows, ch.blocks, err = pack(fresh)
	return ch, err
}

// store writes a batch's items of one channel.
func (w *Writer) store(ctx context.Context, tx *store.Tx, c Channel, ch change) (head, error) {
	old, h := w.heads[c], ch.next
	now, err := readHead(ctx, tx, w.process, c)
	if err != nil {
		return head{}, err
	}
	if now == nil || now.revision != old.revision {
		return head{}, ErrTaken
	}
	for _, i := range ch.replaced {
		longer, err := replace(ctx, tx, h, i)
		if err != nil {
			return head{}, err
		}
		h.bytes += longer
	}
	if err := insert(ctx, tx, h.id, ch.rows, ch.blocks); err != nil {
		return head{}, err
	}
	limit, least := w.limit(c)
	if err := h.trim(ctx, tx, limit, least); err != nil {
		return head{}, err
	}
	return h, writeHead(ctx, tx, old, h)
}

// limit returns a channel's limit, and the number of entries that always stay.
func (w *Writer) limit(c Channel) (limit Limit, least int64) {
	if c == Raw {
		return w.options.Raw, 1
	}
	return w.options.Normalized, leastNormalized
}

// add returns the head after items were added, and which of them are new entries and which
// replace stored ones. The head's size does not include what replacements change.
func (h head) add(c Channel, items []item) (next head, fresh, replaced []item) {
	for _, i := range items {
		h.revision++
		i.revision = h.revision
		if c == Raw {
			i.index = h.next
			h.spooled = max(h.spooled, i.spooled)
		}
		if i.index < h.next {
			replaced = append(replaced, i)
			continue
		}
		h.next = i.index + 1
		h.bytes += int64(len(i.entry))
		fresh = append(fresh, i)
	}
	return h, fresh, replaced
}

// firstItems returns at most n of the first items, with a total size of about
// the given number of bytes.
func firstItems(items []item, n, bytes int) []item {
	for i, one := range items[:min(n, len(items))] {
		if bytes -= len(one.entry); bytes < 0 {
			return items[:i+1]
		}
	}
	return items[:min(n, len(items))]
}

// End marks the logs of a process as complete.
func End(ctx context.Context, db *store.DB, process string) error {
	err := db.UpdateFast(ctx, func(tx *store.Tx) error {
		res, err := tx.Exec(ctx, "UPDATE logs SET ended = 1 WHERE process_id = ? AND ended = 0", process)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return err
		}
		return note(ctx, tx, process, nil, true)
	})
	if err != nil {
		return fmt.Errorf("end log of %s: %w", process, err)
	}
	return nil
}
