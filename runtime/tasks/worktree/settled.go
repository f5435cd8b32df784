package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// settledFor is the maximum time that an answer is kept. Within it, git's
// answer could change without a change in the files of [ground]: if the user's
// own configuration includes a file, or if the system's configuration is in an
// unusual place. Both may run programs anyway. Tests change it.
var settledFor = 2 * time.Second

// maxSettled is the maximum number of answers to keep, and maxGround the size
// of a file in bytes up to which it is compared.
const (
	maxSettled = 500
	maxGround  = 256 << 10
)

// settledAnswers holds what git answered, by folder and arguments.
var settledAnswers struct {
	sync.Mutex
	m map[string]settledAnswer
}

type settledAnswer struct {
	ground string
	out    []byte
	at     time.Time
}

// settled is like git, for a command whose output depends only on where the
// repository's files are and on its configuration. It keeps the output while
// these files are unchanged. Their content is compared each time, because an
// agent can write them: a stale configuration would let git run the agent's
// programs.
func settled(ctx context.Context, dir string, args ...string) ([]byte, error) {
	before, ok := ground(dir)
	if !ok {
		return git(ctx, dir, args...)
	}
	key := dir + "\x00" + strings.Join(args, "\x00")
	settledAnswers.Lock()
	known := settledAnswers.m[key]
	settledAnswers.Unlock()
	if known.ground == before && time.Since(known.at) < settledFor {
		return bytes.Clone(known.out), nil
	}
	out, err := git(ctx, dir, args...)
	if err != nil {
		return out, err
	}
	if after, ok := ground(dir); ok && after == before {
		settledAnswers.Lock()
		if len(settledAnswers.m) >= maxSettled || settledAnswers.m == nil {
			settledAnswers.m = map[string]settledAnswer{}
		}
		settledAnswers.m[key] = settledAnswer{before, bytes.Clone(out), time.Now()}
		settledAnswers.Unlock()
	}
	return out, nil
}

// ground returns the names and contents of the files that decide where git
// finds the repository of dir, which is its top folder, and its configuration.
// ok is false if other files may decide too.
func ground(dir string) (_ string, ok bool) {
	var all strings.Builder
	ok = true
	read := func(path string) string {
		content, err := readGround(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			ok = false
		}
		fmt.Fprintf(&all, "%d %s %t %d %s", len(path), path, err == nil, len(content), content)
		return string(content)
	}
	own := filepath.Join(dir, ".git")
	info, err := os.Stat(own)
	switch {
	case err != nil:
		return "", false
	case !info.IsDir():
		to, isLink := strings.CutPrefix(read(own), "gitdir: ")
		if !isLink {
			return "", false
		}
		own = below(dir, strings.TrimRight(to, "\r\n"))
	}
	common := own
	if to := read(filepath.Join(own, "commondir")); to != "" {
		common = below(own, strings.TrimRight(to, "\r\n"))
	}
	read(filepath.Join(own, "HEAD")) // a conditional include can depend on the branch
	for _, path := range []string{filepath.Join(common, "config"), filepath.Join(own, "config.worktree")} {
		if strings.Contains(strings.ToLower(read(path)), "include") {
			return "", false // the agent can write the included file
		}
	}
	for _, path := range usersConfiguration() {
		read(path)
	}
	fmt.Fprintf(&all, "%q %q %q", os.Getenv("GIT_CONFIG_GLOBAL"), os.Getenv("GIT_CONFIG_SYSTEM"), os.Getenv("GIT_CONFIG_NOSYSTEM"))
	return all.String(), ok
}

func below(dir, path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(dir, path)
}

// readGround reads a small regular file.
func readGround(path string) ([]byte, error) {
	f, err := os.OpenFile(path, readFlags, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() || info.Size() > maxGround {
		return nil, errors.Join(err, fmt.Errorf("%s is not a small file", path))
	}
	return io.ReadAll(io.LimitReader(f, maxGround))
}

// usersConfiguration returns where git looks for the configuration of the user
// and of the system, whether the files exist or not.
func usersConfiguration() []string {
	home, _ := os.UserHomeDir()
	xdg := os.Getenv("XDG_CONFIG_HOME")
	if xdg == "" {
		xdg = filepath.Join(home, ".config")
	}
	paths := []string{filepath.Join(home, ".gitconfig"), filepath.Join(xdg, "git", "config"), "/etc/gitconfig"}
	for _, name := range []string{"GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"} {
		if path := os.Getenv(name); path != "" && path != os.DevNull {
			paths = append(paths, path)
		}
	}
	return paths
}
