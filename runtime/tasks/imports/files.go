package imports

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/runtime/fault"
)

// beadsPriorities has the words for the priorities 0 to 4 of beads.
var beadsPriorities = []string{"urgent", "high", "normal", "low", "low"}

// beads reads the export of beads: one issue a line.
func beads(path string, data []byte) (items []Item, err error) {
	for n, line := range bytes.Split(data, []byte("\n")) {
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var b struct {
			ID          string  `json:"id"`
			Title       string  `json:"title"`
			Description string  `json:"description"`
			Design      string  `json:"design"`
			Acceptance  string  `json:"acceptance_criteria"`
			Notes       string  `json:"notes"`
			Status      string  `json:"status"`
			External    *string `json:"external_ref"`
			Priority    *int    `json:"priority"`
			Labels      []string
			Waits       []struct {
				On   string `json:"depends_on_id"`
				Kind string `json:"type"`
			} `json:"dependencies"`
		}
		if err := json.Unmarshal(line, &b); err != nil || b.ID == "" && b.Title != "" {
			return nil, fault.New(Unreadable, fmt.Sprintf("%s:%d is not an issue of beads", path, n+1), "export it again with bd export")
		}
		if b.ID == "" || b.Status == "tombstone" {
			continue // another kind of record
		}
		text := b.Description
		for _, part := range [][2]string{{"Design", b.Design}, {"Acceptance criteria", b.Acceptance}, {"Notes", b.Notes}} {
			if strings.TrimSpace(part[1]) != "" {
				text += "\n\n" + part[0] + ":\n" + part[1]
			}
		}
		place := "beads " + b.ID
		if b.External != nil && *b.External != "" {
			place += ", " + *b.External
		}
		p := Plan{Labels: b.Labels}
		if b.Priority != nil {
			p.Priority = beadsPriorities[max(0, min(*b.Priority, len(beadsPriorities)-1))]
		}
		for _, d := range b.Waits {
			if d.Kind == "blocks" {
				p.BlockedBy = append(p.BlockedBy, "beads:"+d.On)
			}
		}
		items = append(items, Item{Key: "beads:" + b.ID, Title: b.Title, Description: from(text, place), Done: b.Status == "closed", Plan: p})
	}
	return items, nil
}

// backlogDir reads the tasks of Backlog.md: a Markdown file each, below tasks and
// completed.
func (s Source) backlogDir(dir string) ([]Item, error) {
	var items []Item
	for _, sub := range []string{"tasks", "completed"} {
		in := filepath.Join(dir, sub)
		if info, err := os.Lstat(in); err != nil || !info.IsDir() {
			continue
		}
		names, err := filesIn(in, ".md")
		if err != nil {
			return nil, err
		}
		for _, name := range names {
			data, err := readFile(os.DirFS(in), name)
			if err != nil {
				return nil, err
			}
			if i, ok := backlog(name, data); ok {
				i.Done = i.Done || sub == "completed"
				items = append(items, i)
			}
		}
	}
	return s.kept(items, nil)
}

var frontMatter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)\A---\r?\n(.*?)\r?\n---\r?\n?(.*)\z`) })

// backlog reads one task of Backlog.md. A file without an ID is no task.
func backlog(name string, data []byte) (i Item, ok bool) {
	m := frontMatter().FindSubmatch(data)
	if m == nil || len(m[1]) > 64<<10 {
		return i, false
	}
	var head struct {
		ID           string `yaml:"id"`
		Title        string `yaml:"title"`
		Status       string `yaml:"status"`
		Labels       words  `yaml:"labels"`
		Dependencies words  `yaml:"dependencies"`
		Priority     string `yaml:"priority"`
	}
	if yaml.Unmarshal(m[1], &head) != nil || head.ID == "" {
		return i, false
	}
	done := strings.EqualFold(head.Status, "done")
	key := func(id string) string { return "backlog:" + strings.ToLower(id) }
	p := Plan{Labels: head.Labels, Priority: strings.ToLower(head.Priority)}
	if p.Priority == "medium" {
		p.Priority = "normal"
	}
	for _, id := range head.Dependencies {
		p.BlockedBy = append(p.BlockedBy, key(id))
	}
	return Item{Key: key(head.ID), Title: head.Title, Description: from(string(m[2]), "Backlog.md "+head.ID+", "+name), Done: done, Plan: p}, true
}

// words is a list in YAML. Anything else is an empty list.
type words []string

// UnmarshalYAML implements [yaml.Unmarshaler].
func (w *words) UnmarshalYAML(n *yaml.Node) error {
	var list []string
	if n.Decode(&list) == nil {
		*w = list
	}
	return nil
}

var listItem = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\s*)(?:[-*+]|\d+[.)])\s+\[([ xX-])\]\s+(.+)$`) })

// list reads a Markdown task list. Text that is indented below an item is its
// description; items that are indented further are tasks too.
func list(path string, data []byte) (items []Item, err error) {
	fence, texts, depth := "", []string{}, 0
	end := func() {
		if n := len(items); n > 0 {
			i := &items[n-1]
			i.Description = from(strings.Join(texts, "\n"), i.Description)
		}
		texts = nil
	}
	for n, line := range strings.Split(strings.ReplaceAll(string(data), "\r\n", "\n"), "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) {
				fence = ""
			}
		case strings.HasPrefix(trimmed, "```"), strings.HasPrefix(trimmed, "~~~"):
			fence = trimmed[:3]
		default:
			if m := listItem().FindStringSubmatch(line); m != nil {
				end()
				if len(items) > maxItems*2 {
					return nil, tooMuch(path, "too many tasks")
				}
				depth = len(m[1])
				sum := sha256.Sum256([]byte(strings.Join(strings.Fields(m[3]), " ")))
				items = append(items, Item{Key: "markdown:" + filepath.Base(path) + ":" + hex.EncodeToString(sum[:8]), Title: m[3],
					Description: fmt.Sprintf("%s, line %d", filepath.Base(path), n+1), Done: m[2] == "x" || m[2] == "X"})
				continue
			}
			if trimmed != "" && len(line)-len(strings.TrimLeft(line, " \t")) <= depth && len(items) > 0 {
				end()
				items = append(items, Item{}) // what follows belongs to no item
				continue
			}
		}
		if len(items) > 0 && items[len(items)-1].Key != "" {
			texts = append(texts, strings.TrimPrefix(strings.TrimPrefix(line, "  "), "  "))
		}
	}
	end()
	return items, nil
}
