package proc

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestMemoryIsTheLeastLimit(t *testing.T) {
	const info = "MemTotal:       16384000 kB\nMemFree: 1 kB\n"
	for name, c := range map[string]struct {
		files map[string]string
		want  uint64
	}{
		"nothing known": {nil, math.MaxUint64},
		"the machine's": {map[string]string{"proc/meminfo": info}, 16384000 << 10},
		"no limit":      {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a\n", "sys/fs/cgroup/a/memory.max": "max\n"}, 16384000 << 10},
		"a container":   {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "536870912\n"}, 512 << 20},
		"a parent": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "2147483648\n",
			"sys/fs/cgroup/a/memory.max": "1073741824\n"}, 1 << 30},
		"version 1": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "5:cpu:/x\n4:memory:/docker/1\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "268435456\n"}, 256 << 20},
		"version 1 without a limit": {map[string]string{"proc/meminfo": info, "proc/self/cgroup": "4:memory:/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 16384000 << 10},
		"nonsense": {map[string]string{"proc/meminfo": "MemTotal: many kB\n", "proc/self/cgroup": "0:\n::\n0::../..\n", "sys/fs/cgroup/memory.max": "-5\n"}, math.MaxUint64},
	} {
		root := fstest.MapFS{}
		for path, text := range c.files {
			root[path] = &fstest.MapFile{Data: []byte(text)}
		}
		if got := memoryIn(root); got != c.want {
			t.Errorf("%s: memoryIn = %d, want %d", name, got, c.want)
		}
	}
}
