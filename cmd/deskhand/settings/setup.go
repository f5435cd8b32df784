package settings

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// Checked is what a check of an installation looks at, as the settings have it.
type Checked struct {
	Index   string // folder
	Embed   string // specification of the embedding model
	Inbox   string // HOST:PORT, or [app.InboxOff]
	Sandbox box.Mode
	// Ignored are the settings of a file that is not trusted, in words, and Trust the
	// command that allows them. Empty: none are ignored.
	Ignored, Trust string
}

// Checked returns it. What is wrong with the values is for [Settings.Check].
func (s *Settings) Checked() Checked {
	c := Checked{Index: s.get("index"), Embed: s.get("embed"), Inbox: s.get("inbox"), Sandbox: box.Mode(cmp.Or(s.get("tasks.sandbox"), string(box.Auto)))}
	if c.Inbox == app.InboxAuto {
		c.Inbox = app.InboxAddr
	}
	if p := s.project; p != nil && p.LeftOut() {
		c.Ignored, c.Trust = p.ignored(), p.Command()
	}
	return c
}

// Place is where questions and tasks are kept: see [store.Open].
func (s *Settings) Place() (string, error) { return s.place() }

// Untrusted returns the project's file as it is now, if it was trusted when it was
// read, needs that, and has changed since. Nil: it has not.
func (s *Settings) Untrusted() *Project {
	if p := s.project; p != nil && p.trusted && len(p.needs) > 0 {
		if now, _, err := s.ProjectAt(filepath.Dir(p.path), func(string) {}); err == nil && now != nil && !now.trusted {
			return now
		}
	}
	return nil
}

// BesideProject is a folder of the working directory, or if it has none of that
// name, the one beside the project's deskhand.yaml: agents are started in folders
// below the project too.
func (s *Settings) BesideProject(dir string) string {
	if dir == "" || filepath.IsAbs(dir) || s.project == nil {
		return dir
	}
	beside := filepath.Join(filepath.Dir(s.project.path), dir)
	if _, err := os.Stat(dir); err == nil || !isDir(beside) {
		return dir
	}
	return beside
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
