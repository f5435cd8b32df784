package settings

import (
	"cmp"
	"os"
	"path/filepath"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/tasks/box"
)

// Checked holds the settings that are needed to check the installation.
type Checked struct {
	Index   string // folder
	Embed   string // specification of the embedding model
	Inbox   string // HOST:PORT, or [app.InboxOff]
	Sandbox box.Mode
	// Ignored lists the ignored settings of an untrusted file, and Trust is the command
	// that allows them. If no settings are ignored, both are empty.
	Ignored, Trust string
}

// Checked returns the settings that are needed to check the installation.
// [Settings.Check] reports invalid values.
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

// Place returns the location of questions and tasks. See [store.Open].
func (s *Settings) Place() (string, error) { return s.place() }

// Untrusted returns the project's current file if the file was trusted when it was read,
// but has changed since and now requires trust. Otherwise it returns nil.
func (s *Settings) Untrusted() *Project {
	if p := s.project; p != nil && p.trusted && len(p.needs) > 0 {
		if now, _, err := s.ProjectAt(filepath.Dir(p.path), func(string) {}); err == nil && now != nil && !now.trusted {
			return now
		}
	}
	return nil
}

// BesideProject returns the folder named dir in the working directory. If that
// folder does not exist, it returns the one next to the project's deskhand.yaml,
// because agents may be started in subfolders of the project.
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
