package box

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestMain lets tests run this program as the process inside a container and as the
// process outside.
func TestMain(m *testing.M) {
	switch os.Getenv("BOX_TEST") {
	case "inside":
		os.Exit(Main(os.Args[1:], os.Stderr))
	case "outside":
		path, err := stayAlive(os.Args[1])
		fmt.Println(path, err)
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // waits until the test ends or kills this process
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func boxed(t *testing.T, in Inner, line ...string) *exec.Cmd {
	t.Helper()
	text, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{string(text), "--"}, line...)...)
	cmd.Env = append(os.Environ(), "BOX_TEST=inside")
	return cmd
}

// The engine continues when the runner that called it is killed.
func TestAttackBoxAContainerEndsWithItsRunner(t *testing.T) {
	dir := t.TempDir()
	runner := exec.CommandContext(t.Context(), os.Args[0], dir)
	runner.Env = append(os.Environ(), "BOX_TEST=outside")
	if _, err := runner.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := runner.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := runner.Start(); err != nil {
		t.Fatal(err)
	}
	said, err := bufio.NewReader(out).ReadString('\n')
	path := filepath.Join(dir, "alive")
	if err != nil || said != path+" <nil>\n" {
		t.Fatalf("the runner said %q, %v", said, err)
	}
	agent := boxed(t, Inner{Image: true, Alive: path}, "sh", "-c", "echo begun; exec sleep 600")
	out, err = agent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	reader := bufio.NewReader(out)
	if said, err = reader.ReadString('\n'); err != nil || said != "begun\n" {
		t.Fatalf("the agent said %q, %v", said, err)
	}
	if err := runner.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = runner.Wait() // an error, because it was killed
	if state, err := agent.Process.Wait(); err != nil || state.ExitCode() != exitBroken {
		t.Errorf("after the runner was killed: %v, %v; want exit %d", state, err, exitBroken)
	}
}

// Some engines run in a virtual machine, which does not see the runner's lock.
func TestALockThatDoesNotCrossEndsNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "alive")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if out, err := boxed(t, Inner{Image: true, Alive: path}, "echo", "to the end").CombinedOutput(); err != nil || string(out) != "to the end\n" {
		t.Errorf("said %q, %v", out, err)
	}
}

// A program's path on this machine may differ from its path in an image.
func TestAProgramOfAnImageIsFoundByName(t *testing.T) {
	if out, err := boxed(t, Inner{Image: true}, "/opt/here/only/echo", "found").CombinedOutput(); err != nil || string(out) != "found\n" {
		t.Errorf("in an image: said %q, %v", out, err)
	}
	out, err := boxed(t, Inner{}, "/opt/here/only/echo", "found").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "/opt/here/only/echo") {
		t.Errorf("without an image: said %q, %v", out, err)
	}
}
