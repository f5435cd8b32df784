// Package source copies a library's docs to a folder. The source can be a folder or
// file, a git repository at a revision, a local or remote zip or tar archive, an
// llms.txt with the pages that it links to, or the pages in a site's sitemap.
//
// Sources are untrusted. An address cannot contain git options. Hooks, filters and
// submodules of a repository are not used, and Git LFS fetches nothing. Links in
// archives are skipped. The sizes of archives, downloads and pages are limited. A
// server cannot redirect to an address on this machine or in its network.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/indexer/scratch"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Options configure Open. The zero value is ready to use.
type Options struct {
	// Path is the docs folder in the source, with forward slashes. If Path is empty,
	// the docs folder is the first of Folders that contains docs, or else the whole
	// source. If the source is a local folder, that folder is used.
	Path string
	// AllowFile permits file:// addresses.
	AllowFile bool
	// Known is the revision that the caller already has. If a repository is still at
	// this revision, Open fetches nothing and returns ErrUnchanged. If Known is empty,
	// it is ignored.
	Known string
	// Cache is the folder that stores a site's pages between visits. If it is empty,
	// the folder deskhand in the user's cache folder is used.
	Cache string
	// If Progress is not nil, it is called before each page of a site is downloaded,
	// and at the end. done and total are numbers of pages.
	Progress func(done, total int)

	clock clock // replaced in tests; nil means the system clock
}

func (o Options) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}

// ErrUnchanged is returned if a repository is still at the revision
// Options.Known.
var ErrUnchanged = errors.New("unchanged")

// Folders lists the folders of a repository that may contain docs, in search order.
var Folders = []string{"docs", "doc", "documentation", "content", "site/docs", "website/docs"}

// Source is a folder with the docs of a library. If it is a copy, Close removes it.
type Source struct {
	// Dir is the docs folder. Root is the folder of the whole source. If nothing
	// besides the docs folder was copied, Root equals Dir.
	Dir, Root string
	// Path is the path of Dir relative to Root, with forward slashes. It is "." if
	// they are the same.
	Path string
	// Name and Version are defaults for the library's name and version, derived from
	// the address. Version may be empty.
	Name, Version string
	// Address is the address of the source, without a password. If it is a local path,
	// it is absolute.
	Address string
	// Revision is the commit, or empty if the source is not a repository.
	Revision string
	// Digest is "sha256:" followed by the digest of the archive. It is empty for
	// other sources.
	Digest string
	// Licence is the SPDX identifier of the licence file, or empty if it is unknown.
	Licence string
	// LeftOut counts the pages that could not be downloaded, and the docs in an archive
	// that could not be unpacked.
	LeftOut []formats.Left
	// MarkdownOnly is the reason why files in other formats are not treated as docs.
	// It is set if the source is a whole repository, because a repository contains
	// all kinds of files. If MarkdownOnly is empty, files in other formats are
	// treated as docs.
	MarkdownOnly string

	temp  *scratch.Folder // nil if the source is not copied
	whole bool            // Root is the docs folder
}

// leftOut counts docs that are left out. The counts of the keys are zero.
type leftOut map[formats.Left]int

func (l leftOut) add(ending, reason string, n int) {
	l[formats.Left{Ending: ending, Reason: reason}] += n
}

func (l leftOut) list() (list []formats.Left) {
	for left, n := range l {
		left.Count = n
		list = append(list, left)
	}
	return formats.Sorted(list)
}

// Shown returns a name for Dir that can be shown to the user. It consists of the
// address and the folder in it.
func (s *Source) Shown() string {
	if s.Path == "." {
		return s.Address
	}
	return s.Address + ", folder " + s.Path
}

// IsAddress reports whether a source is remote, rather than a path on this disk.
func IsAddress(address string) bool {
	return isRepository(address) && !exists(address) || isSite(address)
}

// Copied reports whether Dir is a copy, and not the folder that the user named.
func (s *Source) Copied() bool { return s.temp != nil }

// copied creates the temporary folder for a copy of the source and sets Root to the path in
// it where the copy will be.
func (s *Source) copied() (err error) {
	if s.temp, err = scratch.New("source"); err != nil {
		return fmt.Errorf("create a folder for %s: %w", s.Address, err)
	}
	s.Root = filepath.Join(s.temp.Path, "source")
	return nil
}

