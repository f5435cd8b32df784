package box

// bwrap returns a command line for bubblewrap. It uses separate namespaces for
// processes, mounts, users and, if the network is closed, the network.
func (p Policy) bwrap(dir string, inner []string) []string {
	line := bwrapBase()
	if p.Network.Closed {
		line = append(line, "--unshare-net")
	}
	var sealed []string
	for _, one := range p.parts() {
		switch one.what {
		case hide:
			line = append(line, "--tmpfs", one.path)
		case seal:
			line = append(line, "--tmpfs", one.path)
			sealed = append(sealed, "--remount-ro", one.path)
		case read:
			line = append(line, "--ro-bind", one.path, one.path)
		case write:
			line = append(line, "--bind", one.path, one.path)
		}
	}
	line = append(append(line, "--ro-bind", p.Temp, p.Temp), sealed...)
	return append(append(line, "--chdir", dir, "--"), inner...)
}

// Shared lists folders that all programs write to. Every sandbox hides them.
var Shared = []string{"/tmp", "/var/tmp", "/run"}

// bwrapBase returns the start of every command line. It hides /run, which
// contains the sockets of services, because connecting to a socket does not
// count as writing. Only the files for name resolution stay visible.
func bwrapBase() []string {
	line := []string{"bwrap", "--die-with-parent", "--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--cap-drop", "ALL", "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"}
	for _, dir := range Shared {
		if isFolder(dir) {
			line = append(line, "--tmpfs", dir)
		}
	}
	for _, kept := range []string{"/run/systemd/resolve", "/run/resolvconf", "/run/NetworkManager/resolv.conf", "/run/current-system", "/run/opengl-driver"} {
		line = append(line, "--ro-bind-try", kept, kept)
	}
	return line
}
