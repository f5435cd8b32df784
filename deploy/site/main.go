// Command site writes deskhand's manual as a static site: the pages that a server shows at
// /manual, as files with relative links, and an index for the search in the browser. The site
// works below any path, and from a disk without a server. It makes no request to another host.
// "make site" runs it. The command fails if a link of the site leads nowhere.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/deploy/identity"
	"github.com/deskhand/deskhand/runtime/manual"
	"github.com/deskhand/deskhand/runtime/web/manualpage"
	"github.com/deskhand/deskhand/runtime/web/page"
)

func main() {
	out := flag.String("out", "dist/site", "folder to write; an earlier site in it is replaced")
	flag.Parse()
	if err := run(*out); err != nil {
		fmt.Fprintf(os.Stderr, "site: %v\n", err)
		os.Exit(1)
	}
}

func run(out string) error {
	files, err := build()
	if err != nil {
		return err
	}
	if err := check(files); err != nil {
		return err
	}
	if err := write(out, files); err != nil {
		return err
	}
	size := 0
	for _, text := range files {
		size += len(text)
	}
	fmt.Printf("wrote %d files to %s (%.1f MB)\n", len(files), out, float64(size)/1e6)
	return nil
}

// build returns the site's files by path.
func build() (map[string][]byte, error) {
	shell := page.New(nil)
	pages := manualpage.New(manualpage.Options{Shell: shell})
	shell.Nav = append(shell.Nav, page.Link{Path: identity.Ours.URL(), Name: "Source"})
	mux := http.NewServeMux()
	for route, h := range pages.Mounts() {
		mux.Handle(route, h)
	}
	files := map[string][]byte{}
	add := func(file, address, description string) error {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest(http.MethodGet, address, nil))
		if w.Code != http.StatusOK {
			return fmt.Errorf("the page %s: status %d", address, w.Code)
		}
		if _, taken := files[file]; taken {
			return fmt.Errorf("two pages have the file %s", file)
		}
		text, err := moved(w.Body.String(), file, description)
		files[file] = text
		return err
	}
	if err := add("index.html", manualpage.Path, "The manual of deskhand, a help desk for coding agents."); err != nil {
		return nil, err
	}
	for _, p := range manual.Pages() {
		if err := add(fileOf(p.Name), manualpage.Path+"/"+p.Name, p.Description); err != nil {
			return nil, err
		}
	}
	for _, name := range []string{"deskhand.css", "manual.css", "copy.js", "bell.svg"} {
		files["static/"+name] = []byte(shell.File(name))
	}
	for _, name := range []string{"site.js"} {
		text, err := static.ReadFile("static/" + name)
		if err != nil {
			return nil, err
		}
		files["static/"+name] = text
	}
	index, err := searchIndex()
	files["static/search-index.js"] = index
	files[".nojekyll"] = nil // tells GitHub Pages to publish the files unchanged
	return files, err
}

// fileOf returns the file of a page, by the page's name. The first page of the manual would
// take the name of the table of contents.
func fileOf(name string) string {
	if name == "index" {
		return "start.html"
	}
	return name + ".html"
}

// mark is the name of a file that only a site has. run replaces only folders that have it.
const mark = ".nojekyll"

func write(out string, files map[string][]byte) error {
	if _, err := os.Stat(filepath.Join(out, mark)); err != nil {
		if entries, _ := os.ReadDir(out); len(entries) > 0 {
			return fmt.Errorf("%s is not empty and not an earlier site: name another folder", out)
		}
	}
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for name, text := range files {
		file := filepath.Join(out, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// sorted returns the paths of files that end in suffix, in order.
func sorted(files map[string][]byte, suffix string) (names []string) {
	for name := range files {
		if strings.HasSuffix(name, suffix) {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, cmp.Compare[string])
	return names
}
