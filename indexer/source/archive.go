package source

import (
	"archive/tar"
	"archive/zip"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// archiveEndings lists the extensions of archives.
var archiveEndings = []string{".tar.gz", ".tgz", ".tar", ".zip"}

// Limits on an archive. The largest documentation repositories have about 200 MB of
// text in 40,000 files.
const (
	maxDownload = 512 << 20
	maxUnpacked = 1 << 30
	maxEntries  = 200_000
	maxEntry    = 64 << 20
	// maxRatio is the maximum compression ratio of an archive. It is checked only after
	// more than ratioFrom bytes have been unpacked. Text is typically compressed to
	// between a fifth and a tenth of its size, and a zip bomb to a thousandth.
	maxRatio  = 100
	ratioFrom = 64 << 20
	// downloadWait is the timeout for a complete download.
	downloadWait = 20 * time.Minute
)

func isArchive(address string) bool {
	at, _, _ := strings.Cut(address, "?")
	at = strings.ToLower(at)
	if !slices.ContainsFunc(archiveEndings, func(e string) bool { return strings.HasSuffix(at, e) }) {
		return false
	}
	return strings.HasPrefix(at, "https://") || strings.HasPrefix(at, "http://") || exists(address)
}

// openArchive unpacks an archive. If all files are in a single top-level folder,
// that folder is the source. Archives from code hosting services have such a
// folder.
func openArchive(ctx context.Context, address string, o Options) (_ *Source, err error) {
	s := &Source{Name: nameOf(address), Address: WithoutPassword(address)}
	if err = s.copied(); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	file := address
	if strings.Contains(address, "://") {
		file = filepath.Join(s.temp.Path, "archive")
		if err := download(ctx, address, file, maxDownload); err != nil {
			return nil, err
		}
		if u, err := url.Parse(address); err == nil {
			s.Name = nameOf(u.Path)
		}
	} else if s.Address, err = filepath.Abs(address); err != nil {
		return nil, fmt.Errorf("find %s: %w", address, err)
	}
	if s.Digest, err = digestOf(file); err != nil {
		return nil, err
	}
	if s.LeftOut, err = unpack(ctx, file, s.Root, s.Address); err != nil {
		return nil, err
	}
	if m := namedVersion(s.Name); m[1] != "" {
		s.Name, s.Version = m[0], m[1]
	}
	if entries, err := os.ReadDir(s.Root); err == nil && len(entries) == 1 && entries[0].IsDir() {
		s.Root = filepath.Join(s.Root, entries[0].Name())
	}
	return s, nil
}

// namedVersion splits "cobra-1.9.1" into name and version. If there is no version,
// it is empty.
func namedVersion(name string) [2]string {
	if i := strings.LastIndexAny(name, "-@_"); i > 0 {
		if v := versionOf(name[i+1:]); v != "" {
			return [2]string{name[:i], v}
		}
	}
	return [2]string{name, ""}
}

func digestOf(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("read archive: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("read archive: %w", err)
	}
	return "sha256:" + hex.EncodeToString(h.Sum(nil)), nil
}

// download downloads a file. It returns an error if the file has more than most bytes.
func download(ctx context.Context, address, to string, most int64) error {
	ctx, cancel := context.WithTimeout(ctx, downloadWait)
	defer cancel()
	u, err := url.Parse(address)
	if err != nil {
		return fault.New("bad_source", fmt.Sprintf("'%s' is not a valid address", WithoutPassword(address)), "write it, for example, as https://example.com/docs.tar.gz")
	}
	if err := checkHTTPS(u); err != nil {
		return err
	}
	client := guardedClient(u)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fault.New("bad_source", fmt.Sprintf("'%s' is not a valid address", WithoutPassword(address)), "write it, for example, as https://example.com/docs.tar.gz")
	}
	failed := func(why string) error {
		return fault.New("source_failed", fmt.Sprintf("cannot download %s: %s", WithoutPassword(address), why), "check the address, or download the file yourself and pass its path")
	}
	response, err := client.Do(request)
	if err != nil {
		return failed(err.Error())
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return failed("the server returned " + response.Status)
	}
	f, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("download: %w", err)
	}
	n, err := io.Copy(f, io.LimitReader(response.Body, most+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	switch {
	case err != nil:
		return failed(err.Error())
	case n > most:
		return failed(fmt.Sprintf("it is larger than %d MiB", most>>20))
	case response.ContentLength >= 0 && n != response.ContentLength:
		return failed("the download ended early")
	}
	return nil
}

// unpacker writes the files in an archive to a folder.
type unpacker struct {
	root    string
	packed  int64 // size of the archive in bytes
	written int64
	entries int             // including the folders that are created
	folders map[string]bool // that were created
	left    leftOut
}

// unpack writes the files in an archive below root. It skips links, devices and paths
// that lead out of root, and counts docs whose names no file can have. It returns an error
// if the archive exceeds a limit.
func unpack(ctx context.Context, file, root, shown string) ([]formats.Left, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	if err := os.Mkdir(root, 0o700); err != nil {
		return nil, fmt.Errorf("unpack: %w", err)
	}
	u := &unpacker{root: root, packed: info.Size(), folders: map[string]bool{}, left: leftOut{}}
	f, err := os.Open(file)
	if err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	defer f.Close()
	var magic [4]byte
	_, _ = io.ReadFull(f, magic[:]) // if the file is too short, the archive's reader reports that
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, fmt.Errorf("read archive: %w", err)
	}
	switch {
	case string(magic[:2]) == "PK":
		err = u.zip(ctx, f, info.Size())
	case magic[0] == 0x1f && magic[1] == 0x8b:
		var z *gzip.Reader
		if z, err = gzip.NewReader(f); err == nil {
			err = u.tar(ctx, z)
		}
	default:
		err = u.tar(ctx, f)
	}
	if err != nil && fault.Of(err) == nil && ctx.Err() == nil {
		err = fault.New("source_failed", fmt.Sprintf("cannot unpack %s: %v", shown, err), "create the archive again, or unpack it yourself and pass the folder")
	}
	return u.left.list(), err
}

