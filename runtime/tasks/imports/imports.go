// Package imports reads tasks from other tools: GitHub issues, beads, Backlog.md,
// Markdown task lists, and what deskhand exports.
//
// Everything that it reads may come from strangers. It reads a bounded number of
// regular files of a bounded size, follows no links, and runs nothing but gh. The texts
// of items are bounded, valid UTF-8 without NUL.
package imports

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Item is a task in another tool.
type Item struct {
	// Key identifies the item in all its sources. It stays the same if the item's text
	// changes, except in a Markdown list, whose items have no identity but their title.
	Key   string
	Title string // one line
	// Description ends with a line that names where the item is.
	Description string
	Done        bool
	// Plan is how the other tool plans the item.
	Plan
	// Exported is the ID of the task that deskhand exported, or empty.
	Exported string
}

// Plan is how an item is planned.
type Plan struct {
	Priority string   `json:"priority"` // urgent, high, normal or low
	Labels   []string `json:"labels"`
	// BlockedBy has the keys of items that have to end first; in an export, task IDs.
	BlockedBy []string `json:"blocked_by"`
}

// Source is where to read.
type Source struct {
	// Place is github:OWNER/REPO, the URL of a repository on a GitHub server, also in the
	// form for ssh, or the path of a file or folder. A folder may have both .beads and
	// backlog.
	Place string
	// Closed includes items that are done. They are imported as done.
	Closed bool
	// Token returns the token for a GitHub server, or "". If it is nil, there is none.
	Token func(ctx context.Context, host string) (string, error)
	// SignIn says how a person signs in at a GitHub server. Nil adds nothing to errors.
	SignIn func(host string) string
	// Client sends the requests. Nil means a client with a time limit.
	Client *http.Client
	// Program is the path of gh. If it is empty, the REST API is used.
	Program string
}

// Bounds of what is read.
const (
	maxFile        = 16 << 20
	maxItems       = 2000
	maxTitle       = 300    // characters
	maxDescription = 60_000 // bytes
	maxLabels      = 100    // of an item
)

// Faults.
const (
	Unreadable = "import_unreadable" // the source cannot be read
	TooMuch    = "import_too_much"   // the source is larger than what is read
)

var gitHubPlace = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:github:|https?://([A-Za-z0-9.-]+(?::\d+)?)/|(?:ssh://)?git@([A-Za-z0-9.-]+)[:/])([A-Za-z0-9][A-Za-z0-9-]*)/([A-Za-z0-9._-]+?)(?:\.git)?(?:/issues)?/?$`)
})

// Read returns the items of a source, in its order. Its faults are import_unreadable and
// import_too_much.
func Read(ctx context.Context, s Source) ([]Item, error) {
	if m := gitHubPlace().FindStringSubmatch(s.Place); m != nil {
		return s.gitHub(ctx, cmp.Or(m[1], m[2]), m[3], m[4])
	}
	info, err := os.Stat(s.Place)
	if err != nil {
		return nil, fault.New(Unreadable, fmt.Sprintf("cannot read %s: %v", s.Place, plainError(err)), "pass a file, a folder, github:OWNER/REPO or the URL of a repository")
	}
	if !info.IsDir() {
		if !info.Mode().IsRegular() {
			return nil, fault.New(Unreadable, s.Place+" is not a regular file", "")
		}
		return s.file(s.Place)
	}
	found, all := false, []Item(nil)
	for _, one := range []struct {
		dir  string
		read func(string) ([]Item, error)
	}{
		{filepath.Join(s.Place, ".beads"), s.beadsDir}, {filepath.Join(s.Place, "backlog"), s.backlogDir},
	} {
		if i, err := os.Lstat(one.dir); err == nil && i.IsDir() {
			items, err := one.read(one.dir)
			if err != nil {
				return nil, err
			}
			found, all = true, append(all, items...)
		}
	}
	if found {
		return all, nil
	}
	switch filepath.Base(filepath.Clean(s.Place)) {
	case ".beads":
		return s.beadsDir(s.Place)
	case "backlog":
		return s.backlogDir(s.Place)
	}
	return nil, fault.New(Unreadable, s.Place+" has neither .beads nor backlog", "pass the file to import, or the folder that contains .beads or backlog")
}

// file reads a single file by its ending.
func (s Source) file(path string) ([]Item, error) {
	data, err := readFile(os.DirFS(filepath.Dir(path)), filepath.Base(path))
	if err != nil {
		return nil, err
	}
	switch strings.ToLower(filepath.Ext(path)) {
	case ".jsonl":
		return s.kept(beads(path, data))
	case ".json":
		return s.kept(exported(path, data))
	case ".md", ".markdown", ".txt":
		return s.kept(list(path, data))
	}
	return nil, fault.New(Unreadable, path+" is not a file that can be imported", "pass a .jsonl file of beads, a .md file with a task list, or a .json file that deskhand exported")
}

