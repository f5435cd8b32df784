package tasks

import (
	"bytes"
	"os"
	"strconv"
	"syscall"
	"time"
)

// endStrays kills what was started inside an attempt and has left its process
// group, or was started a moment before its runner died: every process has the
// attempt's id in the environment that it was started with. Names of programs
// say nothing, and this process is left alone. It says how many there were.
func endStrays(attemptID string) int {
	mark := []byte("\x00DESKHAND_ATTEMPT_ID=" + attemptID + "\x00")
	killed := map[int]bool{}
	for range 5 { // a process may start another one while it is looked for
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
