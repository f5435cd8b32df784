package box

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Rules is what Landlock allows a program. Landlock can only allow: a hidden
// folder is one that the rules do not contain, and neither do they contain its
// parent folders as a whole.
type Rules struct {
	Read, Write []string
	Devices     []string // files of /dev
	// Closed restricts the network to TCP connections to Ports.
	Closed bool
	Ports  []int
}

// devices are what programs need of /dev.
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

// visible are the folders and files of dir, or dir itself, that have nothing
// hidden in them.
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
		return nil // who may not list it sees nothing of it
	}
	for _, e := range entries {
		if e.Type()&os.ModeSymlink == 0 { // what it names is seen where it is
			found = append(found, visible(filepath.Join(dir, e.Name()), all)...)
		}
	}
	return found
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}
