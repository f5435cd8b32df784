package board

import (
	"context"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// shownFiles is how many files are shown with their lines: a patch names no more.
const shownFiles = 100

// changesView is what an attempt has changed.
type changesView struct {
	Count, Added, Deleted int
	Why                   string // they are not shown; empty: they are
	CanForce              bool   // they are too many, and may be shown all the same
	Nested                []string
	Files                 []fileView
	More                  int // files that are not shown with their lines
}

// fileView is one file.
type fileView struct {
	Path, OldPath, Kind string
	Added, Deleted      int
	Binary              bool
	Lines               []line
}

// line is one of a diff.
type line struct{ Class, Text string }

func changesOf(ctx context.Context, m *tasks.Manager, id string, force bool) (v changesView, err error) {
	changes, err := m.Changes(ctx, id, force)
	if f := fault.Of(err); f != nil {
		return changesView{Why: f.Message}, nil
	}
	if err != nil {
		return v, err
	}
	v.Count, v.Added, v.Deleted, v.Nested = changes.Count, changes.Added, changes.Deleted, changes.Nested
	if changes.Blocked.Reason != "" {
		v.Why, v.CanForce = changes.Blocked.Detail, changes.Blocked.Reason == "threshold_exceeded"
		if v.CanForce {
			v.Why = "There are too many changes to list here."
		}
		return v, nil
	}
	paths := map[string][]string{} // by repository: a patch does not say which one a file is of
	for i, c := range changes.Files {
		v.Files = append(v.Files, fileView{Path: c.Path, OldPath: c.OldPath, Kind: c.Kind, Added: c.Added, Deleted: c.Deleted, Binary: c.Binary})
		if repo, _, _ := strings.Cut(c.Path, "/"); i < shownFiles {
			paths[repo] = append(paths[repo], c.Path)
		}
	}
	v.More = max(0, len(v.Files)-shownFiles)
	lines := map[string]map[string][]line{}
	for repo, some := range paths {
		patch, err := m.Patch(ctx, tasks.PatchQuery{AttemptID: id, Paths: some, Force: true})
		if err != nil && fault.Of(err) == nil {
			return v, err
		}
		lines[repo] = cutPatch(patch.Text)
	}
	for i := range v.Files {
		repo, name, _ := strings.Cut(v.Files[i].Path, "/")
		v.Files[i].Lines = lines[repo][name]
	}
	return v, nil
}

// cutPatch is the lines of each file of a patch, by the path behind b/, without
// the header of the file.
func cutPatch(patch string) map[string][]line {
	files := map[string][]line{}
	name, body := "", false
	for text := range strings.SplitSeq(strings.TrimSuffix(patch, "\n"), "\n") {
		switch {
		case strings.HasPrefix(text, "diff --git "):
			_, name, _ = strings.Cut(text, " b/")
			body = false
			continue
		case !body && strings.HasPrefix(text, "+++ b/"):
			name = strings.TrimRight(text[len("+++ b/"):], "\t")
			continue
		case !body && !strings.HasPrefix(text, "@@"):
			continue
		}
		body = true
		class := ""
		switch {
		case strings.HasPrefix(text, "@@"):
			class = "at"
		case strings.HasPrefix(text, "+"):
			class = "add"
		case strings.HasPrefix(text, "-"):
			class = "del"
		}
		files[name] = append(files[name], line{class, text})
	}
	return files
}
