// Package source brings the docs of a library into a folder: from a folder or a
// file, from a git repository at a revision, from a zip or tar archive, local or
// by https, from an llms.txt with the pages that it names, or from the pages of a
// site's sitemap.
//
// Sources are strangers. Addresses cannot carry options of git, no hook, filter
// or submodule of a repository runs, Git LFS fetches nothing, links in archives
// are left out, archives, downloads and pages are bounded, and no server leads to
// an address on this machine or its network.
package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Options tunes Open. The zero value is the default.
type Options struct {
	// Path is the folder of the docs in the source, with forward slashes. Empty:
	// the first of Folders that has markdown, else the whole source. A local
	// folder is taken as it is.
	Path string
	// AllowFile permits file:// addresses.
	AllowFile bool
	// Temp is where folders are created; empty: the system's.
	Temp string
	// Known is a revision that the caller has: if a repository is still at it, the
	// error is ErrUnchanged and nothing is fetched. Empty: none.
	Known string
	// Cache is where the pages of sites are kept between visits; empty: deskhand in
	// the person's cache folder.
	Cache string
	// Progress is called before each page of a site, with how many there are, and
	// at the end; nil: it is not.
	Progress func(done, total int)

	clock clock // of tests; nil: the system's
}

func (o Options) progress(done, total int) {
	if o.Progress != nil {
		o.Progress(done, total)
	}
}

// ErrUnchanged says that a repository is still at Options.Known.
var ErrUnchanged = errors.New("unchanged")

// Folders are where the docs of a repository are looked for, in that order.
var Folders = []string{"docs", "doc", "documentation", "content", "site/docs", "website/docs"}

// Source is the docs of a library in a folder. Close removes the folder if it is
// a copy.
type Source struct {
	// Dir holds the docs. Root holds the whole source, or Dir if there is no more
	// of it.
	Dir, Root string
	// Path is Dir in Root, with forward slashes; "." for all of it.
	Path string
	// Name and Version are proposals from the address; Version may be empty.
	Name, Version string
	// Address is where the source is from, without a password, absolute if it is
	// local.
	Address string
	// Revision is the commit; empty: it is no repository.
	Revision string
	// Digest is "sha256:" and that of the archive; empty: it is none.
	Digest string
	// Licence is the SPDX identifier of the licence file; empty: none is known.
	Licence string
	// LeftOut counts pages that could not be had.
	LeftOut []formats.Left
	// MarkdownOnly says why files in other formats are no docs: the source is all
	// of a repository, which has files of all kinds. Empty: they are docs.
	MarkdownOnly string

	temp  string
	whole bool // Root is the docs
}

// Shown names Dir for a person: the address with the folder in it.
func (s *Source) Shown() string {
	if s.Path == "." {
		return s.Address
	}
	return s.Address + ", folder " + s.Path
}

// IsAddress says whether a source is elsewhere, and no path on this disk.
func IsAddress(address string) bool {
	return isRepository(address) && !exists(address) || isSite(address)
}

// Close removes what Open copied.
func (s *Source) Close() error {
	if s == nil || s.temp == "" {
		return nil
	}
	if err := os.RemoveAll(s.temp); err != nil {
		return fmt.Errorf("remove the copy of %s: %w", s.Address, err)
	}
	return nil
}

// kind is one kind of source. fits decides by the address alone and what is on
// this disk; the first that fits opens it.
type kind struct {
	name string
	fits func(address string) bool
	open func(ctx context.Context, address string, o Options) (*Source, error)
}

// kinds is the table of sources.
var kinds = []kind{
	{"folder", isFolder, openFolder},
	{"site", isSite, openSite},
	{"archive", isArchive, openArchive},
	{"llms.txt", isLLMs, openLLMs},
	{"file", isDocument, openDocument},
	{"git repository", isRepository, openRepository},
}

