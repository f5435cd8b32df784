package gateway

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"

	"filippo.io/age"

	"github.com/deskhand/deskhand/runtime/fault"
)

// keyFile is the file in the state folder with the key that encrypts the store's
// secrets. The store alone, for example in a database backup, reveals none of them.
const keyFile = "credentials.key"

// sealer encrypts with an installation's key.
type sealer struct{ key *age.X25519Identity }

// newSealer reads the key from a state folder and creates it if there is none.
// Several processes may do so concurrently. If the file contains no key, the error
// is a fault with code "bad_key".
func newSealer(dir string, log *slog.Logger) (*sealer, error) {
	path := filepath.Join(dir, keyFile)
	key, err := readKey(path, log)
	if !errors.Is(err, fs.ErrNotExist) {
		return key, err
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("create state folder: %w", err)
	}
	if err := createKey(dir, path); err != nil {
		return nil, err
	}
	return readKey(path, log)
}

// createKey writes a whole key to a temporary file and links it to path. The first
// process to link wins, and no process reads a partial key.
func createKey(dir, path string) error {
	key, err := age.GenerateX25519Identity()
	if err != nil {
		return fmt.Errorf("generate the credentials' key: %w", err)
	}
	f, err := os.CreateTemp(dir, ".key-*") // mode 0600
	if err != nil {
		return fmt.Errorf("create the credentials' key: %w", err)
	}
	defer os.Remove(f.Name())
	_, err = f.WriteString(key.String() + "\n")
	if err := errors.Join(err, f.Sync(), f.Close()); err != nil {
		return fmt.Errorf("write the credentials' key: %w", err)
	}
	if err := os.Link(f.Name(), path); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("place the credentials' key: %w", err)
	}
	return nil
}

func readKey(path string, log *slog.Logger) (*sealer, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("read the credentials' key: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fault.New("bad_key", path+" is not a regular file", "remove it and connect again")
	}
	if runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 { // on Windows, the mode does not show access
		log.Warn("other users could read the credentials' key; it is now private. Disconnect and connect again if you do not trust them", "path", path)
		if err := os.Chmod(path, 0o600); err != nil {
			return nil, fmt.Errorf("restrict access to the credentials' key: %w", err)
		}
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the credentials' key: %w", err)
	}
	key, err := age.ParseX25519Identity(string(bytes.TrimSpace(data)))
	if err != nil { // the error's text may show the key
		return nil, fault.New("bad_key", path+" does not contain a key", "restore the file from a backup, or remove it and connect again")
	}
	return &sealer{key}, nil
}

// seal encrypts a value's JSON.
func (s *sealer) seal(v any) (string, error) {
	plain, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("encode secret: %w", err)
	}
	var sealed bytes.Buffer
	w, err := age.Encrypt(&sealed, s.key.Recipient())
	if err == nil {
		_, err = w.Write(plain)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		return "", fmt.Errorf("encrypt secret: %w", err)
	}
	return base64.StdEncoding.EncodeToString(sealed.Bytes()), nil
}

// open decrypts into v. If the value was sealed with another key, the error is a
// fault with code "bad_key".
func (s *sealer) open(sealed string, v any) error {
	raw, err := base64.StdEncoding.DecodeString(sealed)
	if err != nil {
		return fmt.Errorf("decode secret: %w", err)
	}
	r, err := age.Decrypt(bytes.NewReader(raw), s.key)
	if err != nil {
		return fault.New("bad_key", "the credentials in the store were encrypted with another key", "restore "+keyFile+" in the state folder, or disconnect and connect again")
	}
	plain, err := io.ReadAll(r)
	if err != nil {
		return fmt.Errorf("decrypt secret: %w", err)
	}
	return json.Unmarshal(plain, v)
}
