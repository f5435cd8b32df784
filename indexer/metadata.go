package indexer

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/fault"
)

// about is a metadata.json that a user has written. It describes a corpus. It also sets
// how to index the corpus, unless a manifest or option does.
type about struct {
	file             string // the file's name in problems, or empty if there is no file
	description      string
	corpus           string // the folder that the file describes, relative to the file's folder, or empty if it is the file's folder
	strategy         chunker.Options
	include, exclude []string
	gitIgnore        bool
	taxonomy         taxonomy
	texts            texts
	folders          map[string]note
	// dir is the folder that contains the file. phrases is a path relative to dir, or
	// empty if the file has none. phrasesLine is the line in the file that sets
	// phrases.
	dir         string
	phrases     string
	phrasesLine int
}

// note is a user's description of a folder, and the line on which it is.
type note struct {
	text string
	line int
}

// aboutKeys lists the keys of a metadata.json for deskhand. A JSON file with one of
// these keys is recognized as such a file.
var aboutKeys = []string{"corpus_description", "corpus", "taxonomy", "tool_descriptions", "mcpServerInstructions",
	"folders", "strategy", "include", "exclude", "gitignore", "phrases"}

// Find returns the corpus that dir's metadata.json describes, and the path of that
// file. The corpus is the folder named by the key "corpus", or else dir. If the file is
// missing or describes no corpus, Find returns fault "no_corpus". If the named folder
// is not below dir, it returns fault "corpus_outside", because the caller did not ask
// for such a folder.
func Find(dir string) (corpus, metadata string, err error) {
	file := filepath.Join(dir, artifact.MetadataFile)
	hint := "pass your docs folder: deskhand index DIR"
	src, err := readSettings(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", "", fault.New("no_corpus", fmt.Sprintf("no folder was given, and %s does not exist", file), hint)
	}
	if err != nil {
		return "", "", fault.New("no_corpus", fmt.Sprintf("no folder was given, and %s cannot be read: %s", file, cause(err)), hint)
	}
	a, ours, problems := parseAbout(file, src)
	if !ours {
		reason := "it has no key that describes a corpus"
		if len(problems) > 0 {
			reason = problems[0].String()
		}
		return "", "", fault.New("no_corpus", fmt.Sprintf("no folder was given, and %s does not describe a corpus: %s", file, reason), hint)
	}
	corpus = filepath.Join(dir, filepath.FromSlash(a.corpus))
	if outside(dir, corpus) {
		return "", "", fault.New("corpus_outside", fmt.Sprintf("%s sets the corpus to %s, which is outside its folder", file, a.corpus),
			"to index that folder, pass it explicitly: deskhand index "+corpus+" --metadata "+file)
	}
	return corpus, file, nil
}

// outside reports whether folder is neither dir nor below dir after links are resolved.
// If a path does not exist, outside returns false, and the code that later reads the
// path reports the error.
func outside(dir, folder string) bool {
	var real [2]string
	for i, path := range []string{dir, folder} {
		path, err := filepath.Abs(path)
		if err == nil {
			path, err = filepath.EvalSymlinks(path)
		}
		if err != nil {
			return false
		}
		real[i] = path
	}
	rel, err := filepath.Rel(real[0], real[1])
	return err != nil || !filepath.IsLocal(rel)
}

// findAbout reads the metadata.json for the corpus at dir. This is the given file, or
// else the file in dir, or else the file next to dir if it names dir. If the given
// file cannot be read, findAbout returns an error. If one of the other two files
// cannot be read, it returns a problem.
func findAbout(dir, given string) (*about, []Problem, error) {
	if given != "" {
		src, err := readSettings(given)
		if err != nil {
			return nil, nil, fault.New("no_metadata", fmt.Sprintf("%s cannot be read: %s", given, cause(err)), "pass an existing metadata.json")
		}
		a, ours, problems := parseAbout(given, src)
		if !ours {
			reason := given + ": it has no key that describes a corpus"
			if len(problems) > 0 {
				reason = problems[0].String()
			}
			return nil, nil, fault.New("bad_metadata", reason, "its keys are "+strings.Join(aboutKeys, ", "))
		}
		a.dir = filepath.Dir(given)
		return a, problems, nil
	}
	a, problems := aboutInside(dir)
	if a != nil {
		a.dir = dir
		return a, problems, nil
	}
	beside, more := aboutBeside(dir)
	return beside, append(problems, more...), nil
}