// Open brings the docs at address into a folder. Faults: "bad_source" for an
// address that nothing is at or that is refused, "no_docs" if there is no folder
// Path, "source_failed" if git, the server or the archive is at fault.
func Open(ctx context.Context, address string, o Options) (*Source, error) {
	if err := check(address, o); err != nil {
		return nil, err
	}
	i := slices.IndexFunc(kinds, func(k kind) bool { return k.fits(address) })
	if i < 0 {
		return nil, fault.New("bad_source", fmt.Sprintf("there is nothing at '%s'", withoutPassword(address)),
			"name a folder, a file of docs, a .zip or .tar.gz file, or the address of a git repository, as https://example.com/docs.git#v1.2.0, or of an llms.txt")
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

// check refuses what no kind may see.
func check(address string, o Options) error {
	refuse := func(why, next string) error {
		return fault.New("bad_source", fmt.Sprintf("'%s' is refused: %s", withoutPassword(address), why), next)
	}
	scheme, _, hasScheme := strings.Cut(strings.TrimPrefix(address, SitePrefix), "://")
	switch {
	case strings.TrimSpace(address) == "":
		return fault.New("bad_source", "the source is empty", "name a folder, an archive or a git repository")
	case strings.HasPrefix(address, "-"):
		return refuse("it begins with a dash", "write a folder as ./"+address)
	case strings.ContainsAny(address, "\x00\n\r"):
		return refuse("it has control characters", "write the address on one line")
	case strings.Contains(address, "::") && !exists(address):
		return refuse("it names a helper program of git", "use https, ssh or a local path")
	case isSite(address) && scheme != "https" && scheme != "http":
		return refuse("a site has an address that begins with https", "write it as https://example.com/docs/")
	case hasScheme && scheme == "file" && !o.AllowFile:
		return refuse("file:// is for the person to allow", "name the path itself, or add --allow-file")
	case scheme == "oci" && hasScheme:
		return refuse("it is a library of a registry, which is an index already", "add it to the shelf: deskhand add "+address)
	case hasScheme && !slices.Contains([]string{"https", "http", "ssh", "git", "file"}, scheme):
		return refuse("the protocol "+scheme+" is not known", "use https, ssh or a local path")
	}
	if p := o.Path; p != "" && (!fs.ValidPath(path.Clean(p)) || strings.HasPrefix(p, "-")) {
		return fault.New("bad_source", fmt.Sprintf("--path '%s' is not a folder in the source", p), "write it relative to the source and with forward slashes, as docs/en")
	}
	return nil
}

// find sets Dir and Path, and the name of the library.
func (s *Source) find(wanted string) error {
	if wanted != "" {
		s.Path = path.Clean(wanted)
		s.Dir = filepath.Join(s.Root, filepath.FromSlash(s.Path))
		if info, err := os.Lstat(s.Dir); err != nil || !info.IsDir() {
			return fault.New("no_docs", fmt.Sprintf("%s has no folder '%s'", s.Address, wanted), "check the source and fix --path")
		}
		return nil
	}
	s.Dir, s.Path = s.Root, "."
	if s.temp == "" || s.whole {
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
		s.MarkdownOnly = "name their folder with --path"
	}
	return nil
}

// docsBy say what makes a folder one of docs, the surer first: a page of Markdown,
// or docs in another format that can be read here.
var docsBy = []func(name string) bool{IsPage, formats.IsDocs}

// hasDocs says whether there is a file below dir whose name is that of docs.
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

// IsPage says whether a file of this name is a page of markdown.
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

// openFolder takes a folder as it is.
func openFolder(_ context.Context, address string, _ Options) (*Source, error) {
	abs, err := filepath.Abs(address)
	if err != nil {
		return nil, fmt.Errorf("find %s: %w", address, err)
	}
	return &Source{Root: abs, Address: abs, Name: nameOf(abs)}, nil
}

// nameOf is the last part of an address, without the ending of a repository or
// an archive.
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

// withoutPassword is an address that may be shown.
func withoutPassword(address string) string {
	if u, err := url.Parse(address); err == nil && u.User != nil {
		if _, has := u.User.Password(); has || u.Scheme == "https" || u.Scheme == "http" {
			u.User = nil
			return u.String()
		}
	}
	return address
}
