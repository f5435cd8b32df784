package console

import (
	"path"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/search"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Meant returns the page of an index that someone meant who wrote id, or "" if none is
// near: the page without its extension, below the folder that was indexed, or misspelled.
func Meant(engine *search.Engine, id string) string {
	pages, err := engine.PagesWith(func(map[string]string) bool { return true })
	if err != nil {
		return ""
	}
	paths := make([]string, len(pages))
	for i, p := range pages {
		paths[i] = p.Path
	}
	id, _, _ = strings.Cut(path.Clean(strings.ReplaceAll(id, `\`, "/")), "#")
	return meant(paths, id)
}

func meant(paths []string, id string) string {
	if slices.Contains(paths, id) {
		return "" // the page is there, only the chunk is not
	}
	sameName := ""
	for _, p := range paths {
		bare := strings.TrimSuffix(p, path.Ext(p))
		if bare == id || strings.HasSuffix(id, "/"+p) || strings.HasSuffix(id, "/"+bare) {
			return p
		}
		if path.Base(p) == path.Base(id) || path.Base(bare) == path.Base(id) {
			if sameName != "" {
				sameName = "" // several have this name
				break
			}
			sameName = p
		}
	}
	if sameName != "" {
		return sameName
	}
	return textutil.Nearest(id, paths)
}
