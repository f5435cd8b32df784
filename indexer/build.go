package indexer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/indexer/embed"
	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
)

// build is a single run of Build or Check.
type build struct {
	options Options
	about   *about // never nil
	pages   []*page
	byPath  map[string]*page
	prompts []artifact.Prompt
	// taxonomy and texts are the merged values from metadata.json and the
	// manifests.
	taxonomy taxonomy
	texts    texts
	phrases  Phrases
	report   Report
	running  string // name of the current phase
	began    time.Time
	// dimensions is the length of the vectors, or 0 before the first one.
	dimensions atomic.Int64
	// before is the Meter's usage at the start of the build.
	before embed.Usage
	// split and encode are chunker.Split and artifact.Encode. Tests replace them to
	// simulate failures.
	split  func(string, []byte, chunker.Options) chunker.Page
	encode func([]artifact.Document) (*artifact.Group, error)
}

// prepare checks the options, walks the corpus and reads all settings files. The
// returned build is never nil.
func prepare(ctx context.Context, o Options) (*build, error) {
	b := &build{
		options: o,
		about:   &about{},
		report:  Report{Corpus: o.named(), Problems: []Problem{}},
		split:   chunker.Split,
		encode:  artifact.Encode,
	}
	if m, ok := o.Embedder.(embed.Meter); ok {
		b.before = m.Usage()
	}
	b.phase("walk")
	b.progress("walk", 0, 0)
	if err := b.checkOptions(); err != nil {
		return b, err
	}
	root, err := resolveRoot(o.Dir)
	if err != nil {
		return b, err
	}
	a, problems, err := findAbout(o.Dir, o.MetadataPath)
	if err != nil {
		return b, err
	}
	b.note(problems)
	if a != nil {
		b.about = a
		b.report.Metadata = a.file
	}
	if err := b.walk(ctx, root); err != nil {
		return b, err
	}
	err = b.readPhrases()
	return b, err
}

func (b *build) checkOptions() error {
	o := &b.options
	if _, known := chunker.ParseBy(string(o.By)); o.By != "" && !known {
		return fault.New("bad_option", fmt.Sprintf("cannot split pages by '%s'", o.By), "use h1, h2, h3 or file")
	}
	if o.MaxChars < 0 || o.MinChars < 0 {
		return fault.New("bad_option", "chunk sizes must not be negative", "omit them to use the defaults")
	}
	for _, glob := range slices.Concat(o.Include, o.Exclude) {
		if reason := checkGlob(glob); reason != "" {
			return fault.New("bad_option", reason, "write it, for example, as guides/**/*.md")
		}
	}
	if o.Workers <= 0 {
		o.Workers = min(runtime.GOMAXPROCS(0), 8)
	}
	if o.MaxFileBytes <= 0 {
		o.MaxFileBytes = 16 << 20
	}
	return nil
}

// walk finds the pages with their manifests, and the prompts.
func (b *build) walk(ctx context.Context, root string) error {
	pick := selection{include: b.options.Include, exclude: slices.Concat(b.options.Exclude, b.about.exclude)}
	if len(pick.include) == 0 {
		pick.include = b.about.include
	}
	pick.gitIgnore, pick.gitExcludes = b.options.GitIgnore || b.about.gitIgnore, b.options.GitExcludes
	f, err := walk(ctx, root, pick, b.options.Formats != nil)
	if err != nil {
		return err
	}
	b.note(f.problems)
	if err := b.convert(ctx, f); err != nil {
		return err
	}
	if len(f.pages) == 0 {
		return noDocuments(b.options.named(), f, b.report.LeftOut)
	}
	b.pages = f.pages
	b.byPath = make(map[string]*page, len(f.pages))
	b.apply()
	var problems []Problem
	b.prompts, problems = readPrompts(f.templates)
	b.note(problems)
	b.report.Prompts = len(b.prompts)
	return nil
}

func noDocuments(dir string, f *found, left []formats.Left) error {
	hint := "pages end in .md, .markdown or .mdx; files and folders whose names start with a dot are skipped"
	if len(left) > 0 {
		hint = formats.LeftOut(left)
	}
	if f.left > 0 {
		hint = fmt.Sprintf("the include and exclude globs or .gitignore exclude %d files; change them", f.left)
	}
	return fault.New("no_documents", "no Markdown files under "+dir, hint)
}

