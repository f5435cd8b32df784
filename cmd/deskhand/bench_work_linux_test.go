package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
	"golang.org/x/sync/errgroup"
)

// workshop is a repository and a state folder for attempts of the real program.
type workshop struct {
	b                    *testing.B
	program, repo, state string
}

// newWorkshop creates a repository with n files in folders of 100.
func newWorkshop(b *testing.B, n int) *workshop {
	b.Helper()
	if testing.Short() {
		b.Skip("builds the program")
	}
	w := &workshop{b: b, program: realProgram(b), repo: filepath.Join(b.TempDir(), "shop"), state: b.TempDir()}
	for i := range n {
		name := filepath.Join(w.repo, fmt.Sprint("d", i/100), fmt.Sprintf("f%d.txt", i))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(strings.Repeat(fmt.Sprintf("line of file %d\n", i), 60)), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	w.git("init", "-q", "-b", "main")
	w.git("config", "user.name", "Ada")
	w.git("config", "user.email", "ada@example.com")
	w.git("add", "-A")
	w.git("commit", "-q", "-m", "first")
	w.run("tasks", "project", "add", w.repo, "--name", "shop")
	b.Cleanup(func() {
		for _, id := range w.ids() {
			_, _ = w.try("tasks", "stop", id, "--force") // it may have ended
		}
	})
	return w
}

func (w *workshop) git(args ...string) {
	w.b.Helper()
	if out, err := exec.Command("git", append([]string{"-C", w.repo}, args...)...).CombinedOutput(); err != nil {
		w.b.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (w *workshop) try(args ...string) (string, error) {
	cmd := exec.Command(w.program, args...)
	cmd.Dir = w.state
	cmd.Env = append(os.Environ(), "DESKHAND_STATE="+w.state, "DESKHAND_TASKS_MAX_RUNNING=40", "DESKHAND_TASKS_SANDBOX=none", "DESKHAND_INBOX=off", "DESKHAND_LOG_LEVEL=error")
	var said strings.Builder
	cmd.Stderr = &said
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("deskhand %v: %w\n%s", args, err, said.String())
	}
	return string(out), err
}

func (w *workshop) run(args ...string) string {
	w.b.Helper()
	out, err := w.try(args...)
	if err != nil {
		w.b.Fatal(err)
	}
	return out
}

// ids returns the IDs of all tasks.
func (w *workshop) ids() (ids []string) {
	var all struct {
		Tasks []struct {
			ID string `json:"task_id"`
		}
	}
	out, err := w.try("tasks", "ls", "-n", "100", "--json")
	if err == nil {
		err = json.Unmarshal([]byte(out), &all)
	}
	if err != nil {
		w.b.Error(err)
	}
	for _, t := range all.Tasks {
		ids = append(ids, t.ID)
	}
	return ids
}

// start starts an attempt of a new task and returns the task's ID.
func (w *workshop) start(script ...string) string {
	w.b.Helper()
	id := w.add()
	w.run("tasks", "start", id, "--executor", "fake", "--prompt", strings.Join(script, "\n"))
	return id
}

// add creates a task and returns its ID.
func (w *workshop) add() string {
	w.b.Helper()
	var made struct {
		ID string `json:"task_id"`
	}
	if err := json.Unmarshal([]byte(w.run("tasks", "add", "Work", "--project", "shop", "--json")), &made); err != nil {
		w.b.Fatal(err)
	}
	return made.ID
}

// ended waits until no task has a process that is queued or running.
func (w *workshop) ended() {
	w.b.Helper()
	for _, id := range w.ids() {
		w.run("tasks", "logs", id, "--follow")
	}
}

// processes returns the numbers of the processes that work for this state folder: agents
// have it in their environment, and their parents are the runners.
func (w *workshop) processes() (pids []string) {
	all, err := filepath.Glob("/proc/[0-9]*/environ")
	if err != nil {
		w.b.Fatal(err)
	}
	for _, name := range all {
		env, err := os.ReadFile(name) // an error means that it has ended, or is somebody else's
		if err != nil || !strings.Contains(string(env), w.state) {
			continue
		}
		pid := filepath.Base(filepath.Dir(name))
		parent := strconv.Itoa(int(w.statistic([]string{pid}, "status", "PPid:")))
		for _, one := range []string{pid, parent} {
			command, _ := os.ReadFile(filepath.Join("/proc", one, "cmdline"))
			if strings.HasPrefix(string(command), w.program) && !slices.Contains(pids, one) {
				pids = append(pids, one)
			}
		}
	}
	return pids
}

// statistic adds up a number from a file of /proc that follows name in one of its lines.
func (w *workshop) statistic(pids []string, file, name string) (sum float64) {
	for _, pid := range pids {
		text, err := os.ReadFile(filepath.Join("/proc", pid, file))
		if err != nil {
			continue // it has ended
		}
		for line := range strings.Lines(string(text)) {
			if rest, ok := strings.CutPrefix(line, name); ok {
				n, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
				if err != nil {
					w.b.Fatal(err)
				}
				sum += n
			}
		}
	}
	return sum
}

// cpu returns the seconds of CPU time that the processes have used, in steps of 10 ms each.
func (w *workshop) cpu(pids []string) (sum float64) {
	for _, pid := range pids {
		text, err := os.ReadFile(filepath.Join("/proc", pid, "stat"))
		if err != nil {
			continue
		}
		fields := strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
		for _, ticks := range fields[11:13] { // in user and kernel mode
			n, err := strconv.ParseFloat(ticks, 64)
			if err != nil {
				w.b.Fatal(err)
			}
			sum += n / 100
		}
	}
	return sum
}

// Benchmark30Attempts measures one attempt alone, and 30 at once with a place for each,
// in a repository with 1,100 files, to the last one's end. The agent works for two
// seconds. To meet is at most twice one alone plus the time of 30 checkouts.
func Benchmark30Attempts(b *testing.B) {
	for b.Loop() {
		w := newWorkshop(b, 1100)
		script := []string{"write a.txt x", "sleep 2", "say Done."}
		begun := time.Now()
		w.start(script...)
		w.ended()
		alone := time.Since(begun)
		begun = time.Now()
		w.git("worktree", "add", "-q", filepath.Join(b.TempDir(), "checkout"), "-b", "checkout")
		checkout := time.Since(begun)
		var ids []string
		for range 30 {
			ids = append(ids, w.add())
		}
		begun = time.Now()
		var starting errgroup.Group
		for _, id := range ids {
			starting.Go(func() error {
				_, err := w.try("tasks", "start", id, "--executor", "fake", "--prompt", strings.Join(script, "\n"))
				return err
			})
		}
		if err := starting.Wait(); err != nil {
			b.Fatal(err)
		}
		w.ended()
		b.ReportMetric(alone.Seconds(), "s-alone")
		b.ReportMetric(checkout.Seconds()*30, "s-30-checkouts")
		b.ReportMetric(time.Since(begun).Seconds(), "s-30")
	}
}

// Benchmark20IdleAttempts measures what 20 attempts use whose agents have waited for 40
// seconds, over ten seconds; in the first ten they still end what their start began, with
// four to eight times the CPU. To meet are 0.02 of a core and 150 MiB of memory, shared pages counted once.
func Benchmark20IdleAttempts(b *testing.B) {
	for b.Loop() {
		w := newWorkshop(b, 10)
		for range 20 {
			w.start("say I wait", "hang")
		}
		waittest.Until(b, "all are idle", func() (bool, any) {
			out := 0
			for _, id := range w.ids() {
				if said := w.run("tasks", "logs", id); strings.Contains(said, "I wait") {
					out++
				}
			}
			return out == 20, out
		})
		pids := w.processes()
		<-time.After(40 * time.Second)
		before, begun := w.cpu(pids), time.Now()
		<-time.After(10 * time.Second)
		b.ReportMetric((w.cpu(pids)-before)/time.Since(begun).Seconds(), "cores")
		b.ReportMetric(w.statistic(pids, "smaps_rollup", "Pss:")/1024, "MiB-PSS")
		b.ReportMetric(float64(len(pids)), "processes")
	}
}

// BenchmarkDiskWritten measures how many bytes the processes of an attempt cause to be
// written to the disk for each byte of its spool, which has the raw output of 200,000 short
// lines, with one byte more for each. To meet are 3. The state folder must not be in memory.
func BenchmarkDiskWritten(b *testing.B) {
	for b.Loop() {
		w := newWorkshop(b, 10)
		id := w.start("spam 200000", "sleep 3", "say Done.")
		written := map[string]float64{}
		over := make(chan error)
		go func() {
			_, err := w.try("tasks", "logs", id, "--follow", "--raw")
			over <- err
		}()
		for running := true; running; {
			for _, pid := range w.processes() {
				written[pid] = max(written[pid], w.statistic([]string{pid}, "io", "write_bytes:"))
			}
			select {
			case err := <-over:
				if running = false; err != nil {
					b.Fatal(err)
				}
			case <-time.After(100 * time.Millisecond):
			}
		}
		raw, sum := 0.0, 0.0
		for _, n := range written {
			sum += n
		}
		spools, err := filepath.Glob(filepath.Join(w.state, "tasks/runs/*/spool"))
		if err != nil || len(spools) == 0 {
			b.Fatalf("spools: %v, %v", spools, err)
		}
		for _, name := range spools {
			info, err := os.Stat(name)
			if err != nil {
				b.Fatal(err)
			}
			raw += float64(info.Size())
		}
		b.ReportMetric(raw/1e6, "MB-raw")
		b.ReportMetric(sum/raw, "written/raw")
	}
}

// BenchmarkLanding lands 350 changed files in a repository with 5,000 by the command. To
// meet is one second.
func BenchmarkLanding(b *testing.B) {
	for b.Loop() {
		w := newWorkshop(b, 5000)
		id := w.start(`run for i in $(seq 0 14 4999); do echo changed >> d$((i/100))/f$i.txt; done`, "say Done.")
		w.ended()
		begun := time.Now()
		out := w.run("tasks", "land", id, "--squash", "--yes")
		b.ReportMetric(time.Since(begun).Seconds(), "s-landing")
		if stat, err := exec.Command("git", "-C", w.repo, "diff", "--shortstat", "HEAD~1").Output(); err != nil || !strings.Contains(string(stat), "358 files") {
			b.Fatalf("landed %q, %v: %s", stat, err, out)
		}
	}
}