func (s Source) beadsDir(dir string) ([]Item, error) {
	names, err := filesIn(dir, ".jsonl")
	if err != nil {
		return nil, err
	}
	var items []Item
	for _, name := range names {
		data, err := readFile(os.DirFS(dir), name)
		if err != nil {
			return nil, err
		}
		more, err := beads(filepath.Join(dir, name), data)
		if err != nil {
			return nil, err
		}
		items = append(items, more...)
	}
	return s.kept(items, nil)
}

// filesIn returns the names of the regular files in a folder that have an ending.
func filesIn(dir, ending string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fault.New(Unreadable, fmt.Sprintf("cannot read %s: %v", dir, plainError(err)), "")
	}
	for _, e := range entries {
		if e.Type().IsRegular() && strings.HasSuffix(e.Name(), ending) {
			names = append(names, e.Name())
		}
	}
	if len(names) > maxItems {
		return nil, tooMuch(dir, fmt.Sprintf("%d files", len(names)))
	}
	return names, nil
}

// readFile reads a regular file of bounded size.
func readFile(in fs.FS, name string) ([]byte, error) {
	f, err := in.Open(name)
	if err != nil {
		return nil, fault.New(Unreadable, fmt.Sprintf("cannot read %s: %v", name, plainError(err)), "")
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return nil, fault.New(Unreadable, name+" is not a regular file", "")
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fault.New(Unreadable, fmt.Sprintf("cannot read %s: %v", name, plainError(err)), "")
	}
	if len(data) > maxFile {
		return nil, tooMuch(name, "more than 16 MiB")
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), nil
}

func plainError(err error) error {
	if p := new(fs.PathError); errors.As(err, &p) {
		return p.Err
	}
	return err
}

func tooMuch(what, size string) error {
	return fault.New(TooMuch, fmt.Sprintf("%s has %s", what, size), fmt.Sprintf("import at most %d tasks at a time", maxItems))
}

// kept returns the items that are wanted, bounded and without repetitions. A later item
// with the same key replaces the earlier one.
func (s Source) kept(items []Item, err error) ([]Item, error) {
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var kept []Item
	for _, i := range items {
		i.Title, i.Description = textutil.Shorten(textutil.OneLine(textutil.Plain(valid(i.Title))), maxTitle), bounded(valid(i.Description))
		if i.Title == "" || i.Key == "" {
			continue
		}
		i.Labels = slices.Clone(i.Labels[:min(len(i.Labels), maxLabels)])
		for n, l := range i.Labels {
			i.Labels[n] = textutil.OneLine(textutil.Plain(valid(l)))
		}
		if n, known := at[i.Key]; known {
			kept[n] = i
			continue
		}
		at[i.Key] = len(kept)
		kept = append(kept, i)
	}
	if !s.Closed {
		kept = slices.DeleteFunc(kept, func(i Item) bool { return i.Done })
	}
	if len(kept) > maxItems {
		return nil, tooMuch(s.Place, fmt.Sprintf("%d tasks", len(kept)))
	}
	return kept, nil
}

func valid(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// bounded shortens a description, but keeps its last line, which names the source.
func bounded(s string) string {
	s = strings.TrimSpace(s)
	if len(s) <= maxDescription {
		return s
	}
	last := s[strings.LastIndexByte(s, '\n')+1:]
	if len(last) > maxDescription/2 {
		last = ""
	}
	head := s[:maxDescription-len(last)-20]
	for len(head) > 0 && !utf8.ValidString(head[len(head)-1:]) && !utf8.RuneStart(s[len(head)]) {
		head = head[:len(head)-1]
	}
	return strings.ToValidUTF8(head, "") + "\n[shortened]\n\n" + last
}

// from returns a description with the line that names where the item is.
func from(text, place string) string {
	return strings.TrimSpace(strings.TrimSpace(text) + "\n\nImported from " + textutil.OneLine(place))
}

// exported reads what deskhand exports.
func exported(path string, data []byte) (items []Item, err error) {
	var e Export
	if err := json.Unmarshal(data, &e); err != nil || e.Format != Format {
		return nil, fault.New(Unreadable, path+" is not an export by deskhand", "")
	}
	keys := map[string]string{}
	for _, t := range e.Tasks {
		i := Item{Exported: t.ID, Key: t.Source, Title: t.Title, Description: t.Description, Done: t.Status == "done" || t.Status == "cancelled", Plan: t.Plan}
		if i.Key == "" {
			i.Key, i.Description = "deskhand:"+t.ID, from(t.Description, "deskhand task "+t.ID)
		}
		keys[t.ID] = i.Key
		items = append(items, i)
	}
	for n, i := range items {
		var blockers []string
		for _, id := range i.BlockedBy {
			blockers = append(blockers, keys[id])
		}
		items[n].BlockedBy = blockers
	}
	return items, nil
}
