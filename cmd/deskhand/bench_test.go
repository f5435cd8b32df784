//go:build unix

package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/mcpserver"
)

// BenchmarkCorpus is the table of docs/benchmarks.md: what it costs to build an
// index of a corpus and to serve it, measured on the real program from outside.
// BENCH_CORPUS and BENCH_QUERIES name a folder of markdown and a file of queries,
// one a line or one JSON object a line; without them a corpus of 33 MB is made.
// make bench-corpus calls it.
func BenchmarkCorpus(b *testing.B) {
	if testing.Short() {
		b.Skip("a minute or more")
	}
	program := realProgram(b)
	corpus, queries := benchCorpus(b)
	out := filepath.Join(b.TempDir(), "index")
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			os.RemoveAll(out)
			seconds, unit := cpuOf(b, program, "index", corpus, "-o", out)
			b.ReportMetric(seconds, unit)
		}
		b.ReportMetric(sizeOf(b, out), "index-MB")
	})
	b.Run("rebuild", func(b *testing.B) {
		for b.Loop() {
			seconds, unit := cpuOf(b, program, "index", corpus, "-o", out)
			b.ReportMetric(seconds, unit)
		}
	})
	b.Run("first-answer", func(b *testing.B) {
		var took []float64
		for b.Loop() {
			start := time.Now()
			c := dial(b, mcpserver.Target{Command: []string{program, "serve", "--index", out}})
			ask(b, c, queries[len(took)%len(queries)])
			took = append(took, float64(time.Since(start).Microseconds())/1000)
			c.Close()
		}
		slices.Sort(took)
		b.ReportMetric(took[len(took)/2], "median-ms")
	})
	b.Run("query", func(b *testing.B) {
		c := dial(b, mcpserver.Target{Command: []string{program, "serve", "--index", out}})
		defer c.Close()
		ask(b, c, queries[0])
		before, n := processCPU(b, c.PID()), 0
		for b.Loop() {
			ask(b, c, queries[n%len(queries)])
			n++
		}
		b.ReportMetric(1000*(processCPU(b, c.PID())-before)/float64(n), "cpu-ms/query")
		b.ReportMetric(processRSS(b, c.PID()), "rss-MiB")
	})
	b.Run("http", func(b *testing.B) { benchHTTP(b, program, out, queries) })
}

// benchHTTP asks with eight clients at once.
func benchHTTP(b *testing.B, program, out string, queries []map[string]any) {
	const clients = 8
	cmd := exec.Command(program, "serve", "--index", out, "--http", "127.0.0.1:0", "--no-token")
	stderr, err := cmd.StderrPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer func() { cmd.Process.Signal(os.Interrupt); cmd.Wait() }()
	line, err := bufio.NewReader(stderr).ReadString('\n')
	_, url, ok := strings.Cut(strings.TrimSpace(line), "serving MCP at ")
	if err != nil || !ok {
		b.Fatalf("server said %q, %v", line, err)
	}
	var all [clients]*mcpserver.Client
	for i := range all {
		all[i] = dial(b, mcpserver.Target{URL: url})
		defer all[i].Close()
	}
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	for _, c := range all {
		group.Go(func() {
			for i := next.Add(1); i <= int64(b.N); i = next.Add(1) {
				ask(b, c, queries[int(i)%len(queries)])
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "queries/s")
}

// realProgram is the program as it is built for users.
func realProgram(b *testing.B) string {
	path := filepath.Join(b.TempDir(), "deskhand-bench")
	cmd := exec.Command("go", "build", "-trimpath", "-o", path, ".")
	me, err := user.Current() // HOME is another one while tests run
	if err != nil {
		b.Fatal(err)
	}
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "HOME="+me.HomeDir)
	if said, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("build: %v\n%s", err, said)
	}
	return path
}

// cpuOf runs a command to its end and returns the CPU seconds it took.
func cpuOf(b *testing.B, program string, args ...string) (float64, string) {
	b.Helper()
	cmd := exec.Command(program, args...)
	if said, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("%v: %v\n%s", args, err, said)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok && runtime.GOOS == "linux" {
		b.ReportMetric(float64(usage.Maxrss)/1024, "peak-MiB")
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), "cpu-s"
}

// sizeOf is what the files below dir take, in MB.
func sizeOf(b *testing.B, dir string) float64 {
	b.Helper()
	total := int64(0)
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			total += info.Size()
		}
		return err
	})
	if err != nil {
		b.Fatal(err)
	}
	return float64(total) / 1e6
}

func dial(b *testing.B, target mcpserver.Target) *mcpserver.Client {
	b.Helper()
	c, err := mcpserver.Dial(context.Background(), target)
	if err != nil {
		b.Fatal(err)
	}
	return c
}

func ask(b *testing.B, c *mcpserver.Client, args map[string]any) {
	b.Helper()
	text, _, isError, err := c.Call(context.Background(), "search_docs", args)
	if err != nil || isError {
		b.Errorf("search_docs %v: %s %v", args, text, err)
	}
}

// processCPU is the CPU seconds that a running process has taken, where the
// system tells; ticks are a hundredth of a second on Linux.
func processCPU(b *testing.B, pid int) float64 {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		b.Skip("no /proc here")
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	user, _ := strconv.ParseFloat(fields[11], 64)
	system, _ := strconv.ParseFloat(fields[12], 64)
	return (user + system) / 100
}

// processRSS is the resident memory of a running process in MiB.
func processRSS(b *testing.B, pid int) float64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		b.Skip("no /proc here")
	}
	_, rest, _ := strings.Cut(string(status), "VmRSS:")
	kib, _ := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	return kib / 1024
}

// benchCorpus is the corpus and the queries to measure with.
func benchCorpus(b *testing.B) (dir string, queries []map[string]any) {
	dir, file := os.Getenv("BENCH_CORPUS"), os.Getenv("BENCH_QUERIES")
	random := rand.New(rand.NewPCG(1, 2))
	word := func() string {
		// Few words make most of a text: ranks fall off as in English.
		n := int(20_000 * (random.Float64() * random.Float64() * random.Float64()))
		return fmt.Sprintf("%c%s", 'a'+n%26, strconv.FormatInt(int64(n), 26))
	}
	words := func(n int) string {
		all := make([]string, n)
		for i := range all {
			all[i] = word()
		}
		return strings.Join(all, " ")
	}
	if dir == "" {
		dir = b.TempDir()
		for i := range 3000 {
			var page strings.Builder
			fmt.Fprintf(&page, "# %s\n\n%s\n", words(3), words(40))
			for range 9 {
				fmt.Fprintf(&page, "\n## %s\n\n%s\n\n```sh\n%s\n```\n\n%s\n", words(4), words(120), words(12), words(120))
			}
			path := filepath.Join(dir, fmt.Sprintf("part-%02d", i%20), fmt.Sprintf("page-%04d.md", i))
			os.MkdirAll(filepath.Dir(path), 0o755)
			if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
				b.Fatal(err)
			}
		}
	}
	if file == "" {
		for range 200 {
			queries = append(queries, map[string]any{"query": words(2 + random.IntN(6))})
		}
		return dir, queries
	}
	text, err := os.ReadFile(file)
	if err != nil {
		b.Fatal(err)
	}
	for _, line := range strings.Split(string(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		q := map[string]any{"query": line}
		var object struct {
			Query   string
			Filters map[string]string
		}
		if json.Unmarshal([]byte(line), &object) == nil && object.Query != "" {
			q = map[string]any{"query": object.Query}
			for k, v := range object.Filters {
				q[k] = v
			}
		}
		queries = append(queries, q)
	}
	return dir, queries
}
