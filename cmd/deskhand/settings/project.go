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

// DigestVariable is passed together with DESKHAND_CONFIG to the processes that deskhand
// starts. It is set only if deskhand found the file in a project, not if a person named
// the file. Its value is the digest of the trusted bytes, or UntrustedDigest.
const (
	DigestVariable  = "DESKHAND_CONFIG_DIGEST"
	UntrustedDigest = "none"
)

// MaxProjectFile is the maximum size in bytes of a project file. It is limited because
// anyone may have written the file. The longest file in our tests has 600 bytes.
const MaxProjectFile = 1 << 20

// Project is the deskhand.yaml in a folder. Another person may have written it, so
// settings that can do harm are used only if the user trusts exactly these bytes.
type Project struct {
	configFile
	place   string // the file's path in trust records
	sum     string
	trusted bool
	why     string    // the reason why the file is not trusted, as text for people
	owner   string    // the user who owns the file if it is not the current user, because it then cannot be trusted; otherwise empty
	changed bool      // the user trusted an earlier version of the file
	refused bool      // the user declined these bytes
	needs   []guarded // settings that require trust
	out     []guarded // the settings in needs that are ignored
}

// guarded is a project setting that requires trust.
type guarded struct {
	name  string
	text  string // the setting as complete YAML, with invisible characters escaped
	short string // the setting on one line, with secrets masked
}

// digest returns the value of [DigestVariable] for processes that this process starts,
// or "" if a person named the file.
func (p *Project) digest() string {
	switch {
	case p == nil:
		return ""
	case p.trusted:
		return p.sum
	}
	return UntrustedDigest
}

// readProject reads a project file once. It determines whether the file's bytes are
// trusted and which of its settings require trust. base is the user's own configuration
// file.
func (s *Settings) readProject(path string, base configFile, tell func(string)) (*Project, error) {
	data, owner, err := trust.ReadFile(path, MaxProjectFile)
	switch {
	case errors.As(err, new(trust.TooLarge)), errors.Is(err, fs.ErrNotExist):
		return nil, fault.Misuse("configuration "+err.Error(), "make it smaller, or pass another with --config")
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

// decide looks up the user's decision about the file.
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

// weigh collects the settings that require trust.
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

// guarded returns the setting and the values that would be used.
func (one setting) guarded(texts []string) guarded {
	var v any = texts
	switch {
	case one.tree:
		if err := yaml.Unmarshal([]byte(texts[0]), &v); err != nil { // JSON is valid YAML
			v = texts[0]
		}
	case !one.list:
		v = texts[0]
	}
	g := guarded{one.name, asYAML(map[string]any{key(one.name): v}), VisibleLine(one.listed(texts))}
	if one.secret {
		g.short = "********"
	}
	if inner, ok := v.(map[string]any); ok { // the values in it may be secret
		g.short = VisibleLine(strings.Join(slices.Sorted(maps.Keys(inner)), ","))
	}
	return g
}

// guardedUpstreams returns the upstreams in the form in which they would be used.
// Invalid entries are never used, and people cannot trust them.
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

// apply sets the values from a project file. If the file is trusted, apply sets all
// values in it. Otherwise it sets only the values that require no trust. Flags and
// environment variables take precedence.
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

// names returns the keys of settings as a comma-separated list.
func names(list []guarded) string {
	var keys []string
	for _, h := range list {
		keys = append(keys, key(h.name))
	}
	return strings.Join(keys, ", ")
}

// Project returns the project file that was found, or nil if there was none.
func (s *Settings) Project() *Project { return s.project }

// Path returns the file's path.
func (p *Project) Path() string { return p.path }

// LeftOut reports whether any settings in the file are ignored.
func (p *Project) LeftOut() bool { return len(p.out) > 0 }

// CanBeTrusted reports whether the file may be trusted. It returns false if another
// user owns the file or if the user has declined it.
func (p *Project) CanBeTrusted() bool { return p.owner == "" && !p.refused }

// Foreign returns the reason why the file cannot be trusted, or "" if it belongs
// to the user.
func (p *Project) Foreign() string {
	if p.owner == "" {
		return ""
	}
	return p.why
}

// Trusted reports whether the user trusts the file's bytes.
func (p *Project) Trusted() bool { return p.trusted }

// Changed reports whether the user trusted an earlier version of the file.
func (p *Project) Changed() bool { return p.changed }

// Needs returns the keys of the settings that require trust, as a comma-separated
// list.
func (p *Project) Needs() string { return names(p.needs) }

// Introduction lists all settings in the file that require trust, for a person who decides.
// path is the file's path as it is shown.
func (p *Project) Introduction(path string) string {
	said := "has settings that can run programs, reach a network or weaken a check"
	if p.Changed() {
		said = "has changed since you trusted it, and " + said
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s:\n\n", path, said)
	for line := range strings.Lines(p.Shown()) {
		b.WriteString("  " + line)
	}
	b.WriteString("\nThe programs themselves can change without a change to this file. ")
	return b.String()
}

// Shown returns the settings that require trust as complete YAML, with invisible
// characters escaped.
func (p *Project) Shown() string {
	var text strings.Builder
	for _, g := range p.needs {
		text.WriteString(g.text)
	}
	return text.String()
}

// Line returns one line that lists the ignored settings and says what to do about
// them.
func (p *Project) Line() string {
	return p.ignored() + VisibleLine("; "+p.Next())
}

// ignored returns one line that lists the ignored settings.
func (p *Project) ignored() string {
	return VisibleLine(fmt.Sprintf("%s %s: ignoring %s", p.path, p.why, names(p.out)))
}

// Next returns the next step for a person who wants the ignored settings.
func (p *Project) Next() string {
	switch {
	case p.owner != "":
		return "to use them anyway, pass the file with --config"
	case p.refused:
		return "you declined them; to review them again, run: " + p.Command()
	}
	return "to review and allow them, run: " + p.Command()
}

// Command returns the command that a person runs to trust the file.
func (p *Project) Command() string { return "deskhand trust " + quoted(filepath.Dir(p.path)) }

// unbroken escapes line breaks and tabs.
func unbroken(text string) string {
	return strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(text)
}

// quoted returns a path as a shell word.
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

// MayBuildInto returns an error if an untrusted file would make deskhand write the
// index outside the project's folder.
func (s *Settings) MayBuildInto(out string) error {
	p := s.project
	if p == nil || p.trusted || s.origin("index") != p.path || out != s.get("index") {
		return nil
	}
	if f := s.flag.Lookup("output"); f != nil && f.Changed || !leadsOut(filepath.Dir(p.place), out) {
		return nil
	}
	return fault.New("not_trusted", fmt.Sprintf("%s puts the index into %s, outside its folder, and %s", p.path, out, p.why),
		"pass a folder with -o or --index, or run: "+p.Command())
}

// leadsOut reports whether path is outside dir after symbolic links are resolved.
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
			return true // a broken link, or a path that cannot be resolved
		}
		path, missing = up, filepath.Join(filepath.Base(path), missing)
	}
	rel, err := filepath.Rel(dir, path)
	return err != nil || !filepath.IsLocal(rel)
}
