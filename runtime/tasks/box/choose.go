package box

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Found describes whether a mode works on this system.
type Found struct {
	Mode  Mode   `json:"mode"`
	Works bool   `json:"works"`
	Why   string `json:"why"` // what the mode lacks, or why it does not work
}

// Find tries every mode and returns the results.
func Find(ctx context.Context) []Found {
	var all []Found
	for _, m := range []struct {
		mode Mode
		try  func(context.Context) (lacks string, err error)
	}{{Bwrap, tryBwrap}, {Landlock, tryLandlock}, {Seatbelt, trySeatbelt}, {Container, tryContainer}} {
		lacks, err := m.try(ctx)
		f := Found{Mode: m.mode, Works: err == nil, Why: lacks}
		if err != nil {
			f.Why = err.Error()
		}
		all = append(all, f)
	}
	return all
}

// automatic lists the modes that Auto tries. The first one that works is used.
var automatic = []Mode{Bwrap, Landlock, Seatbelt}

// Choose returns the mode to use for the requested mode. why explains which
// protection the mode lacks. For None, why explains why no other mode works.
// Fault: sandbox_unavailable if asked names a mode that does not work.
func Choose(ctx context.Context, asked Mode) (mode Mode, why string, err error) {
	switch asked {
	case None:
		return None, "it is disabled", nil
	case Auto, "":
		var reasons []string
		for _, m := range automatic {
			lacks, err := probe(ctx, m)
			if err == nil {
				return m, lacks, nil
			}
			reasons = append(reasons, fmt.Sprintf("%s: %v", m, err))
		}
		return None, strings.Join(reasons, "; "), nil
	}
	lacks, err := probe(ctx, asked)
	if err != nil {
		return "", "", fault.New(SandboxUnavailable, fmt.Sprintf("sandbox %s does not work here: %v", asked, err), "set tasks.sandbox to a mode that works").WithCase(SandboxNamed)
	}
	return asked, lacks, nil
}

func probe(ctx context.Context, m Mode) (lacks string, err error) {
	switch m {
	case Bwrap:
		return tryBwrap(ctx)
	case Landlock:
		return tryLandlock(ctx)
	case Seatbelt:
		return trySeatbelt(ctx)
	case Container:
		return tryContainer(ctx)
	}
	return "", fmt.Errorf("it is not one of %s", ModeNames())
}

// patience is the timeout for trying a mode.
const patience = 10 * time.Second

var bwrapTried struct {
	sync.Mutex
	path string
	done bool
	err  error
}

// tryBwrap runs bubblewrap once. An installed bubblewrap may not work, because
// some systems do not let users create namespaces.
func tryBwrap(ctx context.Context) (string, error) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return "", errors.New("bubblewrap is not installed")
	}
	t := &bwrapTried
	t.Lock()
	defer t.Unlock()
	if t.done && t.path == path {
		return "", t.err
	}
	line := append(bwrapBase(), "--unshare-net", "--", "true")
	t.path, t.done, t.err = path, true, runQuietly(ctx, path, line[1:]...)
	return "", t.err
}

func runQuietly(ctx context.Context, program string, args ...string) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	var problems strings.Builder // separate, because docker info prints more than its errors
	cmd.Stderr = &problems
	err := cmd.Run()
	if said := strings.TrimSpace(problems.String()); err != nil && said != "" {
		return errors.New(said)
	}
	return err
}

func tryLandlock(context.Context) (lacks string, err error) {
	switch v := landlockVersion(); {
	case runtime.GOOS != "linux":
		return "", errors.New("it requires Linux")
	case v == 0:
		return "", errors.New("this kernel does not support it, or it is disabled")
	case v < landlockTruncate:
		return "", fmt.Errorf("this kernel's Landlock (version %d) cannot prevent agents from truncating files; use Linux 6.2 or newer", v)
	case v < landlockTCP:
		return fmt.Sprintf("this kernel's Landlock (version %d) cannot close the network, or block signals and service sockets", v), nil
	case v < landlockScopes:
		return fmt.Sprintf("this kernel's Landlock (version %d) cannot block signals and service sockets", v), nil
	case v < landlockSockets:
		return fmt.Sprintf("this kernel's Landlock (version %d) cannot block service sockets, for example Docker's, and UDP", v), nil
	}
	return "", nil
}

func trySeatbelt(ctx context.Context) (string, error) {
	if runtime.GOOS != "darwin" {
		return "", errors.New("it requires macOS")
	}
	return "", runQuietly(ctx, "/usr/bin/sandbox-exec", "-p", "(version 1)(allow default)", "/usr/bin/true")
}

func tryContainer(ctx context.Context) (string, error) {
	_, err := findEngine(ctx, "")
	return "", err
}

// CanClose reports whether a mode can restrict the network.
func CanClose(mode Mode) bool {
	return mode != None && (mode != Landlock || landlockVersion() >= landlockTCP)
}
