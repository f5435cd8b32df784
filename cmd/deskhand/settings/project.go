package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/trust"
)

// DigestVariable goes with DESKHAND_CONFIG to what deskhand starts, when the file
// is one that it found in a project and nobody named: the digest of the bytes
// that were agreed to, or UntrustedDigest.
const (
	DigestVariable  = "DESKHAND_CONFIG_DIGEST"
	UntrustedDigest = "none"
)

// MaxProjectFile bounds a file that anybody may have written, in bytes. The
// longest of our tests has 600.
const MaxProjectFile = 1 << 20

// Project is the deskhand.yaml of a folder that somebody else may have made:
// what can do harm counts if the person has agreed to exactly its bytes.
type Project struct {
	configFile
	place   string // as records have it
	sum     string
	trusted bool
	why     string    // it is not trusted, for people
	owner   string    // somebody else, so that nobody can agree; empty: ours
	changed bool      // other bytes were agreed to
	refused bool      // these bytes were declined
	needs   []guarded // settings that need trust
	out     []guarded // those of them that would count and do not
}

// guarded is a setting of a project's file that needs trust.
type guarded struct {
	name  string
	text  string // YAML, whole, with what is unseen written out
	short string // on one line, with secrets masked
}

// digest is what a process is told that this one starts; empty for a file that
// a person named.
func (p *Project) digest() string {
	switch {
	case p == nil:
		return ""
	case p.trusted:
		return p.sum
	}
	return UntrustedDigest
}

// readProject reads the file of a project once, and finds out whether its bytes
// are trusted and which of its settings need that. base is the user's own file.
func (s *Settings) readProject(path string, base configFile, tell func(string)) (*Project, error) {
	data, owner, err := trust.ReadFile(path, MaxProjectFile)
	switch {
	case errors.As(err, new(trust.TooLarge)), errors.Is(err, fs.ErrNotExist):
		return nil, fault.Misuse("configuration "+err.Error(), "make it smaller, or name another with --config")
	case err != nil:
		return nil, unreadable(path, err)
	}
	p := &Project{sum: trust.Digest(data), owner: owner}
	if p.configFile, err = parseConfig(path, data, tell); err != nil {
		return nil, err
	}
	if p.place, err = trust.Place(path); err != nil {
		return nil, unreadable(path, err)
	}
	if err := p.weigh(base); err != nil {
		return nil, err
	}
	s.decide(p)
	return p, nil
}

// decide looks up what the person said of the file.
func (s *Settings) decide(p *Project) {
	if p.owner != "" {
		p.why = "belongs to " + p.owner
		return
	}
	record, known, err := s.records.Find(p.place)
	same := known && record.Digest == p.sum
	p.changed, p.refused = known && record.Agreed && !same, same && !record.Agreed
	switch {
	case same && record.Agreed, p.path == Env("DESKHAND_CONFIG") && Env(DigestVariable) == p.sum:
		p.trusted = true
	case err != nil:
		p.why = "is not trusted (" + err.Error() + ")"
	case p.changed:
		p.why = "has changed since you trusted it"
	default:
		p.why = "is not trusted"
	}
}

// weigh finds the settings that need trust.
func (p *Project) weigh(base configFile) error {
	for _, one := range table {
		texts, ok := p.values[one.name]
		if ok && !one.countsUntrusted(texts, base.value(one).texts) {
			p.needs = append(p.needs, one.guarded(texts))
		}
	}
	node, err := p.upstreamsNode()
	if err != nil || node == nil || node.Kind == yaml.SequenceNode && len(node.Content) == 0 {
		return err
	}
	p.needs = append(p.needs, p.guardedUpstreams())
	return nil
}

// guarded is a setting as it would count.
func (one setting) guarded(texts []string) guarded {
	var v any = texts
	switch {
	case one.tree:
		if err := yaml.Unmarshal([]byte(texts[0]), &v); err != nil { // JSON is YAML
			v = texts[0]
		}
	case !one.list:
		v = texts[0]
	}
	g := guarded{one.name, asYAML(map[string]any{key(one.name): v}), VisibleLine(strings.Join(texts, ","))}
	if one.secret {
		g.short = "********"
	}
	if inner, ok := v.(map[string]any); ok { // its values may be secret
		g.short = VisibleLine(strings.Join(slices.Sorted(maps.Keys(inner)), ","))
	}
	return g
}

// guardedUpstreams are the upstreams as they would count. Entries that cannot be
// read are never used, and a person cannot agree to them.
func (p *Project) guardedUpstreams() guarded {
	entries, err := p.upstreams()
	if err != nil {
		return guarded{UpstreamsKey, UpstreamsKey + ": cannot be read\n", "cannot be read"}
	}
	return guarded{UpstreamsKey, asYAML(map[string]any{UpstreamsKey: entries}), VisibleLine(upstreamNames(entries))}
}

func upstreamNames(entries []upstreamEntry) string {
	var list []string
	for _, e := range entries {
		list = append(list, e.Name)
	}
	return strings.Join(list, ",")
}

