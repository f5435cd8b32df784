// Package libraries implements the commands for a shelf and prints their results.
package libraries

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/deskhand/deskhand/indexer/deps"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/indexer/source"
	"github.com/deskhand/deskhand/runtime/console"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Work runs commands on one shelf.
type Work struct {
	*console.Console
	Shelf shelf.Shelf
	// Embedder opens the embedding model. It is called when a library is built.
	Embedder func() (embed.Embedder, error)
}

// Flags holds the flags of the commands that build libraries.
type Flags struct {
	Options shelf.Options
	Deps    deps.Options
	JSON    bool
	// Site reports whether the sources are addresses of sites.
	Site bool
}

// AddDeps adds the dependencies of the project in the working directory.
func (w *Work) AddDeps(ctx context.Context, f Flags) error {
	if f.Options.Name != "" || f.Options.Version != "" || f.Options.Path != "" || f.Options.Texts || f.Options.AllowFile || f.Options.NoGitIgnore || f.Site || f.Options.PlainHTTP || f.Options.Verify {
		return fault.Misuse("--deps cannot be combined with flags for sources: names and versions come from the lock files", "omit the other flags")
	}
	var report deps.Report
	work := func(bar *console.Bar) (_ []shelf.Result, err error) {
		if f.Deps.Shelf, err = w.adding(f.Options, bar); err == nil {
			report, err = deps.Add(ctx, w.Shelf, f.Deps)
		}
		return report.Results(), err
	}
	if f.JSON {
		bar := console.NewBar(w.Stderr)
		_, err := work(bar)
		bar.End()
		return errors.Join(w.JSON(report), err)
	}
	err := w.onShelf(false, work)
	for _, line := range report.Lines() {
		fmt.Fprintln(w.Stderr, console.PainterFor(w.Stderr).Plain(line))
	}
	return err
}

// Add adds the docs from each source. Problems in pages do not stop it, but it stops at
// the first source that fails.
func (w *Work) Add(ctx context.Context, f Flags, sources []string) error {
	if f.Deps.All || f.Deps.Fetch {
		return fault.Misuse("--all and --fetch require --deps", "add --deps")
	}
	if len(sources) > 1 && (f.Options.Name != "" || f.Options.Version != "" || f.Options.Path != "") {
		return fault.Misuse("--name, --version and --path can only be used with a single source", "add each source with its own command")
	}
	return w.onShelf(f.JSON, func(bar *console.Bar) ([]shelf.Result, error) {
		var done []shelf.Result
		for _, from := range sources {
			o, err := w.adding(f.Options, bar)
			if err != nil {
				return done, err
			}
			if o.Source = from; f.Site {
				o.Source = source.SitePrefix + strings.TrimPrefix(from, source.SitePrefix)
			}
			r, err := w.Shelf.Add(ctx, o)
			if err != nil {
				return done, err
			}
			done = append(done, r)
		}
		return done, nil
	})
}

// adding sets the options that adding and updating share.
func (w *Work) adding(o shelf.Options, bar *console.Bar) (shelf.Options, error) {
	var err error
	o.Progress, o.Remake = bar.Show, deps.Remake
	o.Embedder, err = w.Embedder()
	return o, err
}

// onShelf runs the function work and prints its results, including the results
// before an error.
func (w *Work) onShelf(asJSON bool, work func(*console.Bar) ([]shelf.Result, error)) error {
	bar := console.NewBar(w.Stderr)
	done, err := work(bar)
	bar.End()
	if asJSON {
		if done == nil {
			done = []shelf.Result{}
		}
		return errors.Join(w.JSON(done), err)
	}
	w.added(done)
	return err
}

// Push uploads the library with this ID to the registry and repository named by ref.
func (w *Work) Push(ctx context.Context, f Flags, id, ref string, annotations []string) error {
	all := map[string]string{}
	for _, a := range annotations {
		key, value, ok := strings.Cut(a, "=")
		if !ok || key == "" {
			return fault.Misuse(fmt.Sprintf("'%s' is not a valid annotation", a), "write --annotation KEY=VALUE")
		}
		all[key] = value
	}
	e, err := w.Shelf.Find(id)
	if err != nil {
		return err
	}
	bar := console.NewBar(w.Stderr)
	f.Options.Progress = bar.Show
	done, err := w.Shelf.Push(ctx, e, ref, all, f.Options)
	bar.End()
	switch {
	case err != nil:
		return err
	case f.JSON:
		return w.JSON(done)
	}
	w.pushed(e, done)
	return nil
}