func (u *unpacker) zip(ctx context.Context, r io.ReaderAt, size int64) error {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return err
	}
	for _, f := range z.File {
		if err := cmp.Or(ctx.Err(), u.count()); err != nil {
			return err
		}
		if !f.Mode().IsRegular() {
			continue
		}
		content, err := f.Open()
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		err = u.file(f.Name, content)
		content.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

func (u *unpacker) tar(ctx context.Context, r io.Reader) error {
	// Skipped entries count as well, because an archive bomb may consist of such
	// entries.
	t := tar.NewReader(&counted{r: r, u: u})
	for {
		h, err := t.Next()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := cmp.Or(ctx.Err(), u.count()); err != nil {
			return err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		if err := u.file(h.Name, t); err != nil {
			return err
		}
	}
}

// counted limits the uncompressed size of a stream.
type counted struct {
	r    io.Reader
	u    *unpacker
	read int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.read += int64(n)
	if c.u.tooMuch(c.read) {
		return n, c.u.bomb()
	}
	return n, err
}

func (u *unpacker) tooMuch(n int64) bool {
	return n > maxUnpacked || n > ratioFrom && n/maxRatio > u.packed
}

func (u *unpacker) bomb() error {
	return fault.New("source_failed", fmt.Sprintf("the unpacked archive is too large: more than %d MiB, or more than %d times its size", maxUnpacked>>20, maxRatio),
		"unpack it yourself and pass the folder with the docs")
}

func (u *unpacker) count() error {
	if u.entries++; u.entries > maxEntries {
		return fmt.Errorf("it has more than %d files and folders", maxEntries)
	}
	return nil
}

// file writes an entry. It skips a path that is outside root, a name that no file can have,
// and a file that is too large to be a page.
func (u *unpacker) file(name string, content io.Reader) error {
	name = path.Clean(strings.ReplaceAll(name, `\`, "/"))
	if !fs.ValidPath(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return nil // the path is outside root
	}
	if err := checkName(name); err != nil {
		u.leave(name, err)
		return nil
	}
	for dir := path.Dir(name); dir != "." && !u.folders[dir]; dir = path.Dir(dir) {
		if err := u.count(); err != nil {
			return err
		}
		u.folders[dir] = true
	}
	to := filepath.Join(u.root, filepath.FromSlash(name))
	err := os.MkdirAll(filepath.Dir(to), 0o700)
	var f *os.File
	if err == nil {
		f, err = os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	}
	if slices.ContainsFunc(badNames, func(e error) bool { return errors.Is(err, e) }) {
		u.leave(name, errBadName)
		return nil
	}
	if err != nil {
		return err
	}
	n, err := io.Copy(f, io.LimitReader(content, maxEntry+1))
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if u.written += n; u.tooMuch(u.written) {
		return u.bomb()
	}
	if n > maxEntry {
		return os.Remove(to) // it is too large to be a page
	}
	return nil
}

// Limits on names, which hold on all systems, so that an archive always gives the same
// library. File systems allow at most 255 bytes in a part.
const (
	maxNamePart = 255
	maxName     = 800
)

var (
	errLongName = errors.New("its name is too long")
	errBadName  = errors.New("its name cannot be that of a file")
	// badNames are the system's errors for a name that no file can have, for example
	// because a folder of the archive has it.
	badNames = []error{syscall.ENAMETOOLONG, syscall.ENOTDIR, syscall.EISDIR, syscall.EINVAL}
)

// checkName returns the reason why no file can have a name.
func checkName(name string) error {
	switch {
	case len(name) > maxName || slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > maxNamePart }):
		return errLongName
	case strings.Contains(name, "\x00"):
		return errBadName
	}
	return nil
}

// leave counts a file that is not unpacked, if it may be docs.
func (u *unpacker) leave(name string, why error) {
	if IsPage(name) || formats.Wants(name) {
		u.left.add(strings.ToLower(path.Ext(name)), why.Error(), 1)
	}
}