// apply sets the settings of each page. It also merges the descriptions for
// models and the taxonomies from all manifests that apply to a page, in page
// order.
func (b *build) apply() {
	o, defaults := b.options, b.about.strategy
	defaults.By = cmp.Or(o.By, defaults.By, chunker.H2)
	defaults.MaxChars = cmp.Or(o.MaxChars, defaults.MaxChars)
	defaults.MinChars = cmp.Or(o.MinChars, defaults.MinChars)
	b.taxonomy = taxonomy{}
	b.taxonomy.add(b.about.taxonomy)
	b.texts = texts{o.SearchDescription, o.GetDocDescription, o.Instructions}.or(b.about.texts)
	met := map[*manifest]bool{nil: true}
	for _, p := range b.pages {
		b.byPath[p.path] = p
		p.settings = p.manifest.settings(p.path, defaults)
		if !met[p.manifest] {
			met[p.manifest] = true
			b.taxonomy.add(p.manifest.taxonomy)
			b.texts = b.texts.or(p.manifest.texts)
		}
	}
}

// checkOut returns an error if Out is a file, or if it contains a metadata.json that a
// build did not write.
func (b *build) checkOut() error {
	out := b.options.Out
	if out == "" {
		return fault.New("bad_option", "the output folder is missing", "pass one with -o")
	}
	if info, err := os.Stat(out); err == nil && !info.IsDir() {
		return fault.New("bad_option", out+" is a file, not a folder", "pass a folder for the index with -o")
	}
	file := filepath.Join(out, artifact.MetadataFile)
	built, err := isBuilt(file)
	damaged := err != nil && hasDataFile(out)
	switch {
	case errors.Is(err, fs.ErrNotExist) && artifact.HoldsPages(out): // the index's metadata.json would mean something else there
		return fault.New("bad_option", "the index would be written into "+out+", which holds markdown",
			fmt.Sprintf("the folder of the docs comes first, and -o names the folder of the index: deskhand index %s -o .deskhand/index", out))
	case errors.Is(err, syscall.ENOTDIR):
		return fault.New("bad_option", out+" lies below a file", "name another folder for the index with -o")
	case built || damaged || errors.Is(err, fs.ErrNotExist):
		return nil
	}
	return fault.New("out_is_input", file+" was not written by a build and would be lost", "pass another folder for the index with -o")
}

// isBuilt reports whether the metadata.json in file belongs to an artifact. It returns
// an error if the file cannot be read.
func isBuilt(file string) (bool, error) {
	src, err := readFile(file, artifact.MaxMetadataBytes, nil)
	if err != nil {
		return false, err
	}
	root, err := parseJSON(src)
	if err != nil {
		return false, err
	}
	top, ok := root.value.(*members)
	return ok && (top.byName["index"] != nil || top.byName["stats"] != nil), nil
}

// hasDataFile reports whether dir contains an artifact's data file.
func hasDataFile(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return slices.ContainsFunc(entries, func(e os.DirEntry) bool { return artifact.DataFile.MatchString(e.Name()) })
}

// metadata returns the artifact's metadata, with facets made from values. If a value
// cannot become a facet, this is recorded as a problem.
func (b *build) metadata(ctx context.Context, values facetValues) (artifact.Metadata, error) {
	m := artifact.Metadata{
		CorpusDescription: cmp.Or(b.options.Description, b.about.description, DefaultDescription),
		Instructions:      b.texts.instructions,
		Prompts:           b.prompts,
	}
	m.Library = b.options.Library
	if b.options.PlainTexts {
		m.Instructions, m.Prompts = b.options.Instructions, nil
		b.texts.search, b.texts.get = b.options.SearchDescription, b.options.GetDocDescription
	}
	if err := values.refuseReserved(b.sourceOf); err != nil {
		return m, err
	}
	var problems []Problem
	m.Taxonomy, problems = values.facets(b.taxonomy)
	b.note(problems)
	m.Folders, problems = b.about.notes(b.pages)
	b.note(problems)
	if b.texts.search != "" || b.texts.get != "" {
		m.ToolDescriptions = &artifact.ToolDescriptions{SearchDocs: b.texts.search, GetDoc: b.texts.get}
	}
	p, err := readProvenance(ctx, b.options.Dir)
	m.Stats.SourceCommit, m.Stats.IndexedAt = p.commit, p.indexedAt
	return m, err
}

// sourceOf returns the file that sets a page's value for key.
func (b *build) sourceOf(page, key string) string {
	if p := b.byPath[page]; p != nil {
		if _, manifest := p.settings.metadata[key]; manifest {
			return p.manifest.file
		}
	}
	return page
}

func (b *build) note(problems []Problem) {
	b.report.Problems = append(b.report.Problems, problems...)
}

func (b *build) progress(phase string, done, total int) {
	if b.options.Progress != nil {
		b.options.Progress(Progress{phase, done, total, b.usage()})
	}
}
