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
	"syscall"

	"github.com/deskhand/deskhand/runtime/fault"
)

// minSecret is the minimum length of a secret in characters. Generated secrets
// have 26 characters with 5 bits each.
const minSecret = 16

// CheckSecret refuses a secret that is easy to guess or cannot be sent in a
// header. The fault code is "bad_secret". name is the secret's display name.
func CheckSecret(name, secret string) error {
	switch {
	case len(secret) < minSecret:
		return fault.New("bad_secret", fmt.Sprintf("%s has only %d characters, so it can be guessed", name, len(secret)),
			fmt.Sprintf("use %d characters or more, for example from openssl rand -hex 32", minSecret))
	case unprintable(secret):
		return fault.New("bad_secret", name+" contains white space or characters that a header cannot carry", "use letters and digits, for example from openssl rand -hex 32")
	}
	return nil
}

func unprintable(secret string) bool {
	return strings.ContainsFunc(secret, func(r rune) bool { return r <= ' ' || r > '~' })
}

// checkSecrets refuses options that would give unintended access to people or
// programs.
func (o *Options) checkSecrets() error {
	switch {
	case o.People.Key == "" && o.Shell != nil:
		return fault.New("token_required", "the pages for people require a key to sign in with", "set DESKHAND_PERSON_KEY")
	case o.People.Key != "" && o.People.Key == o.Token:
		return fault.New("bad_secret", "the person's key equals the agents' token, so agents could answer as a person", "set DESKHAND_PERSON_KEY to another value, or unset it")
	}
	for name, secret := range map[string]string{"the token": o.Token, "the person's key": o.People.Key} {
		if secret != "" {
			if err := CheckSecret(name, secret); err != nil {
				return err
			}
		}
	}
	return nil
}

// Token returns the token of this installation's agents from the file "token"
// in stateDir. It creates the folder and the file if they are missing. Any
// number of processes may call it concurrently, and all get the same token. If
// other users can read the file, Token makes it private and logs a warning. If
// the file contains no token, the error is a fault with code "bad_token".
func Token(stateDir string, log *slog.Logger) (string, error) {
	return secretOf(stateDir, "token", log)
}

// KeyFile is the name of the file, in the state folder, that contains the
// person's key.
const KeyFile = "person.key"

// PersonKey is like [Token], for the key of the installation's owner.
func PersonKey(stateDir string, log *slog.Logger) (string, error) {
	return secretOf(stateDir, KeyFile, log)
}

func secretOf(stateDir, name string, log *slog.Logger) (string, error) {
	path := filepath.Join(stateDir, name)
	token, err := readToken(path, log)
	if !errors.Is(err, fs.ErrNotExist) {
		return token, err
	}
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return "", fmt.Errorf("create state folder: %w", err)
	}
	if err := createToken(stateDir, path); err != nil {
		return "", err
	}
	return readToken(path, log)
}

// createToken writes the whole token to a temporary file and links it to path,
// so that no process reads a partial token. The first process that creates the
// link wins. The others use the winner's token.
func createToken(dir, path string) error {
	f, err := os.CreateTemp(dir, ".token-*") // mode 0600
	if at := new(fs.PathError); errors.As(err, &at) && (errors.Is(err, syscall.EROFS) || errors.Is(err, fs.ErrPermission)) {
		return fault.New("state_read_only", fmt.Sprintf("the state folder %s is read-only (%v) and contains no token yet", dir, at.Err),
			"make it writable for this user, or choose another with --state")
	}
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
		return "", fault.New("bad_token", path+" is not a file", "remove it; a new token is then created")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 { // on Windows, the mode does not show who has access
		log.Warn("other users could read the token file; it is now private. Create a new token if you do not trust them", "path", path, "mode", info.Mode().Perm().String())
		if err := os.Chmod(path, 0o600); err != nil {
			return "", fmt.Errorf("restrict access to token file: %w", err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("read token: %w", err)
	}
	token := strings.TrimSpace(string(data))
	if len(token) < minSecret || unprintable(token) {
		return "", fault.New("bad_token", path+" contains no secret of at least 16 characters", "remove it; a new one is then created")
	}
	return token, nil
}
