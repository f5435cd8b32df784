package main

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/chunker"
)

func main() {
	w := bufio.NewWriter(os.Stdout)
	defer w.Flush()
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	for _, root := range os.Args[1:] {
		filepath.WalkDir(root, func(p string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return nil
			}
			l := strings.ToLower(p)
			if !strings.HasSuffix(l, ".md") && !strings.HasSuffix(l, ".mdx") && !strings.HasSuffix(l, ".markdown") {
				return nil
			}
			src, err := os.ReadFile(p)
			if err != nil {
				return nil
			}
			rel, _ := filepath.Rel(root, p)
			page := chunker.Split(rel, src, chunker.Options{})
			for _, c := range page.Chunks {
				e.Encode(map[string]any{"root": filepath.Base(root), "title": page.Title, "id": c.ID, "h": c.Heading, "b": c.Breadcrumb, "text": c.Text, "l": []int{c.StartLine, c.EndLine}, "md": c.Markdown})
			}
			return nil
		})
	}
}
