package box

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rules specifies what Landlock allows a program to access. Landlock has no
// rules that deny access. A folder is hidden if the rules contain neither the
// folder nor the whole of a parent folder.
type Rules struct {
	Read, Write []string
	Devices     []string // files in /dev
	// Closed restricts the network to TCP connections to Ports.
	Closed bool
	Ports  []int
}

// devices lists the files in /dev that programs need.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"}

func (p Policy) landlock() *Rules {
	r := &Rules{Devices: devices, Closed: p.Network.Closed, Ports: p.Network.Ports}
	if p.Network.Proxy > 0 {
		r.Ports = append([]int{p.Network.Proxy}, r.Ports...)
	}
	all := p.parts()
	for _, path := range append([]string{"/dev"}, Shared...) {
		if real, err := filepath.EvalSymlinks(path); err == nil && !slices.ContainsFunc(all, func(o part) bool { return o.path == real }) {
			all = append(all, part{real, hide})
		}
	}
	r.Read = visible("/", all)
	for _, one := range all {
		switch one.what {
		case read:
			r.Read = append(r.Read, visible(one.path, all)...)
		case write:
			r.Write = append(r.Write, visible(one.path, all)...)
		}
	}
	for _, kept := range []string{"/run/systemd/resolve", "/run/resolvconf", "/run/current-system"} {
		if isFolder(kept) {
			r.Read = append(r.Read, kept)
		}
	}
	r.Read = append(r.Read, p.Temp)
	r.Write = append(r.Write, filepath.Join(p.Temp, "tmp"), filepath.Join(p.Temp, homeFolder))
	return r
}

// visible returns dir if nothing in it is hidden. Otherwise it returns the
// folders and files in dir that contain nothing hidden.
func visible(dir string, all []part) (found []string) {
	inside := false
	for _, one := range all {
		switch {
		case one.what != hide && one.what != seal:
		case one.path == dir:
			return nil
		case strings.HasPrefix(one.path, strings.TrimSuffix(dir, "/")+"/"):
			inside = true
		}
	}
	if !inside {
		return []string{dir}
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil // an unreadable folder shows nothing
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // the target of a link is allowed separately
			found = append(found, visible(filepath.Join(dir, e.Name()), all)...)
		}
	}
	return found
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
