package deps

import (
	"context"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// maxDeclarations is the maximum number of .d.ts files that are read per package.
const maxDeclarations = 400

// npmPages writes a package's Markdown, and a page with the types for each .d.ts file.
func npmPages(ctx context.Context, p *pages, d Dependency) error {
	if err := p.copyMarkdown(ctx, d.Dir, "node_modules", "test", "tests", "__tests__"); err != nil {
		return err
	}
	src, err := p.read(d.Dir, "package.json", 4<<20)
	var about packageJSON
	if err != nil || json.Unmarshal(src, &about) != nil {
		return nil // the file could be read when the version was read
	}
	todo := entries(about)
	seen := map[string]bool{}
	for len(todo) > 0 && len(seen) < maxDeclarations {
		name := todo[0]
		todo = todo[1:]
		if err := ctx.Err(); err != nil {
			return err
		}
		file, text := p.declarationFile(d.Dir, name)
		if file == "" || seen[file] {
			continue
		}
		seen[file] = true
		f := scan(text)
		for _, from := range f.from {
			if strings.HasPrefix(from, "./") || strings.HasPrefix(from, "../") {
				todo = append(todo, path.Join(path.Dir(file), from))
			}
		}
		if body := f.markdown(); body != "" {
			title := strings.TrimSuffix(path.Join(d.Name, file), declarationEnding(file))
			if err := p.bounded(p.write("api/"+strings.TrimSuffix(file, declarationEnding(file))+".md", "# "+title+"\n\n"+body)); err != nil {
				return err
			}
		}
	}
	if len(todo) > 0 {
		p.leave("it has too many .d.ts files; only some were read")
	}
	return nil
}

func declarationEnding(file string) string {
	for _, e := range []string{".d.ts", ".d.mts", ".d.cts"} {
		if strings.HasSuffix(file, e) {
			return e
		}
	}
	return ""
}

// entries returns the declaration files that types and exports in package.json
// name. The files from exports are sorted by key. If there are none, entries
// returns the default files.
func entries(p packageJSON) (files []string) {
	for _, f := range []string{p.Types, p.Typings} {
		if f != "" {
			files = append(files, path.Clean(f))
		}
	}
	var exports any
	_ = json.Unmarshal(p.Exports, &exports) // invalid exports are ignored
	var collect func(v any, typed bool, depth int)
	collect = func(v any, typed bool, depth int) {
		switch v := v.(type) {
		case string:
			if (typed || declarationEnding(v) != "") && !strings.Contains(v, "*") {
				files = append(files, path.Clean(v))
			} else if !strings.Contains(v, "*") && strings.HasPrefix(v, "./") {
				files = append(files, strings.TrimSuffix(path.Clean(v), path.Ext(v)))
			}
		case []any:
			for _, x := range v {
				collect(x, typed, depth+1)
			}
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				if depth < 20 {
					collect(v[k], typed || k == "types" || strings.HasPrefix(k, "types@"), depth+1)
				}
			}
		}
	}
	collect(exports, false, 0)
	if p.Main != "" {
		files = append(files, strings.TrimSuffix(path.Clean(p.Main), path.Ext(p.Main)))
	}
	return append(files, "index")
}

// declarationFile finds and reads the .d.ts file for name. It returns empty strings if
// there is none.
func (p *pages) declarationFile(root, name string) (string, string) {
	bare := name
	for _, e := range []string{".mjs", ".cjs", ".js"} {
		bare = strings.TrimSuffix(bare, e)
	}
	candidates := []string{bare + ".d.ts", bare + ".d.mts", bare + ".d.cts", bare + "/index.d.ts"}
	if declarationEnding(name) != "" {
		candidates = []string{name}
	}
	for _, c := range candidates {
		if strings.HasPrefix(c, "../") || strings.HasPrefix(c, "/") {
			continue
		}
		if src, err := p.read(root, c, maxSource); err == nil {
			return c, string(src)
		}
	}
	return "", ""
}

// declaration is a statement in a .d.ts file.
type declaration struct {
	kind, name, doc, code string
	exported              bool
}

