package formats

import (
	"fmt"
	"path"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v3"
)

// Limits on an API description together with the files that its references point to.
const (
	maxAPI      = 16 << 20 // bytes
	maxAPIFiles = 5000
)

// documents holds the files that the references in an API description point to. They are
// files of the same corpus, which are read for this only.
type documents struct {
	c     *Converter
	path  string // path of the description, which references are relative to
	root  *yaml.Node
	files map[string]document
	bytes int
	nodes int
}

type document struct {
	root *yaml.Node
	why  string // reason why the file is not read
}

// in returns the root of the file that a reference in the description names, which is the
// description itself if the name is empty. If the file is not read, in returns the reason.
func (d *documents) in(name string) (*yaml.Node, string) {
	if name == "" {
		return d.root, ""
	}
	if strings.Contains(name, "://") || strings.HasPrefix(name, "/") || strings.ContainsAny(name, `\?`) {
		return nil, "deskhand follows references only to files of the same docs"
	}
	at := path.Join(path.Dir(d.path), name)
	if at == d.path {
		return d.root, ""
	}
	found, known := d.files[at]
	switch {
	case known:
	case len(d.files) >= maxAPIFiles:
		found.why = fmt.Sprintf("the references lead to more than %d files", maxAPIFiles)
	default:
		found.root, found.why = d.read(at)
		d.files[at] = found
	}
	return found.root, found.why
}

// read parses a file of the corpus, and makes the references in it relative to the
// description.
func (d *documents) read(at string) (*yaml.Node, string) {
	file, ok := d.c.files[at]
	if !ok {
		return nil, "there is no such file in the docs"
	}
	src, err := read(file.Open, maxAPI)
	if err != nil {
		return nil, err.Error()
	}
	if d.bytes += len(src); d.bytes > maxAPI {
		return nil, fmt.Sprintf("with the files that it refers to, the description is larger than %d MB", maxAPI>>20)
	}
	root, err := parseTree(src)
	if err != nil {
		return nil, err.Error()
	}
	if !d.rebase(root, at) {
		return nil, fmt.Sprintf("the references lead to more than %d values", maxNodes)
	}
	return root, ""
}

// rebase makes the references below n relative to the description instead of the file at.
// It also removes line numbers, because those of a page refer to the description. It
// returns false if there are too many nodes.
func (d *documents) rebase(n *yaml.Node, at string) bool {
	if d.nodes++; d.nodes > maxNodes {
		return false
	}
	n.Line = 0
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 1 && n.Content[i-1].Value == "$ref" && child.Kind == yaml.ScalarNode {
			child.Value = d.relative(child.Value, at)
		}
		if !d.rebase(child, at) {
			return false
		}
	}
	return true
}

// relative returns a reference in the file at as one in the description.
func (d *documents) relative(ref, at string) string {
	name, pointer, _ := strings.Cut(ref, "#")
	if strings.Contains(name, "://") || strings.HasPrefix(name, "/") {
		return ref
	}
	to := at
	if name != "" {
		to = path.Join(path.Dir(at), name)
	}
	rel, err := filepath.Rel(filepath.FromSlash(path.Dir(d.path)), filepath.FromSlash(to))
	if err != nil {
		return ref
	}
	return filepath.ToSlash(rel) + "#" + pointer
}
