package worktree

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"syscall"
	"unicode/utf8"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Limits for one read, in bytes of content.
const (
	defaultFileBytes = 64 << 10
	maxFileBytes     = 512 << 10
)

// Slice selects the range of a file to read. The zero value selects the first
// 64 KiB.
type Slice struct {
	// Start is an offset in bytes.
	Start int64
	// MaxBytes is the maximum size of the content. 0 means 64 KiB; more than
	// 512 KiB is blocked.
	MaxBytes int
	// StartLine and EndLine count from 1 and are inclusive. If either is set,
	// Start is ignored. If EndLine is 0, the range extends to the end of the
	// file.
	StartLine, EndLine int
}

// File is a range of a file in its current state.
type File struct {
	// Blocked is empty, OutsideWorkspace or SizeExceeded. If it is set, Content
	// is empty.
	Blocked, Detail string
	// Path is cleaned, and begins with the repository's name.
	Path string
	// Start is the offset of Content, and Total is the size of the file, both in bytes.
	Start, Total int64
	// Content ends at a character boundary, unless Binary is set.
	Content []byte
	// Binary reports whether Content contains a NUL or is not UTF-8.
	Binary bool
	// Truncated reports whether the file continues after Content.
	Truncated bool
}

// File reads a range of a file. It follows symbolic links within the attempt's
// folder, except into git's own files. If the start is after the end of the
// file, the content is empty. Faults: not_found, worktree_missing, and
// invalid_argument for a folder or a device.
func (t Tree) File(ctx context.Context, name string, s Slice) (File, error) {
	clean, repo, err := t.inside(name)
	if err != nil {
		return File{Path: name, Blocked: OutsideWorkspace, Detail: err.Error()}, nil
	}
	file := File{Path: quote(clean)}
	if s.MaxBytes <= 0 {
		s.MaxBytes = defaultFileBytes
	}
	if s.MaxBytes > maxFileBytes {
		file.Blocked, file.Detail = SizeExceeded, fmt.Sprintf("one call reads at most %d bytes", maxFileBytes)
		return file, nil
	}
	f, _, err := t.open(clean)
	switch {
	case errors.Is(err, errOutside):
		file.Blocked, file.Detail = OutsideWorkspace, err.Error()
		return file, nil
	case errors.Is(err, fs.ErrNotExist):
		if _, gone := os.Lstat(t.path(t.Repos[repo])); gone != nil && t.Stored {
			if f, err = t.storedFile(ctx, clean, repo); err != nil {
				return File{}, err
			}
			break
		} else if gone != nil {
			return File{}, missing(t.Repos[repo])
		}
		return File{}, fault.New(NotFound, fmt.Sprintf("there is no file %s", quote(clean)), "name a file of the attempt").WithCase(NoSuchFile)
	case err != nil:
		return File{}, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", quote(clean), err)
	}
	if !info.Mode().IsRegular() {
		return File{}, fault.New(InvalidArgument, fmt.Sprintf("%s is not a file", quote(clean)), "name a file")
	}
	file.Total = info.Size()
	if s.StartLine > 0 || s.EndLine > 0 {
		err = file.lines(ctx, f, max(s.StartLine, 1), s.EndLine, s.MaxBytes)
	} else {
		err = file.bytes(f, max(s.Start, 0), s.MaxBytes)
	}
	if err != nil {
		return File{}, fmt.Errorf("read %s: %w", quote(clean), err)
	}
	file.judge()
	return file, nil
}

// bytes reads n bytes from start.
func (file *File) bytes(f *os.File, start int64, n int) error {
	file.Start = start
	content, err := io.ReadAll(io.NewSectionReader(f, start, int64(n)))
	file.Content = content
	file.Truncated = start+int64(len(content)) < file.Total
	return err
}

