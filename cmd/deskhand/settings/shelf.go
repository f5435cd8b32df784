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
	if s.given("index") {
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

// SearchedShelf returns the shelf to search, and the libraries on it to search; if there are
// none, all of them. If library is empty, the shelf is that of [Settings.ServedShelf].
func (s *Settings) SearchedShelf(library string) (dir string, only []string, err error) {
	if library == "" {
		dir, err = s.ServedShelf()
		return dir, nil, err
	}
	of, err := s.Shelf()
	return of.Dir, []string{library}, err
}

// hasIndex reports whether there is an index in the default folder.
func (s *Settings) hasIndex() bool {
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
	dir = "."
	if s.file != "" {
		dir = filepath.Dir(s.file)
	}
	for i, w := range wanted {
		at, _, _ := strings.Cut(w.Source, "#")
		if strings.Contains(at, "://") {
			continue
		}
		if filepath.IsLocal(at) {
			if _, err := os.Stat(filepath.Join(dir, at)); err == nil {
				wanted[i].At = filepath.Join(dir, w.Source)
			}
			continue
		}
		// The list may come from an untrusted person, so it may read only files
		// within the project.
		if _, err := os.Stat(at); err == nil {
			return nil, "", fault.Misuse(fmt.Sprintf("the source '%s' is outside the project", w.Source), "use a folder inside the project, or add the library yourself: deskhand add "+w.Source)
		}
	}
	return wanted, dir, nil
}
