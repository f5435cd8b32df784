package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/fault"
)

// ProjectShelf is a project's shelf, relative to the project's folder.
var ProjectShelf = filepath.Join(".deskhand", "shelf")

// Shelf returns the configured shelf. If no shelf is configured, it returns the shelf of
// the project in the working directory. If that does not exist either, it returns the
// user's shelf.
func (s *Settings) Shelf() (shelf.Shelf, error) {
	if dir := s.get("shelf"); dir != "" {
		return shelf.Shelf{Dir: dir}, nil
	}
	if info, err := os.Stat(ProjectShelf); err == nil && info.IsDir() {
		return shelf.Shelf{Dir: ProjectShelf}, nil
	}
	dir, err := shelf.PathOf()
	return shelf.Shelf{Dir: dir}, err
}

// NamesShelf reports whether a shelf is configured.
func (s *Settings) NamesShelf() bool { return s.given("shelf") }

// ServedShelf returns the shelf to search and serve instead of an index. This is the
// configured shelf. If no shelf is configured and there is no index, it is the default
// shelf, provided that it has libraries. If the index is used, ServedShelf returns "".
func (s *Settings) ServedShelf() (string, error) {
	if s.given("index") || s.watched {
		return "", nil
	}
	of, err := s.Shelf()
	if err != nil || s.given("shelf") {
		return of.Dir, err
	}
	if s.hasIndex() {
		return "", nil
	}
	entries, _, err := of.Look()
	if err != nil || len(entries) == 0 {
		return "", nil // the index then reports any errors
	}
	return of.Dir, nil
}

// Served returns the shelf to search and serve, and the index to search with it. If the
// index alone is served, both are empty; if the shelf alone is, own is empty.
//
// Both are served if the command line names a shelf and any setting names an index (as
// [Settings.Watch] does), or if
// the configuration lists libraries and there is an index, unless the command line names
// only one of them.
func (s *Settings) Served() (dir, own string, err error) {
	switch {
	case s.flagged("shelf") && (s.given("index") || s.watched):
		return s.get("shelf"), s.Index(), nil
	case s.flagged("shelf") || s.flagged("index") || !s.hasIndex():
		dir, err = s.ServedShelf()
		return dir, "", err
	}
	if dir, err = s.listed(); dir != "" || err != nil {
		return dir, s.Index(), err
	}
	dir, err = s.ServedShelf()
	return dir, "", err
}

// flagged reports whether the command line sets a setting.
func (s *Settings) flagged(name string) bool {
	f := s.flag.Lookup(name)
	return f != nil && f.Changed
}

// listed returns the shelf that "deskhand sync" keeps, or "" if the configuration lists no
// libraries.
func (s *Settings) listed() (string, error) {
	var wanted []shelf.Wanted
	if err := s.tree("libraries", &wanted); err != nil || len(wanted) == 0 {
		return "", err
	}
	if dir := s.get("shelf"); dir != "" {
		return dir, nil
	}
	return filepath.Join(s.projectDir(), ProjectShelf), nil
}

// projectDir returns the folder of the configuration file.
func (s *Settings) projectDir() string {
	if s.file == "" {
		return "."
	}
	return filepath.Dir(s.file)
}

// Searched returns the shelf and the index to search, as [Settings.Served] does, and the
// libraries to search; if there are none, all of them. If library is not empty, only this
// library is searched, and there is always a shelf.
func (s *Settings) Searched(library string) (dir, own string, only []string, err error) {
	if dir, own, err = s.Served(); library == "" || err != nil {
		return dir, own, nil, err
	}
	if dir == "" {
		of, err := s.Shelf()
		return of.Dir, "", []string{library}, err
	}
	if own != "" && !s.hasIndex() {
		own = "" // the library may still be on the shelf
	}
	return dir, own, []string{library}, nil
}

// Measured returns what to search for "deskhand eval", as [Settings.Searched] does. Unless
// the command line names a shelf or a library, an index is measured alone.
func (s *Settings) Measured(library string) (dir, own string, only []string, err error) {
	if library == "" && !s.flagged("shelf") && (s.given("index") || s.hasIndex()) {
		return "", "", nil, nil
	}
	return s.Searched(library)
}

// Watch makes the settings those of a server that builds the index itself: it serves the
// index even if there is none yet, or another shelf would be served instead.
func (s *Settings) Watch() { s.watched = true }

// hasIndex reports whether there is an index in the configured or default folder, or one
// is about to be built.
func (s *Settings) hasIndex() bool {
	if s.watched {
		return true
	}
	_, err := os.Stat(filepath.Join(s.get("index"), artifact.MetadataFile))
	return err == nil
}

// besideIndex returns the default shelf if it has libraries that are not served because the
// index in the default folder is. Otherwise, it returns "".
func (s *Settings) besideIndex(served string) string {
	if served != "" || s.given("index") {
		return ""
	}
	of, err := s.Shelf()
	if err != nil || !s.hasIndex() {
		return ""
	}
	folders, _ := os.ReadDir(of.Dir) // a shelf that cannot be read has nothing to serve
	for _, f := range folders {
		if _, err := os.Stat(filepath.Join(of.Dir, f.Name(), artifact.MetadataFile)); err == nil && !strings.HasPrefix(f.Name(), ".") {
			return of.Dir
		}
	}
	return ""
}

// Libraries returns the libraries listed in a project's configuration file, and the
// file's folder. Paths of local sources are relative to this process's working
// directory. Libraries returns the fault "misuse" if the list is empty or malformed.
func (s *Settings) Libraries() (wanted []shelf.Wanted, dir string, err error) {
	if err := s.tree("libraries", &wanted); err != nil {
		return nil, "", err
	}
	if len(wanted) == 0 {
		return nil, "", fault.Misuse("there are no libraries in the configuration", "list them in deskhand.yaml, for example as libraries: [{name: cobra, source: 'https://github.com/spf13/cobra.git#v1.9.1'}]")
	}
	dir = s.projectDir()
	real, err := filepath.Abs(dir)
	if err == nil {
		real, err = filepath.EvalSymlinks(real)
	}
	if err != nil {
		return nil, "", fmt.Errorf("find the project: %w", err)
	}
	for i, w := range wanted {
		at, _, _ := strings.Cut(w.Source, "#")
		if strings.Contains(at, "://") {
			continue
		}
		local := filepath.IsLocal(at)
		file := at
		if local {
			file = filepath.Join(dir, at)
		}
		if _, err := os.Stat(file); err != nil {
			continue
		}
		// The list may come from an untrusted person, so it may read only files
		// within the project, also through links.
		if !local || leadsOut(real, file) || leadsOut(real, filepath.Join(file, filepath.FromSlash(w.Path))) {
			return nil, "", fault.Misuse(fmt.Sprintf("the source '%s' is outside the project", filepath.Join(w.Source, w.Path)), "use a folder inside the project, or add the library yourself: deskhand add "+w.Source)
		}
		wanted[i].At = filepath.Join(dir, w.Source)
	}
	return wanted, dir, nil
}
