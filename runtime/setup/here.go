package setup

import (
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Here is the machine and the project of the working directory.
func Here() (e Env, err error) {
	if e.Project, err = os.Getwd(); err == nil {
		e.Project, err = filepath.EvalSymlinks(e.Project)
	}
	if err != nil {
		return e, fault.Misuse("the working directory is gone: "+err.Error(), "change to the project's folder")
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

// OwnProgram is the path by which this program can be started from anywhere: the
// one on PATH, which an upgrade keeps, if it is this program.
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

// NotOnPath says why agents do not start this program by its name; empty: they do.
func NotOnPath() string {
	if found, err := exec.LookPath("deskhand"); err != nil {
		return "deskhand is not on PATH, so agents cannot start it: put " + OwnProgram() + " there"
	} else if own, err := os.Executable(); err == nil && !sameFile(found, own) {
		return "agents start " + found + ", which is another program than this one"
	}
	return ""
}

// sameFile reports whether two paths lead to one file or folder.
func sameFile(a, b string) bool {
	one, err := os.Stat(a)
	if err != nil {
		return false
	}
	two, err := os.Stat(b)
	return err == nil && os.SameFile(one, two)
}
