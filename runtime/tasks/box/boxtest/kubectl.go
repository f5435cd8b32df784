// Package boxtest is a double of kubectl for tests. Its cluster is a folder, and its pods
// are processes on this machine, which have the same files.
package boxtest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/proc"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// Cluster is the folder of a cluster.
type Cluster struct{ Dir string }

// NewCluster puts kubectl and deskhand on the path: both are the test's own program, whose
// TestMain calls [Main].
func NewCluster(t testing.TB) Cluster {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := Cluster{t.TempDir()}
	for _, name := range []string{"kubectl", "deskhand"} {
		if err := os.Symlink(self, filepath.Join(c.Dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", c.Dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	t.Setenv("KUBECONFIG", c.Dir)
	return c
}

// Put writes a file of the cluster. "forbidden" refuses Jobs, and "secret-NAME" has the
// variables of a Secret, one a line.
func (c Cluster) Put(t testing.TB, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.Dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Calls returns the command lines of kubectl so far.
func (c Cluster) Calls() string {
	text, _ := os.ReadFile(filepath.Join(c.Dir, "calls")) // there is none before the first call
	return string(text)
}

// Jobs returns the manifests of the Jobs that exist.
func (c Cluster) Jobs(t testing.TB) (all []string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(c.Dir, "*.job"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		all = append(all, string(text))
	}
	return all
}

// Made returns the manifests of all Jobs that were ever created.
func (c Cluster) Made() string {
	text, _ := os.ReadFile(filepath.Join(c.Dir, "made"))
	return string(text)
}

// Main acts as kubectl if the program was called by that name, and does not return then.
func Main() {
	if filepath.Base(os.Args[0]) != "kubectl" {
		return
	}
	code, err := kubectl(os.Getenv("KUBECONFIG"), os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		code = 1
	}
	os.Exit(code)
}

// job is what the double reads of a manifest.
type job struct {
	Metadata struct{ Name string }
	Spec     struct {
		Template struct {
			Spec struct {
				Containers []struct {
					Image, WorkingDir string
					Command           []string
					EnvFrom           []struct{ SecretRef struct{ Name string } }
				}
			}
		}
	}
}

func kubectl(dir string, args []string) (code int, err error) {
	if err := appendTo(filepath.Join(dir, "calls"), strings.Join(args, " ")+"\n"); err != nil {
		return 1, err
	}
	value := func(flag string) string {
		if i := slices.Index(args, flag); i >= 0 && i+1 < len(args) {
			return args[i+1]
		}
		return ""
	}
	has := func(words ...string) bool {
		return !slices.ContainsFunc(words, func(w string) bool { return !slices.Contains(args, w) })
	}
	switch last := args[len(args)-1]; {
	case has("auth", "can-i", "create", "jobs.batch"):
		if _, err := os.Stat(filepath.Join(dir, "forbidden")); err == nil {
			fmt.Println("no")
			return 1, nil
		}
		fmt.Println("yes")
		return 0, nil
	case has("create", "--filename", "-"):
		return 0, create(dir)
	case has("get", "pods", "--selector", "--output", "json"):
		return 0, get(dir, strings.TrimPrefix(value("--selector"), "deskhand.job="))
	case has("attach", "--stdin", "--quiet", "--container", "agent"):
		return 0, attach(dir, strings.TrimSuffix(strings.TrimPrefix(last, "pod/"), "-abcde"))
	case has("delete", "job", "--ignore-not-found", "--wait=true"):
		return 0, remove(dir, value("job"))
	}
	return 1, fmt.Errorf("unknown command %q", args)
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(text)
	return errors.Join(err, f.Close())
}

func create(dir string) error {
	var text json.RawMessage
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&text); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	f, err := os.OpenFile(filepath.Join(dir, j.Metadata.Name+".job"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close(), appendTo(filepath.Join(dir, "made"), string(text)+"\n")); err == nil {
		fmt.Printf("job.batch/%s created\n", j.Metadata.Name)
	}
	return err
}

// get prints a pod: it waits for its image at first, and forever if the image is missing.
func get(dir, name string) error {
	type object = map[string]any
	items := []object{}
	at := filepath.Join(dir, name)
	if text, err := os.ReadFile(at + ".job"); err == nil {
		state := object{"running": object{"startedAt": "2026-11-28T13:00:00Z"}}
		if _, err := os.Stat(at + ".seen"); err != nil || strings.Contains(string(text), "no-such") {
			state = object{"waiting": object{"reason": "ContainerCreating"}}
		}
		if strings.Contains(string(text), "no-such") {
			state = object{"waiting": object{"reason": "ImagePullBackOff", "message": "Back-off pulling the image"}}
		}
		if code, err := os.ReadFile(at + ".exit"); err == nil {
			n, _ := strconv.Atoi(string(code))
			state = object{"terminated": object{"exitCode": n, "reason": "Error"}}
		}
		items = append(items, object{"metadata": object{"name": name + "-abcde"}, "status": object{"phase": "Pending", "containerStatuses": []object{{"state": state}}}})
		if err := os.WriteFile(at+".seen", nil, 0o600); err != nil {
			return err
		}
	}
	return json.NewEncoder(os.Stdout).Encode(object{"items": items})
}

// attach runs the pod's program, which outlives this process as a real one does.
func attach(dir, name string) error {
	at := filepath.Join(dir, name)
	text, err := os.ReadFile(at + ".job")
	if err != nil {
		return err
	}
	var j job
	if err := json.Unmarshal(text, &j); err != nil {
		return err
	}
	c := j.Spec.Template.Spec.Containers[0]
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Dir, cmd.Env = c.WorkingDir, []string{"PATH=" + os.Getenv("PATH")}
	for _, from := range c.EnvFrom {
		secret, err := os.ReadFile(filepath.Join(dir, "secret-"+from.SecretRef.Name))
		if err != nil {
			return err
		}
		cmd.Env = append(cmd.Env, strings.Fields(string(secret))...)
	}
	proc.Detach(cmd)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Start(); err != nil {
		return err
	}
	if err := os.WriteFile(at+".pid", []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		return err
	}
	_ = cmd.Wait() // the pod's state has the exit code
	return os.WriteFile(at+".exit", []byte(strconv.Itoa(cmd.ProcessState.ExitCode())), 0o600)
}

// remove ends a Job's pod and deletes the Job.
func remove(dir, name string) error {
	at := filepath.Join(dir, name)
	if text, err := os.ReadFile(at + ".pid"); err == nil {
		if pid, err := strconv.Atoi(string(text)); err == nil {
			proc.LeaderOf(pid).Kill()
		}
	}
	for _, end := range []string{".pid", ".seen", ".exit", ".job"} {
		if err := os.Remove(at + end); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Gone waits until there is no Job.
func (c Cluster) Gone(t testing.TB) {
	t.Helper()
	waittest.Until(t, "no Job is left", func() (bool, any) { left := c.Jobs(t); return len(left) == 0, left })
}
