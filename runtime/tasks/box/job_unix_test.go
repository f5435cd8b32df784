//go:build unix

package box

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/goldentest"
	"github.com/deskhand/deskhand/runtime/tasks/box/boxtest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

func init() { boxtest.Main() } // if this program was called as kubectl

// jobPolicy returns a policy for a Job, with everything on one claim.
func jobPolicy(t *testing.T) (p Policy, home, work string) {
	t.Helper()
	p, home, work = policy(t)
	p.Container = ContainerConfig{Engine: Kubectl, Image: "agents:1", Context: "arn:aws:eks:eu/desk", Namespace: "agents", Memory: "2g", CPUs: 1.5,
		Labels: map[string]string{"team": "shop"}, Secrets: []string{"anthropic"}, Claims: []string{"other:/srv/other", "work:" + home}}
	p.Run, p.Record = "Run/1", filepath.Join(t.TempDir(), "containers")
	p.Self = append([]string{os.Args[0]}, Args...)
	return p, home, work
}

// jobOf returns the Job that a command line creates.
func jobOf(t *testing.T, line []string) (in Inner) {
	t.Helper()
	if err := json.Unmarshal([]byte(line[slices.Index(line, "boxed")+1]), &in); err != nil || in.Job == nil {
		t.Fatalf("no Job in %q: %v", line, err)
	}
	return in
}

// A Job's manifest is valid (make test-chart checks it against the schema of Kubernetes),
// and has neither values of variables nor the prompt.
func TestGoldenManifestOfAJob(t *testing.T) {
	boxtest.NewCluster(t)
	p, home, work := jobPolicy(t)
	line, env, err := p.Command(Container, work, []string{"agent", "do it"}, []string{"KEY=hunter2", "HOME=" + home, "KUBECONFIG=/evil", "PATH=/host/bin"})
	if err != nil {
		t.Fatal(err)
	}
	in := jobOf(t, line)
	text := string(in.Job.Manifest)
	for _, never := range []string{"hunter2", "do it", "/evil", "/host/bin"} {
		if strings.Contains(text, never) {
			t.Errorf("%q is in the manifest %s", never, text)
		}
	}
	if strings.Contains(strings.Join(line, " "), "hunter2") || !slices.Contains(env, "KEY=hunter2") || slices.Contains(env, "KUBECONFIG=/evil") {
		t.Errorf("line %q, environment %q", line, env)
	}
	recorded, err := os.ReadFile(p.Record)
	if err != nil || string(recorded) != "kubectl arn:aws:eks:eu/desk/agents/"+in.Job.Where.Name+"\n" || !strings.HasPrefix(in.Job.Where.Name, "deskhand-run1-") {
		t.Errorf("the record is %q, %v", recorded, err)
	}
	goldentest.Compare(t, "testdata/job.json", strings.NewReplacer(home, "/srv/deskhand", p.Temp, "/tmp/box", in.Job.Where.Name, "deskhand-run1-0123456789",
		`"runAsUser": 0`, `"runAsNonRoot": true,`+"\n"+strings.Repeat(" ", 14)+`"runAsUser": 1000`, fmt.Sprintf(`"runAsUser": %d`, os.Getuid()), `"runAsUser": 1000`, fmt.Sprintf(`"runAsGroup": %d`, os.Getgid()), `"runAsGroup": 1000`).Replace(indented(t, in.Job.Manifest)))

	p.Run = strings.Repeat("long-", 30)
	if line, _, err = p.Command(Container, work, []string{"agent"}, nil); err != nil || len(jobOf(t, line).Job.Where.Name) > maxObjectName {
		t.Errorf("a long name: %q, %v", line, err)
	}
	p.Container.Claims = []string{"other:/srv/other"}
	if _, _, err := p.Command(Container, work, []string{"agent"}, nil); err == nil || !strings.Contains(err.Error(), "on no claim") {
		t.Errorf("a folder on no claim: %v", err)
	}
	p.Container.Claims, p.Network.Closed = []string{"work:" + home}, true
	if _, _, err := p.Command(Container, work, []string{"agent"}, nil); err == nil || !strings.Contains(err.Error(), "cannot close the network") {
		t.Errorf("a closed network: %v", err)
	}
}

// The log says it if there is no pod, because of a policy or a quota of the namespace.
func TestAJobWithoutAPodIsRemarked(t *testing.T) {
	if why, waits := (podState{}).stuck(0); why+waits != "" {
		t.Errorf("at first: %q %q, want nothing", why, waits)
	}
	if why, waits := (podState{}).stuck(podLate); why != "" || !strings.Contains(waits, "kubectl describe job") {
		t.Errorf("later: %q %q, want what shows the reason", why, waits)
	}
	var p podState
	p.Metadata.Name = "deskhand-a-1"
	if why, waits := p.stuck(podPatience); why+waits != "" {
		t.Errorf("with a pod: %q %q, want nothing", why, waits)
	}
}

func indented(t *testing.T, text []byte) string {
	t.Helper()
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", "  "); err != nil {
		t.Fatal(err)
	}
	return out.String() + "\n"
}

func TestAJobsConfigurationIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		config ContainerConfig
		says   string
	}{
		"an option as context":   {ContainerConfig{Context: "--kubeconfig=/x"}, "not the name of a context"},
		"an option as namespace": {ContainerConfig{Namespace: "-a"}, "not the name of a namespace"},
		"our own label":          {ContainerConfig{Labels: map[string]string{"deskhand.run": "x"}}, "not a label that you can choose"},
		"a label's value":        {ContainerConfig{Labels: map[string]string{"team": "a b"}}, "not a label that you can choose"},
		"a relative claim":       {ContainerConfig{Claims: []string{"work:srv"}}, "not CLAIM:PATH"},
		"a claim of everything":  {ContainerConfig{Claims: []string{"work:/"}}, "not CLAIM:PATH"},
		"a claim without a path": {ContainerConfig{Claims: []string{"work"}}, "not CLAIM:PATH"},
	} {
		c.config.Engine, c.config.Image = Kubectl, "a"
		if wrong := c.config.Check(); !strings.Contains(wrong, c.says) {
			t.Errorf("%s: %q, want %q", name, wrong, c.says)
		}
	}
}

// A line of a record was written by this program or cut off: nothing else becomes an
// argument of kubectl.
func TestAttackBoxARecordOfJobs(t *testing.T) {
	c := boxtest.NewCluster(t)
	for _, line := range []string{"kubectl desk/agents/deskhand-a-1", "kubectl //deskhand-a-1\nkubectl -x/agents/deskhand-a-1\nkubectl a/-b/deskhand-a-1\nkubectl a/b/other-1\nkubectl a/b/deskhand-a --all\n"} {
		path := filepath.Join(t.TempDir(), "record")
		if err := os.WriteFile(path, []byte(line), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := RemoveContainers(t.Context(), path); err != nil {
			t.Error(err)
		}
	}
	if calls := strings.Split(strings.TrimSpace(c.Calls()), "\n"); len(calls) != 1 || !strings.HasPrefix(calls[0], "delete job deskhand-a-1 ") {
		t.Errorf("kubectl was called with %q", calls)
	}
}

// pair returns both ends of a connection.
func pair(t *testing.T) (caller, pod *frames) {
	t.Helper()
	a, b := net.Pipe()
	t.Cleanup(func() { a.Close(); b.Close() })
	return newFrames(a, a), newFrames(b, b)
}

// The program in a pod reaches the ports that it may, over the connection, and many
// requests at a time. What is large arrives whole.
func TestAPodReachesThePortsOfItsCaller(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(w, r.Body)
	}))
	t.Cleanup(server.Close)
	_, text, _ := net.SplitHostPort(server.Listener.Addr().String())
	caller, pod := pair(t)
	var port int
	fmt.Sscan(text, &port)
	inPod := port + 1 // both ends are on this machine
	j := &Job{Ports: []int{port}}
	go func() {
		for {
			kind, id, data, err := caller.read()
			if err != nil {
				return
			}
			switch kind {
			case openFrame:
				if string(data) == fmt.Sprint(inPod) {
					data = []byte(text)
				}
				j.open(caller, id, string(data))
			default:
				caller.take(kind, id, data)
			}
		}
	}()
	go func() {
		for {
			kind, id, data, err := pod.read()
			if err != nil {
				return
			}
			pod.take(kind, id, data)
		}
	}()
	if err := pod.listen([]int{inPod}); err != nil {
		t.Skipf("NOT TESTED: the port beside the server's is taken: %v", err)
	}
	long := strings.Repeat("x", 300<<10)
	results := make(chan error, 20)
	for i := range cap(results) {
		go func() {
			body := fmt.Sprint(i) + long
			r, err := http.Post(fmt.Sprintf("http://127.0.0.1:%d/", inPod), "text/plain", strings.NewReader(body))
			if err == nil {
				var got []byte
				if got, err = io.ReadAll(r.Body); err == nil && string(got) != body {
					err = fmt.Errorf("%d bytes of %d came back", len(got), len(body))
				}
				r.Body.Close()
			}
			results <- err
		}()
	}
	for range cap(results) {
		if err := <-results; err != nil {
			t.Error(err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	waittest.Until(t, "all connections are closed", func() (bool, any) { n := caller.connections() + pod.connections(); return n == 0, n })
}

// A pod's program may write what it likes: it reaches no other port, opens no more
// connections than allowed, and cannot make the caller keep much.
func TestAttackBoxFramesOfAPod(t *testing.T) {
	other, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	_, port, _ := net.SplitHostPort(other.Addr().String())
	frame := func(kind byte, id uint32, data string) string {
		var out bytes.Buffer
		newFrames(nil, &out).write(kind, id, []byte(data))
		return out.String()
	}
	for name, text := range map[string]string{
		"another port": frame(openFrame, 1, port), "a host": frame(openFrame, 1, "10.0.0.1:80"), "no port": frame(openFrame, 1, ""),
		"data of nothing": frame(dataFrame, 7, "x") + frame(closeFrame, 7, ""), "an unknown kind": frame('?', 1, "x"), "the caller's own": frame(beginFrame, 0, "{}") + frame(signalFrame, 0, "KILL") + frame(stdinFrame, 0, "x"),
		"too long": "o\x00\x00\x00\x00\xff\xff\xff\xff", "cut off": "o\x00\x00", "no number": frame(exitFrame, 0, "all is well"),
	} {
		f := newFrames(strings.NewReader(text), io.Discard)
		if code, ended := (&Job{Ports: []int{1}}).follow(f); ended || code != 0 || f.connections() != 0 {
			t.Errorf("%s: follow = %d, %v with %d connections", name, code, ended, f.connections())
		}
	}
	if code, ended := (&Job{}).follow(newFrames(strings.NewReader(frame(exitFrame, 0, "256")), io.Discard)); !ended || code != 0 {
		t.Errorf("exit code 256: %d, %v", code, ended)
	}
}