// Close removes the files that Open copied.
func (s *Source) Close() error {
	if s == nil {
		return nil
	}
	if err := s.temp.Close(); err != nil {
		return fmt.Errorf("remove the copy of %s: %w", s.Address, err)
	}
	return nil
}

// kind is one kind of source. fits checks only the address and the files on this
// disk. Open uses the first kind that fits.
type kind struct {
	name string
	fits func(address string) bool
	open func(ctx context.Context, address string, o Options) (*Source, error)
}

// kinds lists the kinds of sources.
var kinds = []kind{
	{"folder", isFolder, openFolder},
	{"site", isSite, openSite},
	{"archive", isArchive, openArchive},
	{"llms.txt", isLLMs, openLLMs},
	{"file", isDocument, openDocument},
	{"git repository", isRepository, openRepository},
}

// Open copies the docs at address to a folder. It returns fault "bad_source" if the
// address is invalid or rejected, "no_docs" if the folder Path does not exist, and
// "source_failed" if git, the server or the archive is the cause of the error.
func Open(ctx context.Context, address string, o Options) (*Source, error) {
	address = withLowerScheme(address)
	if err := check(address, o); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.fits(address) })
	if i < 0 {
		return nil, fault.New("bad_source", fmt.Sprintf("there is nothing at '%s'", WithoutPassword(address)),
			"pass a folder, a docs file, a .zip or .tar.gz file, or the address of a git repository (for example https://example.com/docs.git#v1.2.0) or of an llms.txt")
	}
	s, err := kinds[i].open(ctx, address, o)
	if err != nil {
		return nil, err
	}
	if err := s.find(o.Path); err != nil {
		s.Close()
		return nil, err
	}
	s.Licence = licenceIn(s.Root)
	return s, nil
}

// check returns an error for an address that is invalid for all kinds of sources.
func check(address string, o Options) error {
	refuse := func(why, next string) error {
		return fault.New("bad_source", fmt.Sprintf("'%s' is refused: %s", WithoutPassword(address), why), next)
	}
	scheme, _, hasScheme := strings.Cut(strings.TrimPrefix(address, SitePrefix), "://")
	switch {
	case strings.TrimSpace(address) == "":
		return fault.New("bad_source", "the source is empty", "pass a folder, an archive or a git repository")
	case strings.HasPrefix(address, "-"):
		return refuse("it begins with a dash", "if it is a folder, write it as ./"+address)
	case strings.ContainsAny(address, "\x00\n\r"):
		return refuse("it has control characters", "write the address on one line")
	case remoteHelper().MatchString(address) && !exists(address):
		return refuse("it names a git remote helper", "use https, ssh or a local path")
	case isSite(address) && scheme != "https" && scheme != "http":
		return refuse("the address of a site must begin with https", "write it, for example, as https://example.com/docs/")
	case hasScheme && scheme == "file" && !o.AllowFile:
		return refuse("file:// addresses are only allowed with --allow-file", "pass the path itself, or pass --allow-file")
	case scheme == "oci" && hasScheme:
		return refuse("it is a library in a registry, which is already an index", "add it to the shelf: deskhand add "+address)
	case hasScheme && !slices.Contains([]string{"https", "http", "ssh", "git", "file"}, scheme):
		return refuse("the protocol "+scheme+" is not supported", "use https, ssh or a local path")
	}
	if p := o.Path; p != "" && (!fs.ValidPath(path.Clean(p)) || strings.HasPrefix(p, "-")) {
		return fault.New("bad_source", fmt.Sprintf("--path '%s' is not a folder in the source", p), "write it relative to the source and with forward slashes, for example docs/en")
	}
	return nil
}

// withLowerScheme returns an address with its scheme in lowercase. The case of a scheme has
// no meaning (RFC 3986, section 3.1), but git refuses HTTPS://.
func withLowerScheme(address string) string {
	if i := strings.Index(address, "://"); i >= 0 && schemePattern().MatchString(address[:i]) {
		return strings.ToLower(address[:i]) + address[i:]
	}
	return address
}

