package proc

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// KillMarked kills every process that was started with the environment variable
// name set to value, except this process. The process's group does not matter.
// KillMarked returns the number of killed processes. It also finds processes
// that have left their group, and processes that were started just before the
// death of the process that should have killed them.
func KillMarked(name, value string) int {
	mark := []byte("\x00" + name + "=" + value + "\x00")
	killed := map[int]bool{}
	for range 5 { // repeat, because a process may start another one during the search
		found := 0
		entries, err := os.ReadDir("/proc")
		if err != nil {
			break
		}
		for _, e := range entries {
			pid, err := strconv.Atoi(e.Name())
			if err != nil || pid <= 1 || pid == os.Getpid() {
				continue
			}
			env, err := os.ReadFile("/proc/" + e.Name() + "/environ")
			if err != nil || !bytes.Contains(append([]byte{0}, env...), mark) {
				continue
			}
			if syscall.Kill(pid, syscall.SIGKILL) == nil {
				found++
				killed[pid] = true
			}
		}
		if found == 0 {
			break
		}
		time.Sleep(5 * time.Millisecond)
	}
	return len(killed)
}