// declarations holds the declarations in a file and the paths of the files that
// it re-exports.
type declarations struct {
	list []declaration
	from []string
	// names holds the names in export lists. modular reports whether the file
	// exports anything.
	names   map[string]bool
	modular bool
}

var (
	declared = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(export\s+)?(?:default\s+)?(?:declare\s+)?(?:default\s+)?(?:abstract\s+|async\s+)*(function|class|interface|type|enum|const\s+enum|const|let|var|namespace|module)\b\s*\*?\s*("[^"]*"|'[^']*'|[A-Za-z_$][\w$.]*)?`)
	})
	exportFrom = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^export\s+(?:type\s+)?(?:\*(?:\s+as\s+[\w$]+)?|\{[^}]*\})\s*from\s*["']([^"']+)["']`)
	})
	exportList = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^export\s+(?:type\s+)?\{([^}]*)\}`) })
	reference  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^///\s*<reference\s+path=["']([^"']+)["']`) })
)

// scan reads the declarations of a .d.ts file. It recognizes strings, comments and
// brackets, but does not parse types.
func scan(src string) declarations {
	f := declarations{names: map[string]bool{}}
	for _, m := range reference().FindAllStringSubmatch(src, -1) {
		f.from = append(f.from, "./"+strings.TrimPrefix(m[1], "./"))
	}
	f.statements(src, "", 0)
	return f
}

// statements adds the statements of src. Names in a namespace start with prefix.
func (f *declarations) statements(src, prefix string, depth int) {
	s := scanner{src: src}
	for {
		doc, text := s.next()
		if text == "" {
			return
		}
		f.add(doc, text, prefix, depth)
	}
}

func (f *declarations) add(doc, text, prefix string, depth int) {
	if strings.HasPrefix(text, "export") {
		f.modular = true
	}
	if m := exportFrom().FindStringSubmatch(text); m != nil {
		f.from = append(f.from, m[1])
		return
	}
	if m := exportList().FindStringSubmatch(text); m != nil {
		for _, part := range strings.Split(m[1], ",") {
			if name := strings.Fields(strings.TrimPrefix(strings.TrimSpace(part), "type ")); len(name) > 0 {
				f.names[name[0]] = true
			}
		}
		return
	}
	if rest, ok := strings.CutPrefix(text, "export ="); ok {
		f.names[strings.Trim(rest, " ;\n")] = true
		return
	}
	m := declared().FindStringSubmatch(text)
	if m == nil {
		return
	}
	name := strings.Trim(m[3], `"'`)
	if m[2] == "namespace" || m[2] == "module" {
		open := strings.IndexByte(text, '{')
		if open < 0 || depth > 8 {
			return
		}
		inner := prefix + name + "."
		if strings.ContainsAny(m[3], `"'`) {
			inner = "" // "declare module" with a string: the names inside get no prefix
		}
		before := len(f.list)
		f.statements(strings.TrimSuffix(strings.TrimRight(text[open+1:], " \n;"), "}"), inner, depth+1)
		for i := before; i < len(f.list); i++ { // if a namespace is exported, its contents are exported too
			f.list[i].exported = m[1] != "" || f.list[i].exported && strings.ContainsAny(m[3], `"'`) || inner == ""
		}
		return
	}
	if name == "" {
		name = "default"
	}
	f.list = append(f.list, declaration{kind: strings.Join(strings.Fields(m[2]), " "), name: prefix + name, doc: doc, code: text, exported: m[1] != ""})
}

// markdown returns a section for each exported declaration. If there are none, it
// returns "".
func (f declarations) markdown() string {
	var b strings.Builder
	last := ""
	for _, d := range f.list {
		top, _, _ := strings.Cut(d.name, ".")
		if f.modular && !d.exported && !f.names[d.name] && !f.names[top] {
			continue
		}
		title := d.kind + " " + d.name
		if title == last { // another overload
			title = ""
		}
		if title != "" {
			b.WriteString("## " + title + "\n\n")
			last = title
		}
		b.WriteString(fence("ts", shorten(d.code)))
		if d.doc != "" {
			b.WriteString(d.doc + "\n\n")
		}
	}
	return b.String()
}

// scanner splits a file into statements.
type scanner struct {
	src string
	at  int
}

