package setup

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Here returns the Env of this machine, with the working directory as the project.
func Here() (e Env, err error) {
	if e.Project, err = os.Getwd(); err == nil {
		e.Project, err = filepath.EvalSymlinks(e.Project)
	}
	if err != nil {
		return e, fault.Misuse("the working directory no longer exists: "+err.Error(), "change to the project's folder")
	}
	if e.Home, err = os.UserHomeDir(); err != nil {
		return e, fault.Misuse("there is no home folder: "+err.Error(), "set HOME")
	}
	if sameFile(e.Project, e.Home) || filepath.Dir(e.Project) == e.Project {
		return e, fault.Misuse(e.Project+" is not a project's folder", "change to the folder of your project")
	}
	e.Config = os.Getenv("XDG_CONFIG_HOME")
	if !filepath.IsAbs(e.Config) {
		e.Config = filepath.Join(e.Home, ".config")
	}
	e.AppData, e.OS, e.Getenv, e.Look = os.Getenv("APPDATA"), runtime.GOOS, os.Getenv, exec.LookPath
	return e, nil
}

// OwnProgram returns the path of this program. If the path on PATH is this
// program, OwnProgram prefers it, because it stays valid after an upgrade.
func OwnProgram() string {
	own, err := os.Executable()
	found, lookErr := exec.LookPath("deskhand")
	if lookErr == nil {
		found, lookErr = filepath.Abs(found)
	}
	if lookErr == nil && (err != nil || sameFile(own, found)) {
		return found
	}
	return cmp.Or(own, "deskhand")
}

// NotOnPath returns the reason why agents cannot start this program by its
// name, or "" if they can.
func NotOnPath() string {
	if found, err := exec.LookPath("deskhand"); err != nil {
		return "deskhand is not on PATH, so agents cannot start it: add " + OwnProgram() + " to PATH"
	} else if own, err := os.Executable(); err == nil && !sameFile(found, own) {
		return "agents start " + found + ", which is not the running program"
	}
	return ""
}

// sameFile reports whether two paths resolve to the same file or folder.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}