func asYAML(v any) string {
	text, err := yaml.Marshal(v)
	if err != nil {
		text = fmt.Appendf(nil, "%v\n", v)
	}
	return elicit.Visible(string(text))
}

// apply puts the settings of a project over the others: all of a file that is
// trusted, else those that need no trust. Flags and variables stay above.
func (s *Settings) apply(p *Project) {
	needs := map[string]guarded{}
	for _, h := range p.needs {
		needs[h.name] = h
	}
	for _, one := range table {
		texts, ok := p.values[one.name]
		if f := s.flag.Lookup(one.name); !ok || f != nil && f.Changed || Env(variable(one.name)) != "" {
			continue
		}
		if h, needed := needs[one.name]; needed && !p.trusted {
			p.out = append(p.out, h)
			continue
		}
		s.values[one.name] = value{texts, p.path}
	}
	switch h, ok := needs[UpstreamsKey]; {
	case ok && p.trusted:
		s.ups = p.configFile
	case ok:
		p.out = append(p.out, h)
	}
}

// names are the keys of settings, in words.
func names(list []guarded) string {
	var keys []string
	for _, h := range list {
		keys = append(keys, key(h.name))
	}
	return strings.Join(keys, ", ")
}

// Project is the file of a project that was found; nil: none was.
func (s *Settings) Project() *Project { return s.project }

// Path is where the file is.
func (p *Project) Path() string { return p.path }

// LeftOut says whether settings of the file would count and do not.
func (p *Project) LeftOut() bool { return len(p.out) > 0 }

// CanBeTrusted says that the person may agree to the file, and has not declined it.
func (p *Project) CanBeTrusted() bool { return p.owner == "" && !p.refused }

// Foreign says why nobody can agree to the file; empty: it is the user's own.
func (p *Project) Foreign() string {
	if p.owner == "" {
		return ""
	}
	return p.why
}

// Trusted says that the person has agreed to the bytes of the file.
func (p *Project) Trusted() bool { return p.trusted }

// Changed says that the person has agreed to other bytes of it.
func (p *Project) Changed() bool { return p.changed }

// Needs are the keys of the settings that need trust, in words.
func (p *Project) Needs() string { return names(p.needs) }

// Shown are these settings as YAML, whole, with what is unseen written out.
func (p *Project) Shown() string {
	var text strings.Builder
	for _, g := range p.needs {
		text.WriteString(g.text)
	}
	return text.String()
}

// Line says in one line what is left out, and what to do.
func (p *Project) Line() string {
	return p.ignored() + VisibleLine("; "+p.Next())
}

// ignored says in one line what is left out.
func (p *Project) ignored() string {
	return VisibleLine(fmt.Sprintf("%s %s: ignoring %s", p.path, p.why, names(p.out)))
}

// Next is what a person may do about what is left out.
func (p *Project) Next() string {
	switch {
	case p.owner != "":
		return "to use them anyway, name the file with --config"
	case p.refused:
		return "you declined them; to review them again, run: " + p.Command()
	}
	return "to review and allow them, run: " + p.Command()
}

// Command is what a person runs to agree to the file.
func (p *Project) Command() string { return "deskhand trust " + quoted(filepath.Dir(p.path)) }

// unbroken writes out line ends and tabs.
func unbroken(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text)
}

// quoted is a path as a word of a shell.
func quoted(path string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+:@,", r) || runtime.GOOS == "windows" && r == '\\'
	}
	if !strings.ContainsFunc(path, func(r rune) bool { return !plain(r) }) && !strings.HasPrefix(path, "-") {
		return path
	}
	if runtime.GOOS == "windows" {
		return `"` + path + `"`
	}
	return "'" + strings.ReplaceAll(path, "'", `'\''`) + "'"
}

// MayBuildInto refuses a folder outside of the project to write an index to, if
// only a file that nobody agreed to names it.
func (s *Settings) MayBuildInto(out string) error {
	p := s.project
	if p == nil || p.trusted || s.origin("index") != p.path || out != s.get("index") {
		return nil
	}
	if f := s.flag.Lookup("output"); f != nil && f.Changed || !leadsOut(filepath.Dir(p.place), out) {
		return nil
	}
	return fault.New("not_trusted", fmt.Sprintf("%s puts the index into %s, outside of its folder, and %s", p.path, out, p.why),
		"name a folder with -o or --index, or run: "+p.Command())
}

// leadsOut reports whether path is not below dir, links on the way resolved.
func leadsOut(dir, path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return true
	}
	missing := ""
	for {
		real, err := filepath.EvalSymlinks(path)
		if err == nil {
			path = filepath.Join(real, missing)
			break
		}
		up := filepath.Dir(path)
		if _, there := os.Lstat(path); there == nil || up == path {
			return true // a link to nothing, or what cannot be followed
		}
		path, missing = up, filepath.Join(filepath.Base(path), missing)
	}
	rel, err := filepath.Rel(dir, path)
	return err != nil || !filepath.IsLocal(rel)
}
