package board

import (
	"html/template"
	"net/http"
	"net/url"
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/web/page"
)

// editor is a link that opens a folder in a program of this machine.
type editor struct {
	Name string
	URL  template.URL
}

// editors are programs that open folders by links, with what comes before the path.
var editors = []struct{ name, before string }{
	{"VS Code", "vscode://file"}, {"Cursor", "cursor://file"}, {"Windsurf", "windsurf://file"}, {"Zed", "zed://file"},
	{"JetBrains", "idea://open?file="},
}

// folder is an attempt's worktree, with the links that open it.
type folder struct {
	Name    string
	Editors []editor
}

// EditorFolders returns the attempt's worktrees with links to editors. There are none
// if the browser is on another machine, where the paths mean nothing.
func (v attemptView) EditorFolders() (all []folder) {
	if !v.local {
		return nil
	}
	for _, r := range v.Repos {
		f := folder{Name: r.Name}
		for _, e := range editors {
			path := filepath.ToSlash(filepath.Join(v.Dir, r.Name))
			if path[0] != '/' {
				path = "/" + path // of Windows
			}
			f.Editors = append(f.Editors, editor{e.name, template.URL(e.before + (&url.URL{Path: path}).EscapedPath())}) // a scheme of the list above
		}
		all = append(all, f)
	}
	return all
}

// isLocal reports whether the browser is on this machine.
func isLocal(r *http.Request) bool {
	at := url.URL{Host: r.Host}
	return page.ThisMachine(at.Hostname()) && r.Header.Get("X-Forwarded-For") == ""
}
