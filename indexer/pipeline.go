package indexer

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
)

// write builds and commits the artifact.
func (b *build) write(ctx context.Context) error {
	if err := b.checkOut(); err != nil {
		return err
	}
	sources, err := b.sources(ctx)
	if err != nil {
		return err
	}
	w, err := artifact.Create(b.options.Out)
	if err != nil {
		return err
	}
	defer w.Abort()
	w.Use(b.model())
	w.Accept(b.options.Accept)
	old := previous(w)
	if err := b.groups(ctx, w, artifact.Plan(sources)); err != nil {
		return err
	}
	return b.commit(ctx, w, old)
}

// previous returns the page sources in the artifact that is being replaced. If a
// page's record is damaged, the page is treated as missing.
func previous(w *artifact.Writer) []artifact.Source {
	var old []artifact.Source
	if r := w.Previous(); r != nil {
		for i := range r.Pages() {
			if p, err := r.Page(i); err == nil {
				old = append(old, p.Source)
			}
		}
	}
	return old
}

// job is one group in the pipeline.
type job struct {
	sources []artifact.Source
	// ready receives the encoded group. It is nil if the group is expected to be
	// in the previous artifact.
	ready chan made
}

// made is the result of encoding a group. If none of the group's pages could be
// read, group is nil.
type made struct {
	group    *artifact.Group
	problems []Problem
	err      error
}

// groups adds every group in plan to w, in order. If possible, it takes a group from
// the previous artifact, or else encodes it. At most Workers+1 groups are in memory at
// the same time.
func (b *build) groups(ctx context.Context, w *artifact.Writer, plan [][]artifact.Source) error {
	b.phase("build")
	total := 0
	for _, g := range plan {
		total += len(g)
	}
	b.progress("build", 0, total)
	ctx, cancel := context.WithCancel(ctx)
	jobs := b.start(ctx, plan, w.Has)
	defer func() {
		cancel()
		for range jobs.queue { // empty the queue, so that the goroutines exit
		}
		jobs.wait.Wait()
	}()
	done := 0
	for j := range jobs.queue {
		if err := b.add(ctx, w, j, func() { b.progress("build", done, total) }); err != nil {
			return err
		}
		if j.ready != nil {
			<-jobs.slots
		}
		done += len(j.sources)
		b.progress("build", done, total)
	}
	return ctx.Err()
}

type pipeline struct {
	queue chan job      // in the order of the plan
	slots chan struct{} // one slot for each group in memory
	wait  sync.WaitGroup
}

// start begins to encode the groups that are not in the previous artifact. The
// function there reports whether a group is in the previous artifact.
func (b *build) start(ctx context.Context, plan [][]artifact.Source, there func([]artifact.Source) bool) *pipeline {
	p := &pipeline{queue: make(chan job, len(plan)), slots: make(chan struct{}, b.options.Workers+1)}
	work := make(chan job)
	for range b.options.Workers {
		p.wait.Go(func() {
			for j := range work {
				j.ready <- b.make(ctx, j.sources)
			}
		})
	}
	p.wait.Go(func() {
		defer close(p.queue)
		defer close(work)
		for _, sources := range plan {
			if there(sources) {
				p.queue <- job{sources: sources}
				continue
			}
			j := job{sources: sources, ready: make(chan made, 1)}
			select {
			case p.slots <- struct{}{}:
			case <-ctx.Done():
				return
			}
			p.queue <- j
			work <- j
		}
	})
	return p
}

// add adds one group to w. While it waits for the group to be encoded, it calls
// waiting from time to time.
func (b *build) add(ctx context.Context, w *artifact.Writer, j job, waiting func()) error {
	var m made
	if j.ready == nil {
		if w.Reuse(j.sources) {
			b.report.Groups++
			b.report.GroupsReused++
			b.report.FilesReused += len(j.sources)
			return nil
		}
		m = b.make(ctx, j.sources) // the previous artifact's copy is damaged
	} else {
		m = b.await(j.ready, waiting)
	}
	b.note(m.problems)
	if m.err != nil || m.group == nil {
		return m.err
	}
	b.report.Groups++
	return w.Add(m.group)
}

// await waits for a group. A remote embedder may take a long time. In this case, await
// calls waiting once a second.
func (b *build) await(ready <-chan made, waiting func()) made {
	if _, far := b.options.Embedder.(embed.Meter); !far {
		return <-ready
	}
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	for {
		select {
		case m := <-ready:
			return m
		case <-tick.C:
			waiting()
		}
	}
}

// make splits and encodes one group.
func (b *build) make(ctx context.Context, sources []artifact.Source) made {
	var m made
	docs := make([]artifact.Document, 0, len(sources))
	for _, s := range sources {
		if m.err = ctx.Err(); m.err != nil {
			return m
		}
		doc, problem := b.document(b.byPath[s.Path])
		if problem != nil {
			m.problems = append(m.problems, *problem)
			continue
		}
		docs = append(docs, doc)
	}
	if m.err = b.embed(ctx, docs); m.err != nil {
		return m
	}
	if len(docs) > 0 {
		m.group, m.err = b.encoded(docs)
	}
	if m.err == nil {
		return m
	}
	// A single page may be the cause of the error. Find that page and omit it.
	docs = slices.DeleteFunc(docs, func(d artifact.Document) bool {
		_, err := b.encoded([]artifact.Document{d})
		if err != nil {
			m.problems = append(m.problems, Problem{d.Path, 0, fmt.Sprintf("skipped: encoding it failed: %v", err)})
		}
		return err != nil
	})
	m.group, m.err = nil, nil
	if len(docs) > 0 {
		m.group, m.err = b.encoded(docs)
	}
	return m
}

// encoded calls b.encode and converts a panic to an error.
func (b *build) encoded(docs []artifact.Document) (g *artifact.Group, err error) {
	defer func() {
		if r := recover(); r != nil {
			g, err = nil, fmt.Errorf("%v", r)
		}
	}()
	return b.encode(docs)
}

// commit reads the written pages, creates the metadata from them and commits the
// artifact.
func (b *build) commit(ctx context.Context, w *artifact.Writer, old []artifact.Source) error {
	b.phase("commit")
	before := make(map[string]artifact.Source, len(old))
	for _, s := range old {
		before[s.Path] = s
	}
	values := facetValues{}
	for _, p := range w.Pages() {
		b.count(p.Path, p.Chunks, p.Metadata, p.Problems, values)
		s, known := before[p.Path]
		delete(before, p.Path)
		switch {
		case !known:
			b.report.FilesNew++
		case s != p.Source:
			b.report.FilesChanged++
		}
	}
	b.report.FilesDeleted = len(before)
	b.report.FilesRebuilt = b.report.Files - b.report.FilesReused
	m, err := b.metadata(ctx, values)
	if err != nil {
		return err
	}
	m.Terms = corpusTerms(w.Pages(), w.Names())
	known := make(map[string]bool, len(w.Names()))
	for _, c := range w.Names() {
		known[c.ID] = true
	}
	b.note(b.phrases.stale(known))
	if err := b.strict(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	m, err = w.Commit(m)
	b.report.Bytes, b.report.Embedding = m.Index.Bytes, m.Embedding
	return err
}
