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

// ProjectShelf is the shelf of a project, in its folder.
var ProjectShelf = filepath.Join(".deskhand", "shelf")

// Shelf is the folder of libraries that the settings name, else that of the
// project in the working directory if it has one, else that of the person.
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

// NamesShelf says whether somebody named a shelf.
func (s *Settings) NamesShelf() bool { return s.given("shelf") }

// ServedShelf is the shelf that is searched and served instead of an index: one
// that somebody named, or one that has libraries where there is no index. Empty:
// the index is.
func (s *Settings) ServedShelf() (string, error) {
	if s.given("index") {
		return "", nil
	}
	of, err := s.Shelf()
	if err != nil || s.given("shelf") {
		return of.Dir, err
	}
	if _, err := os.Stat(filepath.Join(s.get("index"), artifact.MetadataFile)); err == nil {
		return "", nil
	}
	entries, _, err := of.List()
	if err != nil || len(entries) == 0 {
		return "", nil // what there is to say is said of the index
	}
	return of.Dir, nil
}

// Libraries are those that the configuration file of a project lists, with local
// sources relative to this process, and the folder of the file. Fault "misuse":
// it lists none, or what it lists has another shape.
func (s *Settings) Libraries() (wanted []shelf.Wanted, dir string, err error) {
	if err := s.tree("libraries", &wanted); err != nil {
		return nil, "", err
	}
	if len(wanted) == 0 {
		return nil, "", fault.Misuse("there are no libraries in the configuration", "list them in deskhand.yaml, as libraries: [{name: cobra, source: 'https://github.com/spf13/cobra.git#v1.9.1'}]")
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
		// The list may be a stranger's: it reads nothing beside the project.
		if _, err := os.Stat(at); err == nil {
			return nil, "", fault.Misuse(fmt.Sprintf("the source '%s' is outside of the project", w.Source), "name a folder in it, or add the library yourself: deskhand add "+w.Source)
		}
	}
	return wanted, dir, nil
}
