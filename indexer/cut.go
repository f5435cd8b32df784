package indexer

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"sync"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// each calls work for i from 0 to n-1, in o.Workers goroutines. Each goroutine has a
// different worker number. After each call, it reports progress, from one goroutine at
// a time. It returns an error only if ctx is cancelled.
func (b *build) each(ctx context.Context, phase string, n int, work func(worker, i int)) error {
	b.phase(phase)
	b.progress(phase, 0, n)
	var (
		wait       sync.WaitGroup
		mu         sync.Mutex
		next, done int
	)
	take := func() int {
		mu.Lock()
		defer mu.Unlock()
		next++
		return next - 1
	}
	for worker := range min(b.options.Workers, n) {
		wait.Go(func() {
			for i := take(); i < n && ctx.Err() == nil; i = take() {
				work(worker, i)
				mu.Lock()
				done++
				b.progress(phase, done, n)
				mu.Unlock()
			}
		})
	}
	wait.Wait()
	return ctx.Err()
}

// sources reads every page once to compute its digest, and keeps nothing else. If a
// page cannot be read, it is reported as a problem and omitted.
func (b *build) sources(ctx context.Context) ([]artifact.Source, error) {
	all := make([]artifact.Source, len(b.pages))
	wrong := make([]error, len(b.pages))
	buffers := make([][]byte, b.options.Workers)
	hashes := make([]hash.Hash, b.options.Workers)
	for i := range hashes {
		hashes[i] = sha256.New()
	}
	err := b.each(ctx, "read", len(b.pages), func(worker, i int) {
		p := b.pages[i]
		src, err := readFile(p.open, b.options.MaxFileBytes, buffers[worker])
		if err != nil {
			wrong[i] = err
			return
		}
		buffers[worker] = keep(src)
		all[i] = p.source(hashes[worker], src)
	})
	if err != nil {
		return nil, err
	}
	var sources []artifact.Source
	for i, p := range b.pages {
		if wrong[i] != nil {
			b.note([]Problem{unreadable(p, wrong[i])})
			continue
		}
		sources = append(sources, all[i])
	}
	if len(sources) == 0 {
		return nil, fault.New("no_documents", "no Markdown file under "+b.options.named()+" could be read", "fix the reported problems")
	}
	return sources, nil
}

// keep returns buffer, so that it can be reused for the next file. If a large file
// has made the buffer too large to keep, it returns nil.
func keep(buffer []byte) []byte {
	const most = 4 << 20
	if cap(buffer) > most {
		return nil
	}
	return buffer
}

func unreadable(p *page, err error) Problem {
	return Problem{p.path, 0, "skipped: " + cause(err)}
}

func (p *page) source(h hash.Hash, src []byte) artifact.Source {
	sum := digest(h, p.path, p.settings, p.phrases, src)
	if p.converted {
		h.Reset()
		h.Write(sum[:])
		digestLines(h, p.lines)
		sum = [sha256.Size]byte(h.Sum(nil))
	}
	return artifact.Source{Path: p.path, Size: int64(len(src)), Digest: sum}
}

// document reads and splits one page. If it fails, problem has the reason. If the file
// has changed since its digest was computed, document uses the current content.
func (b *build) document(p *page) (doc artifact.Document, problem *Problem) {
	defer func() {
		if r := recover(); r != nil {
			problem = &Problem{p.path, 0, fmt.Sprintf("skipped: splitting it failed: %v", r)}
		}
	}()
	src, err := readFile(p.open, b.options.MaxFileBytes, nil)
	if err != nil {
		at := unreadable(p, err)
		return doc, &at
	}
	cut, c := b.split(p.path, src, p.settings.strategy), languageOf(p, src)
	p.inSource(&cut)
	return artifact.Document{
		Source:      p.source(sha256.New(), src),
		Title:       cut.Title,
		Description: cut.Description,
		Language:    c,
		Metadata:    merged(p.settings.metadata, cut.Metadata),
		Problems:    cut.Problems,
		Chunks:      cut.Chunks,
		Phrases:     p.ofChunks(cut.Chunks),
	}, nil
}

// check splits every page and collects the data for the report.
func (b *build) check(ctx context.Context) error {
	values, known := facetValues{}, map[string]bool{}
	var mu sync.Mutex
	err := b.each(ctx, "cut", len(b.pages), func(_, i int) {
		p := b.pages[i]
		doc, problem := b.document(p)
		mu.Lock()
		defer mu.Unlock()
		if problem != nil {
			b.note([]Problem{*problem})
			return
		}
		b.count(p.path, len(doc.Chunks), doc.Metadata, doc.Problems, values)
		for _, c := range doc.Chunks {
			known[c.ID] = true
		}
	})
	if err != nil {
		return err
	}
	b.note(b.phrases.stale(known))
	if b.report.Files == 0 {
		return fault.New("no_documents", "no Markdown file under "+b.options.named()+" could be read", "fix the reported problems")
	}
	if _, err := b.metadata(ctx, values); err != nil {
		return err
	}
	return b.strict()
}

// count adds one page to the report.
func (b *build) count(path string, chunks int, metadata map[string]string, problems []chunker.Problem, values facetValues) {
	b.report.Files++
	b.report.Chunks += chunks
	values.add(path, metadata)
	for _, p := range problems {
		b.note([]Problem{{path, p.Line, p.Reason}})
	}
}
