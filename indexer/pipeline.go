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

// write makes and commits the artifact.
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
	old := previous(w)
	if err := b.groups(ctx, w, artifact.Plan(sources)); err != nil {
		return err
	}
	return b.commit(ctx, w, old)
}

// previous returns the sources of the artifact that is being replaced; pages
// whose records are damaged count as absent.
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

// job is one group on its way through the pipeline.
type job struct {
	sources []artifact.Source
	// ready has the group once it is made; nil: it is expected to be there
	// from the previous artifact.
	ready chan made
}

// made is a group encoded; group is nil if no page of it could be read.
type made struct {
	group    *artifact.Group
	problems []Problem
	err      error
}

// groups brings every group of plan into w, in order: from the previous
// artifact if it is there, or made anew. At most Workers+1 groups are in memory
// at once.
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
		for range jobs.queue { // let the goroutines end
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
	slots chan struct{} // one for each group in memory
	wait  sync.WaitGroup
}

// start begins to make the groups that are not there.
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

// add brings one group into w. While it waits for it, it calls waiting now and
// then.
func (b *build) add(ctx context.Context, w *artifact.Writer, j job, waiting func()) error {
	var m made
	if j.ready == nil {
		if w.Reuse(j.sources) {
			b.report.Groups++
			b.report.GroupsReused++
			b.report.FilesReused += len(j.sources)
			return nil
		}
		m = b.make(ctx, j.sources) // it is damaged
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

// await waits for a group. Where an embedder behind a network may take long for
// it, waiting is called once a second.
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

// make cuts and encodes one group.
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
	// One page may be the reason: find it, and leave it out.
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

// encoded is artifact.Encode with a panic made an error.
func (b *build) encoded(docs []artifact.Document) (g *artifact.Group, err error) {
	defer func() {
		if r := recover(); r != nil {
			g, err = nil, fmt.Errorf("%v", r)
		}
	}()
	return b.encode(docs)
}

// commit looks at all pages written, makes the metadata of them and ends the
// build.
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
