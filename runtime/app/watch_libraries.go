package app

import (
	"context"
	"os"
	"path/filepath"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/fault"
)

// watchLibraries returns a function for each library on the served shelf whose source is a
// local folder. It rebuilds the library immediately and whenever the folder changes.
func (s *server) watchLibraries() (runs []func(context.Context), err error) {
	if s.lib.shelf == "" {
		return nil, fault.Misuse("--watch-libraries needs a shelf", "pass it with --shelf, or add libraries: deskhand add SOURCE")
	}
	of := shelf.Shelf{Dir: s.lib.shelf}
	entries, _, err := of.Look()
	if err != nil {
		return nil, err
	}
	embedder, err := s.Watch.Embedder()
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if info, err := os.Stat(e.Source); !filepath.IsAbs(e.Source) || err != nil || !info.IsDir() || e.Revision != "" {
			continue // its source is elsewhere, or gone
		}
		w, err := newWatcher(filepath.Join(e.Source, filepath.FromSlash(e.Path)), e.Folder, s.log)
		if err != nil {
			s.log.Warn("cannot watch the source of a library", "library", e.ID(), "error", err)
			continue
		}
		w.make = func(ctx context.Context) (indexer.Report, error) { return s.updated(ctx, of, e.ID(), embedder) }
		runs = append(runs, w.run)
	}
	return runs, nil
}

// updated updates a library. It does nothing if the library was removed meanwhile.
func (s *server) updated(ctx context.Context, of shelf.Shelf, id string, embedder embed.Embedder) (indexer.Report, error) {
	entries, _, err := of.Look()
	if err != nil {
		return indexer.Report{}, err
	}
	for _, e := range entries {
		if e.ID() != id {
			continue
		}
		r, err := of.Update(ctx, e, shelf.Options{Embedder: embedder})
		if err == nil && !r.Unchanged {
			s.log.Info("library built", "library", id, "files", r.Pages, "chunks", r.Chunks, "problems", len(r.Problems))
		}
		return indexer.Report{Problems: r.Problems}, err
	}
	return indexer.Report{}, nil
}
