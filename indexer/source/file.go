package source

import (
	"context"
	"fmt"
	"io"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// isDocument reports whether an address is a single file with docs, on this disk or
// on the web.
func isDocument(address string) bool {
	if u, err := url.Parse(address); err == nil && (u.Scheme == "https" || u.Scheme == "http") {
		return u.Fragment == "" && (IsPage(u.Path) || formats.Wants(u.Path))
	}
	info, err := os.Stat(address)
	return err == nil && info.Mode().IsRegular() && (IsPage(address) || formats.Wants(address))
}

// maxDocument is the maximum size of a docs file that is copied or downloaded.
const maxDocument = 64 << 20

// openDocument copies or downloads a single file.
func openDocument(ctx context.Context, address string, o Options) (_ *Source, err error) {
	s := &Source{Address: WithoutPassword(address), whole: true}
	if err = s.copied(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	name := filepath.Base(address)
	if err := os.Mkdir(s.Root, 0o700); err != nil {
		return nil, fmt.Errorf("create a folder for %s: %w", s.Address, err)
	}
	if strings.Contains(address, "://") {
		if u, err := url.Parse(address); err == nil {
			name = path.Base(u.Path)
		}
		err = download(ctx, address, filepath.Join(s.Root, name), maxDocument)
	} else {
		if s.Address, err = filepath.Abs(address); err == nil {
			err = copyFile(address, filepath.Join(s.Root, name))
		}
	}
	if err != nil {
		return nil, err
	}
	if s.Digest, err = digestOf(filepath.Join(s.Root, name)); err != nil {
		return nil, err
	}
	s.Name = strings.TrimSuffix(name, path.Ext(name))
	if m := namedVersion(s.Name); m[1] != "" {
		s.Name, s.Version = m[0], m[1]
	}
	return s, nil
}

func copyFile(from, to string) error {
	in, err := os.Open(from)
	if err != nil {
		return fmt.Errorf("read %s: %w", from, err)
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	n, err := io.Copy(out, io.LimitReader(in, maxDocument+1))
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("copy %s: %w", from, err)
	}
	if n > maxDocument {
		return fault.New("source_failed", fmt.Sprintf("%s is larger than %d MiB", from, maxDocument>>20), "split it into several files and pass their folder")
	}
	return nil
}
