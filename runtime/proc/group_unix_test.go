//go:build unix

package proc

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// stubborn is a program that reads no stdin, ignores every signal that it can, and
// starts another program that does the same. It prints the process IDs of both.
const stubborn = `trap '' INT TERM HUP PIPE; sh -c 'trap "" INT TERM HUP PIPE; while :; do sleep 1; done' & echo $$ $!; while :; do sleep 1; done`

func TestMain(m *testing.M) {
	if line := os.Getenv("PROC_TEST_STARTER"); line != "" {
		starter(strings.Split(line, "\n"))
	}
	if hide := os.Getenv("PROC_TEST_HIDDEN"); hide != "" {
		hidden(hide == "true")
	}
	os.Exit(m.Run())
}

// starter starts a program and waits to be killed.
func starter(line []string) {
	os.Unsetenv("PROC_TEST_STARTER")
	cmd := exec.Command(line[0], line[1:]...)
	cmd.Stdout = os.Stdout
	if _, err := Start(cmd); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("started")
	cmd.Wait()
	os.Exit(0)
}

// TestNothingOutlivesWhoStartedIt kills the process that started a program which would
// never exit.
func TestNothingOutlivesWhoStartedIt(t *testing.T) {
	for name, line := range map[string][]string{
		"a program":        {"sh", "-c", stubborn},
		"behind a wrapper": {"sh", "-c", `"$@"; true`, "wrapper", "sh", "-c", stubborn},
	} {
		t.Run(name, func(t *testing.T) {
			cmd, pids := started(t, line)
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			cmd.Wait()
			for _, pid := range pids {
				t.Cleanup(func() {
					if t.Failed() {
						syscall.Kill(pid, syscall.SIGKILL)
					}
				})
				waittest.Until(t, fmt.Sprintf("process %d of %v ends after its starter", pid, pids), func() (bool, any) { return gone(pid), nil })
			}
		})
	}
}

// TestAGroupLivesAsLongAsItsStarter: the thread that started a group does not matter,
// and closing one group does not affect others.
func TestAGroupLivesAsLongAsItsStarter(t *testing.T) {
	cmd := exec.Command("sleep", "1000")
	g, err := Start(cmd)
	if err != nil {
		t.Fatal(err)
	}
	other := exec.Command("true")
	short, err := Start(other)
	if err != nil {
		t.Fatal(err)
	}
	other.Wait()
	short.Close()
	for range 50 { // each goroutine ends its thread
		done := make(chan struct{})
		go func() {
			runtime.LockOSThread()
			close(done)
		}()
		<-done
	}
	runtime.GC()
	if gone(cmd.Process.Pid) {
		t.Error("the program ended with a thread of its starter")
	}
	g.Kill()
	cmd.Wait()
	g.Close()
	if !gone(g.guard.cmd.Process.Pid) {
		t.Error("the guard runs after Close")
	}
}

// started starts a program through another process, and returns the process IDs that it
// prints.
func started(t *testing.T, line []string) (starter *exec.Cmd, pids []int) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "PROC_TEST_STARTER="+strings.Join(line, "\n"))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(out)
	var leader, child int
	for range 2 { // process IDs of the starter and of the program, in any order
		text, err := lines.ReadString('\n')
		if text == "started\n" {
			continue
		}
		if _, e := fmt.Sscan(text, &leader, &child); err != nil || e != nil {
			t.Fatalf("the program says %q, %v", text, err)
		}
	}
	return cmd, []int{leader, child}
}

// gone reports whether a process has exited. A zombie counts as exited.
func gone(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return true
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && strings.Contains(string(stat), ") Z ")
}
