package box

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/runtime/proc"
)

const (
	// podPatience is how long a pod may take to start: a cluster may first add a machine.
	podPatience = 15 * time.Minute
	// podLook is how often the state of a pod is read while it starts.
	podLook = 500 * time.Millisecond
	// podLate is how long Kubernetes may take to create a pod before that is remarkable.
	podLate = 10 * time.Second
	// aliveEvery is how often a silent connection gets a frame.
	aliveEvery = 30 * time.Second
	// maxSent is the size up to which a folder or file that is not on a claim is sent.
	maxSent = 1 << 20
)

// runJob creates a Job and runs line in its pod, with this process's streams. It returns
// the exit code. Who removes the Job is said by the record: see [RemoveContainers].
func (in Inner) runJob(line []string) (int, error) {
	j := in.Job
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := j.create(ctx); err != nil {
		return exitBroken, err
	}
	pod, err := j.started(ctx)
	if ctx.Err() != nil {
		return 128 + int(syscall.SIGTERM), nil
	}
	if err != nil {
		return exitBroken, err
	}
	stop() // signals now go to the program
	return j.attached(pod, in.begin(line))
}

// begin returns what the pod needs.
func (in Inner) begin(line []string) jobBegin {
	j := in.Job
	in.Job = nil
	b := jobBegin{Inner: in, Line: line, Dir: j.Dir, Ports: j.Ports}
	for _, name := range j.Names {
		b.Env = append(b.Env, name+"="+os.Getenv(name))
	}
	for _, path := range j.Files {
		b.Files = append(b.Files, filesIn(path)...)
	}
	return b
}

// sentFile is a file that is not on a claim.
type sentFile struct {
	Path string
	Mode fs.FileMode
	Data []byte
}

// filesIn returns the files at a path, or none if they are large.
func filesIn(path string) (files []sentFile) {
	size := 0
	err := filepath.WalkDir(path, func(at string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		if size += int(min(info.Size(), maxSent+1)); size > maxSent {
			return errors.New("it is too large")
		}
		data, err := os.ReadFile(at)
		files = append(files, sentFile{at, info.Mode().Perm(), data})
		return err
	})
	if err != nil {
		return nil
	}
	return files
}

func (j *Job) kubectl(ctx context.Context, stdin []byte, words ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, removalPatience)
	defer cancel()
	cmd := exec.CommandContext(ctx, Kubectl, j.Where.args(words...)...)
	var said, problems bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = bytes.NewReader(stdin), &said, &problems, time.Second
	err := cmd.Run()
	if why := strings.TrimSpace(problems.String()); err != nil && why != "" {
		err = errors.New(why)
	}
	return said.String(), err
}

func (j *Job) create(ctx context.Context) error {
	if _, err := j.kubectl(ctx, j.Manifest, "create", "--filename", "-"); err != nil {
		return fmt.Errorf("create a Job: %w", err)
	}
	return nil
}

// podState is what kubectl prints of a pod.
type podState struct {
	Metadata struct{ Name string }
	Status   struct {
		Phase, Reason, Message string
		Conditions             []struct{ Type, Status, Reason, Message string }
		ContainerStatuses      []struct {
			State struct {
				Waiting    *struct{ Reason, Message string }
				Running    *struct{}
				Terminated *struct {
					ExitCode        int
					Reason, Message string
				}
			}
		}
	}
}

// pod returns the Job's pod. Its name is empty if there is none yet.
func (j *Job) pod(ctx context.Context) (p podState, err error) {
	said, err := j.kubectl(ctx, nil, "get", "pods", "--selector", jobNameLabel+"="+j.Where.Name, "--output", "json")
	if err != nil {
		return p, err
	}
	var list struct{ Items []podState }
	if err := json.Unmarshal([]byte(said), &list); err != nil {
		return p, fmt.Errorf("read what kubectl says of a pod: %w", err)
	}
	if len(list.Items) > 0 {
		p = list.Items[0]
	}
	return p, nil
}

// stuck returns why a pod will never start, or "". waits says what it waits for. The Job was
// created the given time ago.
func (p podState) stuck(ago time.Duration) (why, waits string) {
	if p.Metadata.Name == "" && ago >= podLate {
		return "", "Kubernetes has created none for the Job, for example because of a quota or a policy; kubectl describe job shows why"
	}
	if p.Status.Phase == "Failed" || p.Status.Phase == "Succeeded" {
		return "the pod ended before the agent began: " + p.end(), ""
	}
	for _, c := range p.Status.ContainerStatuses {
		if w := c.State.Waiting; w != nil {
			waits = strings.TrimSuffix(w.Reason+": "+w.Message, ": ")
			switch w.Reason {
			case "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError", "CrashLoopBackOff":
				return waits, waits
			}
		}
	}
	for _, c := range p.Status.Conditions {
		if c.Type == "PodScheduled" && c.Status == "False" {
			waits = c.Reason + ": " + c.Message
		}
	}
	return "", waits
}

