package main

import (
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// initialized matches a line about a package whose initialization allocates memory.
var initialized = regexp.MustCompile(`(?m)^init (\S+) @.* (\d+) bytes`)

// allocatedAtStart returns how many bytes Go allocates for the packages whose path begins
// with prefix before a command begins.
func allocatedAtStart(t *testing.T, prefix string, args ...string) (sum int) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "deskhand", args...)
	cmd.Env = append(cmd.Environ(), "GODEBUG=inittrace=1")
	cmd.Stdin = strings.NewReader(`{"prompt":"say hi"}` + "\n")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("deskhand %v: %v\n%s", args, err, out)
	}
	for _, line := range initialized.FindAllStringSubmatch(string(out), -1) {
		if strings.HasPrefix(line[1], prefix) {
			n, err := strconv.Atoi(line[2])
			if err != nil {
				t.Fatal(err)
			}
			sum += n
		}
	}
	return sum
}

// Every process pays for what packages prepare at its start: each command with time, and
// each runner with memory as long as it runs.
func TestPackagesPrepareLittleAtTheStart(t *testing.T) {
	const most = 1_500_000 // 1.2 MB with the tests' own packages; 3 MB while patterns were compiled at the start
	if got := allocatedAtStart(t, "github.com/deskhand/deskhand/", "version"); got == 0 || got > most {
		t.Errorf("our packages allocate %d bytes before a command begins, want at most %d", got, most)
	}
}

// Many scripted agents may wait at the same time.
func TestTheScriptedAgentBeginsBeforeOtherPackages(t *testing.T) {
	all, agent := allocatedAtStart(t, "", "version"), allocatedAtStart(t, "", "tasks", "fake-agent")
	if agent > all*6/10 { // half; a little more since a command allocates less itself
		t.Errorf("before the agent begins, packages allocate %d bytes, want at most six tenths of a command's %d", agent, all)
	}
}
