package app

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/deskhand/deskhand/indexer"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/runtime/manual"
	"github.com/deskhand/deskhand/runtime/search"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/manualpage"
)

// OpenManual opens deskhand's own manual for searching. The first call of a version
// builds the index in the user's cache folder, which takes about a second. If the
// cache folder is not writable, OpenManual uses a temporary folder. The caller
// closes the engine.
func OpenManual(ctx context.Context) (*search.Engine, error) {
	cache, err := os.UserCacheDir()
	if err == nil {
		engine, err := openManual(ctx, filepath.Join(cache, "deskhand"))
		if err == nil {
			return engine, nil
		}
	}
	temp, err := os.MkdirTemp("", "deskhand-manual-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(temp) // an open index no longer needs its files
	return openManual(ctx, temp)
}

func openManual(ctx context.Context, dir string) (*search.Engine, error) {
	files, index := manual.Place(dir)
	if engine, err := search.Open(index); err == nil {
		return engine, nil
	}
	if err := manual.Unpack(files); err != nil {
		return nil, fmt.Errorf("unpack the manual: %w", err)
	}
	embedder, err := embed.Open(embed.Default)
	if err != nil {
		return nil, err
	}
	o := indexer.Options{Dir: files, Out: index, Embedder: embedder, Library: &artifact.Library{Name: "deskhand"}}
	if _, err := indexer.Build(ctx, o); err != nil {
		return nil, fmt.Errorf("index the manual: %w", err)
	}
	return search.Open(index)
}

// manualPages mounts deskhand's manual on a front. The first search opens the manual's
// index, which stays open until the process ends.
func (a *App) manualPages(o *web.Options) {
	needShell(o, manualpage.Path)
	var opened struct {
		sync.Mutex
		engine *search.Engine
	}
	mount(o, manualpage.New(manualpage.Options{Shell: o.Shell, Log: a.log, Search: func(ctx context.Context, query string) ([]manualpage.Hit, error) {
		opened.Lock()
		if opened.engine == nil {
			engine, err := OpenManual(ctx)
			if err != nil {
				opened.Unlock()
				return nil, err
			}
			opened.engine = engine
		}
		opened.Unlock()
		found, err := opened.engine.Search(ctx, search.Query{Text: query, Limit: 10})
		if err != nil {
			return nil, err
		}
		hits := make([]manualpage.Hit, 0, len(found.Hits))
		for _, h := range found.Hits {
			hits = append(hits, manualpage.Hit{Topic: manual.TopicOf(h.ID), Breadcrumb: h.Breadcrumb, Snippet: h.Snippet})
		}
		return hits, nil
	}}).Mounts())
}
