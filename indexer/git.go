package indexer

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// gitWait is the timeout for a git call. A call normally takes about 5 ms.
const gitWait = 2 * time.Second

// provenance records the commit and the time of a corpus.
type provenance struct {
	commit    *string
	indexedAt *string
}

// readProvenance asks git for the commit of dir. The time comes from
// SOURCE_DATE_EPOCH, or else from that commit. Without git, or outside a checkout,
// both may be nil. It returns fault "bad_option" if SOURCE_DATE_EPOCH is not a
// valid time.
func readProvenance(ctx context.Context, dir string) (provenance, error) {
	var p provenance
	var seconds int64
	if commit, at, ok := gitHead(ctx, dir); ok {
		p.commit, seconds = &commit, at
	}
	known := p.commit != nil
	if epoch := os.Getenv("SOURCE_DATE_EPOCH"); epoch != "" {
		n, err := strconv.ParseInt(epoch, 10, 64)
		if err != nil || n < 0 || n > maxEpoch {
			return p, fault.New("bad_option", fmt.Sprintf("SOURCE_DATE_EPOCH is %q, not seconds since 1970", epoch), "unset it, or set it to a whole number")
		}
		seconds, known = n, true
	}
	if known {
		at := time.Unix(seconds, 0).UTC().Format("2006-01-02T15:04:05.000Z")
		p.indexedAt = &at
	}
	return p, nil
}

// maxEpoch is the last second of the year 9999, the latest time that RFC 3339 can
// represent.
const maxEpoch = 253402300799

// gitHead returns the hash and the commit time of HEAD. A checkout's configuration may
// name programs to run, and a corpus may be untrusted. The git command in gitHead
// therefore runs no such program except to fetch objects that are missing from a
// partial clone, and all protocols for fetching are disabled.
func gitHead(ctx context.Context, dir string) (commit string, seconds int64, ok bool) {
	ctx, cancel := context.WithTimeout(ctx, gitWait)
	defer cancel()
	out, err := gitCommand(ctx, dir, "rev-list", "-1", "--format=%ct", "HEAD").Output()
	if err != nil {
		return "", 0, false
	}
	var hash string
	if n, _ := fmt.Sscanf(string(out), "commit %s\n%d", &hash, &seconds); n != 2 || seconds < 0 || seconds > maxEpoch {
		return "", 0, false
	}
	return hash, seconds, true
}

// gitCommand returns a git command in dir that runs no program from the checkout's configuration.
func gitCommand(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "core.sshCommand=false", "-c", "core.fsmonitor=false"}, args...)...)
	cmd.WaitDelay = gitWait / 4
	for _, v := range os.Environ() {
		// If deskhand runs in a git hook, GIT_ variables are set and may refer to a
		// checkout other than that of dir. The user's configuration does not.
		if !strings.HasPrefix(v, "GIT_") || strings.HasPrefix(v, "GIT_CONFIG_GLOBAL=") || strings.HasPrefix(v, "GIT_CONFIG_NOSYSTEM=") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=none", "GIT_NO_LAZY_FETCH=1", "GIT_TERMINAL_PROMPT=0")
	return cmd
}

// gitExcludes returns the files with exclude rules that git reads besides .gitignore, first
// those that take precedence: the checkout's and the user's. They need not exist. Without
// git, there are none.
func gitExcludes(ctx context.Context, dir string) (files []string) {
	ctx, cancel := context.WithTimeout(ctx, gitWait)
	defer cancel()
	own, err := gitCommand(ctx, dir, "rev-parse", "--git-path", "info/exclude").Output()
	if err != nil {
		return nil
	}
	if file := strings.TrimSuffix(string(own), "\n"); filepath.IsAbs(file) {
		files = append(files, file)
	} else {
		files = append(files, filepath.Join(dir, file))
	}
	users, err := gitCommand(ctx, dir, "config", "--type=path", "core.excludesFile").Output()
	if file := strings.TrimSuffix(string(users), "\n"); err == nil {
		if file != "" {
			files = append(files, file)
		}
		return files
	}
	settings := os.Getenv("XDG_CONFIG_HOME")
	if home, err := os.UserHomeDir(); settings == "" && err == nil {
		settings = filepath.Join(home, ".config")
	}
	return append(files, filepath.Join(settings, "git", "ignore"))
}