// next returns the next statement and the text of the doc comment before it. At the
// end of the file, the statement is empty.
func (s *scanner) next() (doc, text string) {
	for s.at < len(s.src) {
		rest := s.src[s.at:]
		switch {
		case strings.HasPrefix(rest, "/**"):
			end := s.skip()
			doc = jsdoc(s.src[s.at:end])
			s.at = end
		case strings.HasPrefix(rest, "//") || strings.HasPrefix(rest, "/*"):
			s.at = s.skip()
		case strings.IndexByte(" \t\r\n;)]}", rest[0]) >= 0:
			s.at++
		default:
			start := s.at
			s.statement()
			return doc, strings.TrimSpace(strings.ReplaceAll(s.src[start:s.at], "\r\n", "\n"))
		}
	}
	return "", ""
}

// starts matches the beginning of a statement. It is used if the previous statement
// has no semicolon.
var starts = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*(?:export|declare|import|interface|type|class|function|const|namespace)\s|^\s*/\*\*`)
})

// block matches the beginning of a statement that ends with a closing brace.
var block = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:export\s+)?(?:default\s+)?(?:declare\s+)?(?:default\s+)?(?:abstract\s+)?(?:class|interface|enum|const\s+enum|namespace|module|global)\b`)
})

// statement advances to the end of the statement at s.at.
func (s *scanner) statement() {
	braces := block().MatchString(s.src[s.at:min(len(s.src), s.at+200)])
	depth := 0
	for s.at < len(s.src) {
		switch c := s.src[s.at]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth == 0 {
				return
			}
			if depth--; depth == 0 && c == '}' && braces {
				s.at++
				return
			}
		case ';':
			if depth == 0 {
				s.at++
				return
			}
		case '\n':
			if depth == 0 && starts().MatchString(s.src[s.at:min(len(s.src), s.at+400)]) {
				return
			}
		case '"', '\'', '`', '/':
			s.at = s.skip()
			continue
		}
		s.at++
	}
}

// skip returns the end of the string or comment at s.at, or the offset of the next
// byte.
func (s *scanner) skip() int {
	rest := s.src[s.at:]
	until := func(end string, from int) int {
		if i := strings.Index(rest[from:], end); i >= 0 {
			return s.at + from + i + len(end)
		}
		return len(s.src)
	}
	switch {
	case strings.HasPrefix(rest, "//"):
		return until("\n", 2) - 1 + btoi(!strings.Contains(rest, "\n"))
	case strings.HasPrefix(rest, "/*"):
		return until("*/", 2)
	case rest[0] == '/':
		return s.at + 1
	}
	for i := 1; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == rest[0]:
			return s.at + i + 1
		case rest[i] == '\n' && rest[0] != '`': // it is an apostrophe, not a string
			return s.at + i
		}
	}
	return len(s.src)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// tag matches a JSDoc block tag at the beginning of a line.
var tag = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^@(\w+)\s*(.*)$`) })

// jsdoc returns the text of a doc comment, with its tags as a list.
func jsdoc(comment string) string {
	comment = strings.TrimSuffix(strings.TrimPrefix(comment, "/**"), "*/")
	var out []string
	fenced := false
	for _, line := range strings.Split(strings.ReplaceAll(comment, "\r", ""), "\n") {
		line = strings.TrimLeft(line, " \t")
		line = strings.TrimRight(strings.TrimPrefix(strings.TrimPrefix(line, "*"), " "), " \t")
		if strings.HasPrefix(strings.TrimSpace(line), "```") {
			fenced = !fenced
		}
		m := tag().FindStringSubmatch(line)
		switch {
		case fenced || m == nil:
			if !fenced && strings.HasPrefix(line, "#") { // turn headings into subheadings of the section
				line = "##" + line
			}
			out = append(out, line)
		case m[1] == "example":
			out = append(out, "", "Example: "+m[2], "")
		case m[1] == "param" || m[1] == "returns" || m[1] == "return" || m[1] == "deprecated" || m[1] == "default" || m[1] == "throws" || m[1] == "see" || m[1] == "since" || m[1] == "remarks":
			out = append(out, "- "+m[1]+": "+m[2])
		}
	}
	return strings.TrimSpace(strings.Join(out, "\n"))
}
