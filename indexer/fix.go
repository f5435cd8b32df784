package indexer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/chunker"
)

// Fix writes a manifest that cuts each file of dir at the headings it has most
// use of, unless dir has a manifest; wrote says which. Folders with manifests
// of their own keep them and are not counted. Errors and faults are those of a
// walk, as of Build.
func Fix(dir string) (file string, wrote bool, err error) {
	root, err := resolveRoot(dir)
	if err != nil {
		return "", false, err
	}
	file = filepath.Join(dir, manifestFile)
	if _, err := os.Lstat(file); err == nil {
		return file, false, nil
	}
	f, err := walk(context.Background(), root, selection{}, false)
	if err != nil {
		return file, false, fmt.Errorf("fix %s: %w", dir, err)
	}
	if len(f.pages) == 0 {
		return file, false, noDocuments(dir, f)
	}
	text, err := json.MarshalIndent(suggest(f.pages), "", "  ")
	if err == nil {
		err = writeNew(file, append(text, '\n'))
	}
	if err != nil {
		return file, false, fmt.Errorf("write manifest: %w", err)
	}
	return file, true, nil
}

// suggested is a manifest as Fix writes it.
type suggested struct {
	Version   string              `json:"version"`
	Strategy  suggestedStrategy   `json:"strategy"`
	Overrides []suggestedOverride `json:"overrides,omitempty"`
}

type suggestedStrategy struct {
	ChunkBy chunker.By `json:"chunk_by"`
}

type suggestedOverride struct {
	Pattern  string            `json:"pattern"`
	Strategy suggestedStrategy `json:"strategy"`
}

// suggest makes the most frequent of the files' strategies the default and
// overrides of the others. Files that cannot be read have no say.
func suggest(pages []*page) suggested {
	best := map[string]chunker.By{}
	votes := map[chunker.By]int{}
	for _, p := range pages {
		if p.manifest != nil {
			continue
		}
		if src, err := readFile(p.open, 64<<20, nil); err == nil {
			best[p.path] = suggestBy(src)
			votes[best[p.path]]++
		}
	}
	usual := chunker.H2
	for _, by := range []chunker.By{chunker.H1, chunker.H3, chunker.File} {
		if votes[by] > votes[usual] {
			usual = by
		}
	}
	m := suggested{Version: "1", Strategy: suggestedStrategy{usual}}
	for _, p := range pages {
		if by, read := best[p.path]; read && by != usual {
			m.Overrides = append(m.Overrides, suggestedOverride{escapeGlob(p.path), suggestedStrategy{by}})
		}
	}
	return m
}

// suggestBy chooses for one file by the number of its headings.
func suggestBy(src []byte) chunker.By {
	n := countHeadings(src)
	switch {
	case n[3] >= 6 && n[3] >= 2*n[2]:
		return chunker.H3
	case n[2] >= 2:
		return chunker.H2
	case n[1] >= 2:
		return chunker.H1
	case n[3] >= 2:
		return chunker.H3
	}
	return chunker.File
}

// countHeadings counts the headings of levels 1 to 3, those within front
// matter and fenced code left out. It looks at lines alone, as a guess needs
// no more.
func countHeadings(src []byte) [4]int {
	var n [4]int
	fence, text := "", false
	_, body, _ := cutFrontMatter(bytes.ReplaceAll(bytes.TrimPrefix(src, []byte("\uFEFF")), []byte("\r\n"), []byte("\n")))
	for line := range strings.SplitSeq(body, "\n") {
		trimmed := strings.TrimSpace(line)
		indent := len(line) - len(strings.TrimLeft(line, " \t"))
		before := text
		text = false
		switch mark := fenceOf(trimmed); {
		case fence != "":
			if strings.HasPrefix(mark, fence) && mark == trimmed {
				fence = ""
			}
		case indent > 3:
		case mark != "":
			fence = mark
		case atxLevel(trimmed) > 0:
			if level := atxLevel(trimmed); level <= 3 {
				n[level]++
			}
		case before && strings.Trim(trimmed, "=") == "" && trimmed != "":
			n[1]++
		case before && strings.Trim(trimmed, "-") == "" && trimmed != "":
			n[2]++
		default:
			text = trimmed != "" && !strings.ContainsAny(trimmed[:1], "-*+>|<")
		}
	}
	return n
}

// fenceOf returns the backticks or tildes that begin or end fenced code.
func fenceOf(line string) string {
	for _, c := range []string{"`", "~"} {
		rest := strings.TrimLeft(line, c)
		if n := len(line) - len(rest); n >= 3 && !(c == "`" && strings.Contains(rest, "`")) {
			return line[:n]
		}
	}
	return ""
}

// atxLevel returns the level of a heading line such as "## x"; 0: it is none.
func atxLevel(line string) int {
	rest := strings.TrimLeft(line, "#")
	level := len(line) - len(rest)
	if level > 6 || rest != "" && rest[0] != ' ' && rest[0] != '\t' {
		return 0
	}
	return level
}

// escapeGlob makes a glob that matches name alone.
func escapeGlob(name string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`, `]`, `\]`, `{`, `\{`, `}`, `\}`).Replace(name)
}

// writeNew writes file whole or not at all.
func writeNew(file string, content []byte) error {
	temp := file + ".tmp"
	if err := os.WriteFile(temp, content, 0o644); err != nil {
		return err
	}
	if err := os.Rename(temp, file); err != nil {
		os.Remove(temp)
		return err
	}
	return nil
}
