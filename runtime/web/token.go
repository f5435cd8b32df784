package web

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// minToken is the shortest token that is believed, in characters: half of what
// we write, 26 characters of 5 bits each.
const minToken = 16

// Token returns the token of this installation, kept in the file "token" of
// stateDir, and makes both when they are missing. Any number of processes may
// call it at once and get the same token. A file that others can read is
// closed to them, with a warning to log. A file that holds no token is a fault,
// code "bad_token".
func Token(stateDir string, log *slog.Logger) (string, error) {
	path := filepath.Join(stateDir, "token")
	token, err := readToken(path, log)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return "", fmt.Errorf("make state folder: %w", err)
	}
	if err := createToken(stateDir, path); err != nil {
		return "", err
	}
	return readToken(path, log)
}

// createToken writes a whole token beside path and links it there, so that
// nobody reads half of it. Whoever links first wins; the others find the
// winner's.
func createToken(dir, path string) error {
	f, err := os.CreateTemp(dir, ".token-*") // mode 0600
	if err != nil {
		return fmt.Errorf("create token: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(rand.Text() + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write token: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("place token: %w", err)
	}
	return nil
}

func readToken(path string, log *slog.Logger) (string, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	if !info.Mode().IsRegular() {
		return "", fault.New("bad_token", path+" is not a file", "remove it, and a new token is made")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 { // there, access is not in the mode
		log.Warn("token file was open to others and is now closed; make a new one if they are not trusted", "path", path, "mode", info.Mode().Perm().String())
		if err := os.Chmod(path, 0o600); err != nil {
			return "", fmt.Errorf("close token file: %w", err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", fault.New("bad_token", path+" holds no token", "remove it, and a new token is made")
	}
	return token, nil
}