// lines reads the lines from first to last, but at most n bytes.
func (file *File) lines(ctx context.Context, f *os.File, first, last, n int) error {
	buf := make([]byte, 64<<10)
	line, offset := 1, int64(0)
	file.Start = -1
	for ctx.Err() == nil {
		got, err := f.Read(buf)
		for part := buf[:got]; len(part) > 0; {
			end := bytes.IndexByte(part, '\n') + 1
			whole := end > 0
			if !whole {
				end = len(part)
			}
			if line >= first {
				if file.Start < 0 {
					file.Start = offset
				}
				take := min(end, n-len(file.Content))
				file.Content = append(file.Content, part[:take]...)
				if take < end {
					file.Truncated = true
					return nil
				}
			}
			offset += int64(end)
			part = part[end:]
			if whole {
				line++
			}
			if last > 0 && line > last {
				file.Start = max(file.Start, 0)
				return nil
			}
		}
		if err == io.EOF {
			if file.Start < 0 {
				file.Start = offset
			}
			return nil
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// judge sets Binary, and makes truncated text end at a whole character.
func (file *File) judge() {
	c := file.Content
	if file.Truncated {
		for cut := 0; cut < utf8.UTFMax && cut <= len(c); cut++ {
			if r, size := utf8.DecodeLastRune(c[:len(c)-cut]); r != utf8.RuneError || size != 1 {
				if utf8.Valid(c[:len(c)-cut]) {
					c = c[:len(c)-cut]
				}
				break
			}
		}
	}
	file.Binary = bytes.IndexByte(c, 0) >= 0 || !utf8.Valid(c)
	if !file.Binary {
		file.Content = c
	}
}

var errOutside = errors.New("the path leads outside the attempt's folder")

// maxLinks is the maximum number of symbolic links to follow in one path, as on Linux.
const maxLinks = 40

// open opens a clean path folder by folder, starting at the attempt's folder.
// No link can lead outside or into git's own files, even if it is created in
// the meantime. os.Root keeps the path inside the folder. The file that was
// checked is compared with the file that was opened. real is the path without
// links.
func (t Tree) open(clean string) (f *os.File, real string, err error) {
	if info, err := os.Lstat(t.Dir); err != nil || !info.IsDir() {
		return nil, "", fs.ErrNotExist
	}
	top, err := os.OpenRoot(t.Dir)
	if err != nil {
		return nil, "", fmt.Errorf("open the attempt's folder: %w", err)
	}
	defer top.Close()
	for range maxLinks {
		f, link, err := t.walk(top, strings.Split(clean, "/"))
		if err != nil || f != nil {
			return f, clean, err
		}
		if clean, _, err = t.inside(link); err != nil {
			return nil, "", fmt.Errorf("%w: it contains a symbolic link that leads outside", errOutside)
		}
	}
	return nil, "", fmt.Errorf("%w: it has too many symbolic links", errOutside)
}

// withoutLinks resolves the links in a clean path, except in its last element. If the
// path cannot be opened, it returns clean. The error is errOutside.
func (t Tree) withoutLinks(clean string) (string, error) {
	folder, last := path.Split(clean)
	if folder == "" {
		return clean, nil
	}
	f, real, err := t.open(strings.TrimSuffix(folder, "/"))
	switch {
	case errors.Is(err, errOutside):
		return "", err
	case err != nil:
		return clean, nil
	}
	f.Close()
	return real + "/" + last, nil
}

// walk opens the file at the path formed by elements. If it meets a symbolic
// link, it instead returns the path with this first link resolved.
func (t Tree) walk(top *os.Root, elements []string) (*os.File, string, error) {
	dir := top
	defer func() {
		if dir != top {
			dir.Close()
		}
	}()
	for i, name := range elements {
		info, err := dir.Lstat(name)
		if err != nil {
			return nil, "", notFound(err)
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if i == 0 {
				return nil, "", fmt.Errorf("%w: its repository is a symbolic link", errOutside)
			}
			target, err := dir.Readlink(name)
			if err != nil {
				return nil, "", notFound(err)
			}
			target = filepath.ToSlash(target)
			if path.IsAbs(target) || strings.HasPrefix(target, `"`) {
				return nil, "", fmt.Errorf("%w: it contains a symbolic link that leads outside", errOutside)
			}
			parts := append(append([]string{}, elements[:i]...), target)
			return nil, strings.Join(append(parts, elements[i+1:]...), "/"), nil
		}
		if i == len(elements)-1 {
			if !info.Mode().IsRegular() && !info.IsDir() {
				return nil, "", fault.New(InvalidArgument, fmt.Sprintf("%s is not a file", quote(strings.Join(elements, "/"))), "name a file")
			}
			f, err := dir.OpenFile(name, openFlags, 0)
			if err != nil {
				return nil, "", notFound(err)
			}
			if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
				f.Close()
				return nil, "", fmt.Errorf("%w: it changed while it was opened", errOutside)
			}
			return f, "", nil
		}
		if !info.IsDir() {
			return nil, "", fs.ErrNotExist
		}
		next, err := dir.OpenRoot(name)
		if err != nil {
			return nil, "", notFound(err)
		}
		if dir != top {
			dir.Close()
		}
		dir = next
		if now, err := dir.Stat("."); err != nil || !os.SameFile(info, now) {
			return nil, "", fmt.Errorf("%w: it changed while it was opened", errOutside)
		}
	}
	return nil, "", fs.ErrNotExist
}

// notFound converts an error about a path to fs.ErrNotExist, or to the reason
// why the file cannot be read.
func notFound(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist) || isNotFolder(err):
		return fs.ErrNotExist
	case errors.Is(err, fs.ErrPermission):
		return fault.New(InvalidArgument, fmt.Sprintf("it cannot be read: %v", err), "name a file that can be read")
	case !errors.As(err, new(syscall.Errno)): // an error of os.Root itself: a link has replaced the file
		return fmt.Errorf("%w: it changed while it was opened", errOutside)
	}
	return err
}