// schemePattern matches the scheme of an address, or of a site.
var schemePattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(` + SitePrefix + `)?[A-Za-z][A-Za-z0-9+.-]*$`) })

// remoteHelper matches the address of a program that git would run: HELPER::ADDRESS. Other
// addresses may contain two colons, for example https://[::1]/docs.git.
var remoteHelper = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(` + SitePrefix + `)?[A-Za-z0-9+.-]*::`) })

// find sets Dir, Path and the library's name.
func (s *Source) find(wanted string) error {
	if wanted != "" {
		s.Path = path.Clean(wanted)
		s.Dir = s.Root
		for part := range strings.SplitSeq(s.Path, "/") {
			s.Dir = filepath.Join(s.Dir, part)
			info, err := os.Lstat(s.Dir)
			if err == nil && info.Mode()&fs.ModeSymlink != 0 {
				return fault.New("no_docs", fmt.Sprintf("'%s' in %s is a link, which deskhand does not follow", part, s.Address), "pass the folder that it points to")
			}
			if err != nil || !info.IsDir() {
				return fault.New("no_docs", fmt.Sprintf("%s has no folder '%s'", s.Address, wanted), "check the source and fix --path")
			}
		}
		return nil
	}
	s.Dir, s.Path = s.Root, "."
	if s.temp == nil || s.whole {
		return nil
	}
	for _, isDocs := range docsBy {
		for _, folder := range Folders {
			if dir := filepath.Join(s.Root, filepath.FromSlash(folder)); hasDocs(dir, isDocs) {
				s.Dir, s.Path = dir, folder
				return nil
			}
		}
	}
	if hasDocs(s.Root, IsPage) {
		s.MarkdownOnly = "pass their folder with --path"
	}
	return nil
}

// docsBy lists tests that accept the names of docs files, most reliable first. The
// first test accepts Markdown pages. The second test accepts docs in other formats
// that can be converted on this machine. A folder with such a file is a docs
// folder.
var docsBy = []func(name string) bool{IsPage, formats.IsDocs}

// hasDocs reports whether a folder contains a file, at any depth, whose name
// isDocs accepts.
func hasDocs(dir string, isDocs func(string) bool) (found bool) {
	_ = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() && isDocs(d.Name()) {
			found = true
			return fs.SkipAll
		}
		return nil
	})
	return found
}

// IsPage reports whether a file with this name is a Markdown page.
func IsPage(name string) bool {
	switch strings.ToLower(path.Ext(name)) {
	case ".md", ".markdown", ".mdx":
		return true
	}
	return false
}

func exists(address string) bool {
	_, err := os.Stat(address)
	return err == nil
}

func isFolder(address string) bool {
	info, err := os.Stat(address)
	return err == nil && info.IsDir()
}

// openFolder returns a local folder as the source, without copying it.
func openFolder(_ context.Context, address string, _ Options) (*Source, error) {
	abs, err := filepath.Abs(address)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", address, err)
	}
	return &Source{Root: abs, Address: abs, Name: nameOf(abs)}, nil
}

// nameOf returns the last part of an address. It removes the extension of a repository
// or archive.
func nameOf(address string) string {
	name := path.Base(strings.TrimRight(filepath.ToSlash(address), "/"))
	if i := strings.LastIndexByte(name, ':'); i >= 0 { // git@host:repo
		name = name[i+1:]
	}
	for _, ending := range append([]string{".git"}, archiveEndings...) {
		name = strings.TrimSuffix(name, ending)
	}
	return cmp.Or(strings.Trim(name, "."), "docs")
}

// WithoutPassword returns an address without its password, in a form that can be
// shown and recorded. It does not parse the address, because git and this program may
// read an address differently: git also accepts a password that is not escaped. In
// addresses with http, a user name alone may be a token, and is removed as well.
func WithoutPassword(address string) string {
	scheme, rest, ok := strings.Cut(address, "://")
	if !ok {
		return address
	}
	host, path := rest, ""
	if i := strings.IndexAny(rest, "/?#"); i >= 0 {
		host, path = rest[:i], rest[i:]
	}
	i := strings.LastIndexByte(host, '@')
	if i < 0 || !strings.Contains(host[:i], ":") && !strings.HasPrefix(strings.TrimPrefix(strings.ToLower(scheme), SitePrefix), "http") {
		return address
	}
	return scheme + "://" + host[i+1:] + path
}