// aboutInside reads dir/metadata.json. It returns nil if the file is missing or does
// not describe dir.
func aboutInside(dir string) (*about, []Problem) {
	file := artifact.MetadataFile
	src, err := readSettings(filepath.Join(dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, []Problem{{file, 0, cause(err)}}
	}
	a, ours, problems := parseAbout(file, src)
	switch {
	case ours && a.corpus != "" && !sameFolder(filepath.Join(dir, filepath.FromSlash(a.corpus)), dir):
		return nil, []Problem{{file, 0, fmt.Sprintf("not used: it describes the folder '%s'", shorten(a.corpus))}}
	case ours:
		return a, problems
	case len(problems) > 0:
		return nil, problems
	case hasDataFile(dir):
		return nil, nil // it is the artifact's metadata.json, because -o names the corpus
	}
	return nil, []Problem{{file, 0, "not used: it has no key that describes a corpus, for example corpus_description"}}
}

// aboutBeside reads the metadata.json next to dir. If the key "corpus" does not name
// dir, the file belongs to something else, and aboutBeside returns nil without a
// problem.
func aboutBeside(dir string) (*about, []Problem) {
	whole, err := filepath.Abs(dir)
	if err != nil {
		return nil, nil
	}
	parent := filepath.Dir(whole)
	src, err := readSettings(filepath.Join(parent, artifact.MetadataFile))
	if err != nil {
		return nil, nil
	}
	a, ours, problems := parseAbout("../"+artifact.MetadataFile, src)
	if !ours || a.corpus == "" || !sameFolder(filepath.Join(parent, filepath.FromSlash(a.corpus)), dir) {
		return nil, nil
	}
	a.dir = parent
	return a, problems
}

func sameFolder(a, b string) bool {
	x, errA := os.Stat(a)
	y, errB := os.Stat(b)
	return errA == nil && errB == nil && os.SameFile(x, y)
}

// parseAbout reads a metadata.json. ours is false if the file does not describe a
// corpus, because it is not JSON, has no known key, or belongs to an artifact.
// Invalid values are reported as problems and treated as missing.
func parseAbout(file string, src []byte) (a *about, ours bool, problems []Problem) {
	root, err := parseJSON(src)
	if at := new(lineError); errors.As(err, &at) {
		return nil, false, []Problem{{file, at.line, at.reason}}
	}
	top, ok := root.value.(*members)
	if !ok || !describes(top) {
		return nil, false, nil
	}
	c := new(checker)
	c.object(root, "metadata.json", append([]string{"metadata_version", "$schema"}, aboutKeys...)...)
	a = c.readAbout(top, file)
	return a, true, c.problems(file)
}

// describes reports whether m is a user's description of a corpus. If m has an
// index, it is the metadata.json of an artifact, and describes returns false.
func describes(m *members) bool {
	if m.byName["index"] != nil {
		return false
	}
	for _, key := range aboutKeys {
		if m.byName[key] != nil {
			return true
		}
	}
	return false
}

func (c *checker) readAbout(top *members, file string) *about {
	a := &about{
		file:        file,
		description: c.text(top.byName["corpus_description"], "corpus_description"),
		corpus:      c.text(top.byName["corpus"], "corpus"),
		gitIgnore:   c.flag(top.byName["gitignore"], "gitignore"),
		include:     c.readGlobs(top.byName["include"], "include"),
		exclude:     c.readGlobs(top.byName["exclude"], "exclude"),
		taxonomy:    c.readTaxonomy(top.byName["taxonomy"], file),
		texts:       c.readTexts(top),
		folders:     map[string]note{},
	}
	if path.IsAbs(a.corpus) || filepath.IsAbs(a.corpus) {
		c.wrong(top.byName["corpus"].line, "corpus must be relative to this file's folder")
		a.corpus = ""
	}
	if n := top.byName["strategy"]; n != nil {
		a.strategy = c.readStrategy(n, "strategy")
	}
	if n := top.byName["phrases"]; n != nil {
		a.phrases, a.phrasesLine = c.text(n, "phrases"), n.line
		if a.phrases != "" && !filepath.IsLocal(filepath.FromSlash(a.phrases)) {
			c.wrong(n.line, "phrases must be a file below this file's folder")
			a.phrases = ""
		}
	}
	notes := c.object(top.byName["folders"], "folders")
	for _, key := range notes.keys {
		if text := c.text(notes.byName[key], "folders."+shorten(key)); text != "" {
			a.folders[path.Clean(strings.Trim(key, "/ "))] = note{text, notes.lines[key]}
		}
	}
	return a
}

func (c *checker) readGlobs(n *node, what string) []string {
	var globs []string
	for _, e := range c.list(n, what) {
		glob := c.text(e, what)
		if reason := checkGlob(glob); reason != "" {
			c.wrong(e.line, "%s: %s", what, reason)
			continue
		}
		globs = append(globs, glob)
	}
	return globs
}

// notes returns the notes on folders by path, and a problem for each folder that has no
// page.
func (a *about) notes(pages []*page) (map[string]string, []Problem) {
	if len(a.folders) == 0 {
		return nil, nil
	}
	seen := map[string]bool{".": true}
	for _, p := range pages {
		for dir := path.Dir(p.path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
		}
	}
	texts := map[string]string{}
	var problems []Problem
	for _, dir := range slices.Sorted(maps.Keys(a.folders)) {
		n := a.folders[dir]
		if !seen[dir] {
			problems = append(problems, Problem{a.file, n.line, fmt.Sprintf("folders: there is no page in '%s'", shorten(dir))})
			continue
		}
		texts[dir] = n.text
	}
	return texts, problems
}
