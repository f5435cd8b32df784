package proc

import (
	"io/fs"
	"math"
	"path"
	"runtime/debug"
	"strconv"
	"strings"
)

// goMemory is GOMEMLIMIT, before the program changes it.
var goMemory = debug.SetMemoryLimit(-1)

// Memory returns how much memory this process may use, in bytes: the machine's, the limit of
// its control group, or GOMEMLIMIT, whichever is least. It returns false if none is known.
func Memory() (bytes uint64, known bool) {
	bytes = min(systemMemory(), uint64(goMemory))
	return bytes, bytes < math.MaxInt64
}

// memoryIn reads the limits of Linux, below the root of a file system. Without a limit, it
// returns [math.MaxUint64].
func memoryIn(root fs.FS) uint64 {
	most := uint64(math.MaxUint64)
	if text, err := fs.ReadFile(root, "proc/meminfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			fields := strings.Fields(line)
			if len(fields) == 3 && fields[0] == "MemTotal:" && fields[2] == "kB" {
				if n, err := strconv.ParseUint(fields[1], 10, 54); err == nil {
					most = n << 10
				}
			}
		}
	}
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return most
	}
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir, file := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" { // version 1
			if dir, file = "sys/fs/cgroup/memory", "memory.limit_in_bytes"; parts[1] != "memory" {
				continue
			}
		}
		// A limit of a parent also counts. In a container, the path may be one outside it.
		for at := path.Clean("/" + parts[2]); ; at = path.Dir(at) {
			if text, err := fs.ReadFile(root, path.Join(dir, at, file)); err == nil {
				if n, err := strconv.ParseUint(strings.TrimSpace(string(text)), 10, 64); err == nil && n > 0 {
					most = min(most, n)
				}
			}
			if at == "/" {
				break
			}
		}
	}
	return most
}