// end describes how a pod ended.
func (p podState) end() string {
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; t != nil {
			return strings.TrimSpace(fmt.Sprintf("%s, exit code %d. %s", t.Reason, t.ExitCode, t.Message))
		}
	}
	return strings.TrimSpace(p.Status.Reason + " " + p.Status.Message)
}

func (p podState) runs() bool {
	for _, c := range p.Status.ContainerStatuses {
		if c.State.Running != nil {
			return true
		}
	}
	return false
}

// started waits until the Job's pod runs, and returns its name. What it waits for is
// printed to stderr.
func (j *Job) started(ctx context.Context) (name string, err error) {
	limit, cancel := context.WithTimeoutCause(ctx, podPatience, fmt.Errorf("the pod did not start within %v", podPatience))
	defer cancel()
	said, since := "", time.Now()
	for {
		p, err := j.pod(limit)
		if limit.Err() != nil {
			return "", fmt.Errorf("%w: %s", context.Cause(limit), said)
		}
		if err != nil {
			return "", err
		}
		why, waits := p.stuck(time.Since(since))
		switch {
		case why != "":
			return "", errors.New(why)
		case p.runs():
			return p.Metadata.Name, nil
		case waits != "" && waits != said:
			said = waits
			fmt.Fprintf(os.Stderr, "the pod waits: %s\n", waits)
		}
		select {
		case <-time.After(podLook):
		case <-limit.Done():
		}
	}
}

// attached connects this process's streams with the program in a pod until it exits.
func (j *Job) attached(pod string, b jobBegin) (int, error) {
	text, err := json.Marshal(b)
	if err != nil {
		return exitBroken, err
	}
	cmd := exec.Command(Kubectl, j.Where.args("attach", "--stdin", "--quiet", "--container", jobContainer, "pod/"+pod)...)
	var problems bytes.Buffer
	cmd.Stderr = &problems
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return exitBroken, err
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return exitBroken, err
	}
	group, err := proc.Start(cmd) // of its own, so that a signal for the agent does not end it
	if err != nil {
		return exitBroken, err
	}
	defer group.Close()
	f := newFrames(stdout, stdin)
	if err := f.write(beginFrame, 0, text); err != nil {
		return exitBroken, fmt.Errorf("attach to the pod: %w", err)
	}
	go f.copyFrom(os.Stdin, stdinFrame, 0, true)
	go j.signals(f)
	code, ended := j.follow(f)
	stdin.Close()
	group.Kill()
	cmd.Wait()
	if ended {
		return code, nil
	}
	return j.lost(strings.TrimSpace(problems.String()))
}

// signals passes this process's signals on, and keeps the connection alive.
func (j *Job) signals(f *frames) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	alive := time.NewTicker(aliveEvery)
	for {
		select {
		case s := <-signals:
			name := "TERM"
			if s == os.Interrupt {
				name = "INT"
			}
			f.write(signalFrame, 0, []byte(name))
		case <-alive.C:
			f.write(aliveFrame, 0, nil)
		}
	}
}

// follow handles the pod's frames. ended is false if the connection broke before the
// program's exit code came.
func (j *Job) follow(f *frames) (code int, ended bool) {
	for {
		kind, id, data, err := f.read()
		if err != nil {
			return 0, false
		}
		switch kind {
		case stdoutFrame:
			os.Stdout.Write(data)
		case stderrFrame:
			os.Stderr.Write(data)
		case exitFrame:
			code, err := strconv.Atoi(string(data))
			return code & 0xff, err == nil
		case openFrame:
			j.open(f, id, string(data))
		case dataFrame, closeFrame:
			f.take(kind, id, data)
		}
	}
}

// open connects the pod to one of the ports that it may reach.
func (j *Job) open(f *frames, id uint32, text string) {
	for _, port := range j.Ports {
		if text != strconv.Itoa(port) || f.conn(id) != nil || f.connections() >= maxConnections {
			continue
		}
		if conn, err := net.Dial("tcp", net.JoinHostPort("127.0.0.1", text)); err == nil {
			go f.carry(id, f.join(id, conn))
			return
		}
	}
	f.write(closeFrame, id, nil)
}

// lost reports how a pod ended whose connection broke.
func (j *Job) lost(why string) (int, error) {
	p, err := j.pod(context.Background())
	for _, c := range p.Status.ContainerStatuses {
		if t := c.State.Terminated; err == nil && t != nil {
			return max(t.ExitCode, 1), fmt.Errorf("the pod ended: %s", p.end())
		}
	}
	return exitBroken, fmt.Errorf("the connection to the pod broke: %s", why)
}
