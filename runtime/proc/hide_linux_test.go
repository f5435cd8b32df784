package proc

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// hidden is the main function of the program that others try to read.
func hidden(hide bool) {
	if hide {
		if err := Hide(); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	fmt.Println("ready")
	bufio.NewReader(os.Stdin).ReadString('\n')
	os.Exit(0)
}

// readable returns a copy of this program that every user can execute.
func readable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "deskhand-proc")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, "program")
	text, err := os.ReadFile(os.Args[0])
	for _, do := range []func() error{
		func() error { return err },
		func() error { return os.Chmod(dir, 0o755) },
		func() error { return os.WriteFile(program, text, 0o755) },
	} {
		if err := do(); err != nil {
			t.Fatal(err)
		}
	}
	return program
}

// TestHideKeepsOtherProgramsOut reads a process from another process of the same user,
// who is not root.
func TestHideKeepsOtherProgramsOut(t *testing.T) {
	var as *syscall.SysProcAttr
	if os.Geteuid() == 0 {
		as = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	program := readable(t)
	for _, hide := range []bool{false, true} {
		cmd := exec.Command(program)
		cmd.SysProcAttr, cmd.Dir = as, "/"
		cmd.Env = []string{"MY_KEY=a-very-secret-value", fmt.Sprintf("PROC_TEST_HIDDEN=%v", hide)}
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if said, err := bufio.NewReader(out).ReadString('\n'); said != "ready\n" {
			t.Fatalf("the program says %q, %v", said, err)
		}
		files := []string{"environ", "mem", "maps"}
		if !hide {
			files = files[:1] // the others may be unreadable anyway
		}
		for _, file := range files {
			t.Run(fmt.Sprintf("hide=%v/%s", hide, file), func(t *testing.T) {
				line := fmt.Sprintf("exec 3</proc/%d/%s", cmd.Process.Pid, file)
				if file == "environ" {
					line = fmt.Sprintf("cat /proc/%d/environ", cmd.Process.Pid)
				}
				reads := exec.Command("sh", "-c", line)
				reads.SysProcAttr, reads.Dir = as, "/"
				text, err := reads.CombinedOutput()
				if read := err == nil; read == hide {
					t.Errorf("%s = %q, %v; want it read only if it is not hidden", line, text, err)
				}
				if strings.Contains(string(text), "a-very-secret-value") == hide && file == "environ" {
					t.Errorf("%s = %q", line, text)
				}
			})
		}
		in.Close()
		cmd.Wait()
	}
}