// List prints the libraries.
func (w *Work) List(asJSON bool) error {
	entries, problems, err := w.Shelf.List()
	if err != nil {
		return err
	}
	for _, p := range problems {
		w.Tell(p.Folder + ": " + p.Reason)
	}
	if asJSON {
		if entries == nil {
			entries = []shelf.Entry{}
		}
		return w.JSON(entries)
	}
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w.Stdout, w.noneYet())
		return err
	}
	return w.table(entries)
}

// Show prints one library.
func (w *Work) Show(id string, asJSON bool) error {
	e, err := w.Shelf.Find(id)
	if err != nil {
		return err
	}
	if asJSON {
		return w.JSON(e)
	}
	return w.facts(e)
}

func (w *Work) noneYet() string {
	return fmt.Sprintf("There are no libraries in %s. To add one, run: deskhand add SOURCE", w.Shelf.Dir)
}

// Update rebuilds libraries from their sources: the named libraries, or all of
// them.
func (w *Work) Update(ctx context.Context, f Flags, names []string) error {
	all, problems, err := w.Shelf.List()
	if err != nil {
		return err
	}
	chosen, damaged := all, problems
	if len(all)+len(problems) == 0 && len(names) == 0 {
		w.Tell(w.noneYet())
	}
	if len(names) > 0 {
		chosen, damaged = nil, nil
		for _, name := range names {
			e, err := shelf.Among(all, name)
			if p := w.Shelf.Damaged(problems, name); err != nil && p != nil {
				damaged = append(damaged, *p)
				continue
			}
			if err != nil {
				return err
			}
			chosen = append(chosen, e)
		}
	}
	var unknown error
	for _, p := range damaged {
		e, err := p.Updatable()
		if err != nil {
			unknown = errors.Join(unknown, err)
			continue
		}
		chosen = append(chosen, e)
	}
	return w.onShelf(f.JSON, func(bar *console.Bar) (done []shelf.Result, failed error) {
		failed = unknown
		for _, e := range chosen {
			o, err := w.adding(f.Options, bar)
			if err != nil {
				return done, err
			}
			// If one library fails, the others are still updated.
			r, err := w.Shelf.Update(ctx, e, o)
			if err != nil {
				failed = errors.Join(failed, err)
				continue
			}
			done = append(done, r)
		}
		return done, failed
	})
}

// Remove removes libraries from the shelf. If one of the names is wrong, it removes none.
func (w *Work) Remove(names []string) error {
	all, problems, err := w.Shelf.List()
	if err != nil {
		return err
	}
	var chosen []shelf.Entry
	for _, name := range names {
		e, err := shelf.Among(all, name)
		if p := w.Shelf.Damaged(problems, name); err != nil && p != nil {
			e, err = shelf.Entry{Name: name, Folder: p.Folder}, nil
		}
		if err != nil {
			return err
		}
		for _, other := range all {
			if other.Name == e.Name && other.ID() != e.ID() && name == e.Name {
				return fault.Misuse(fmt.Sprintf("there are several versions of '%s'", name), "choose one: deskhand remove "+e.ID())
			}
		}
		chosen = append(chosen, e)
	}
	for _, e := range chosen {
		if err := w.Shelf.Remove(e); err != nil {
			return err
		}
		fmt.Fprintf(w.Stdout, "removed %s\n", e.ID())
	}
	return nil
}

// Sync makes the shelf match wanted and writes the lock file to file. If locked is set,
// it instead makes each library match the lock file, and leaves that file unchanged.
func (w *Work) Sync(ctx context.Context, f Flags, wanted []shelf.Wanted, file string, locked bool) error {
	lock, err := shelf.ReadLock(file)
	if err != nil {
		return err
	}
	var synced shelf.Synced
	err = w.onShelf(f.JSON, func(bar *console.Bar) ([]shelf.Result, error) {
		o, err := w.adding(f.Options, bar)
		if err == nil {
			synced, err = w.Shelf.Sync(ctx, wanted, lock, locked, o)
		}
		return synced.Results, err
	})
	if err != nil || locked {
		return err
	}
	for _, id := range synced.Removed {
		w.Tell("removed " + id + ", which deskhand.yaml does not list")
	}
	return synced.Lock.Write(file)
}
