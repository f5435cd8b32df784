package deps

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/build"
	"go/build/constraint"
	"go/doc"
	"go/doc/comment"
	"go/format"
	"go/parser"
	"go/printer"
	"go/token"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
)

// goFile is one source file of a package.
type goFile struct {
	name string
	src  []byte
}

// goPackages writes a page for each package of a module except internal ones.
func (p *pages) goPackages(ctx context.Context, root, module string) error {
	folders := map[string][]goFile{}
	err := p.walk(ctx, root, []string{"testdata", "vendor", "internal", "node_modules"}, func(r *os.Root, name string, d fs.DirEntry) error {
		if d.IsDir() {
			if strings.HasPrefix(d.Name(), "_") {
				return fs.SkipDir
			}
			if _, err := r.Lstat(path.Join(name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir // it belongs to another module
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasPrefix(d.Name(), "_") || strings.HasPrefix(d.Name(), ".") {
			return nil
		}
		src, err := readIn(r, name, maxSource)
		if err != nil {
			p.leave(printable(name) + ": " + printable(err.Error()))
			return nil
		}
		if strings.HasSuffix(name, "_test.go") && !bytes.Contains(src, []byte("\nfunc Example")) || !chosen(d.Name(), src) {
			return nil
		}
		folders[path.Dir(name)] = append(folders[path.Dir(name)], goFile{d.Name(), src})
		return nil
	})
	if err = p.bounded(err); err != nil {
		return err
	}
	for _, folder := range slices.Sorted(maps.Keys(folders)) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := p.bounded(p.goPackage(folder, path.Join(module, folder), folders[folder])); err != nil {
			return err
		}
	}
	return nil
}

// platform is the platform whose files are selected.
var platform = build.Context{GOOS: "linux", GOARCH: "amd64", Compiler: "gc", CgoEnabled: true, ReleaseTags: build.Default.ReleaseTags}

// chosen reports whether go/build would select a file for linux/amd64, with cgo
// enabled. Files that are only for other Go releases are not selected.
func chosen(name string, src []byte) bool {
	c := platform
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(src)), nil }
	ok, err := c.MatchFile("", name)
	return err == nil && ok && !ignored(src)
}

// ignored reports whether a file is excluded from builds by "//go:build ignore".
func ignored(src []byte) bool {
	for line := range strings.Lines(string(src[:min(len(src), 4096)])) {
		if text := strings.TrimSpace(line); constraint.IsGoBuild(text) && strings.TrimSpace(strings.TrimPrefix(text, "//go:build")) == "ignore" {
			return true
		}
	}
	return false
}

func (p *pages) goPackage(folder, importPath string, files []goFile) error {
	fset := token.NewFileSet()
	parsed := map[string][]*ast.File{} // by package name
	for _, f := range files {
		file, err := parser.ParseFile(fset, f.name, f.src, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			p.leave(printable(path.Join(folder, f.name)) + ": this version of deskhand cannot parse it as Go")
			continue
		}
		name := file.Name.Name
		if strings.HasSuffix(f.name, "_test.go") {
			name = strings.TrimSuffix(name, "_test")
		}
		parsed[name] = append(parsed[name], file)
	}
	name := ""
	for _, n := range slices.Sorted(maps.Keys(parsed)) {
		if n != "documentation" && len(parsed[n]) > len(parsed[name]) {
			name = n
		}
	}
	if name == "" {
		return nil
	}
	pkg, err := newDoc(fset, parsed[name], importPath)
	if err != nil {
		p.leave(printable(folder) + ": " + printable(err.Error()))
		return nil
	}
	g := goPage{fset: fset, pkg: pkg, comments: pkg.Printer()}
	g.comments.HeadingID = func(*comment.Heading) string { return "" }
	g.comments.DocLinkURL = func(*comment.DocLink) string { return "" }
	text := g.page()
	if text == "" {
		return nil
	}
	if folder == "." {
		folder = path.Base(name)
	}
	return p.write("api/"+folder+".md", text)
}

// newDoc calls doc.NewFromFiles. Unusual code can make it panic, and newDoc
// converts such a panic to an error.
func newDoc(fset *token.FileSet, files []*ast.File, importPath string) (pkg *doc.Package, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("go/doc cannot read it: %v", r)
		}
	}()
	return doc.NewFromFiles(fset, files, importPath)
}

// goPage builds the page for one package.
type goPage struct {
	fset     *token.FileSet
	pkg      *doc.Package
	comments *comment.Printer
	b        strings.Builder
	symbols  int
}

// page returns the page's text. It returns "" if the package has no docs and
// exports nothing.
func (g *goPage) page() string {
	p := g.pkg
	fmt.Fprintf(&g.b, "# Package %s\n\n%s", p.Name, fence("go", fmt.Sprintf("import %q", p.ImportPath)))
	g.doc(p.Doc, 2)
	g.examples(p.Examples)
	if p.Name != "main" {
		g.values("const", p.Consts)
		g.values("var", p.Vars)
		g.funcs(p.Funcs)
		for _, t := range p.Types {
			g.section("type "+t.Name, t.Decl, t.Doc)
			g.examples(t.Examples)
			g.values("const", t.Consts)
			g.values("var", t.Vars)
			g.funcs(t.Funcs)
			g.funcs(t.Methods)
		}
	}
	if g.symbols == 0 && strings.TrimSpace(p.Doc) == "" {
		return ""
	}
	return strings.TrimRight(g.b.String(), "\n") + "\n"
}

func (g *goPage) doc(text string, level int) {
	if strings.TrimSpace(text) == "" {
		return
	}
	g.comments.HeadingLevel = level
	g.b.Write(g.comments.Markdown(g.pkg.Parser().Parse(text)))
	g.b.WriteString("\n")
}

func (g *goPage) section(title string, decl ast.Decl, text string) {
	g.symbols++
	fmt.Fprintf(&g.b, "## %s\n\n%s", title, fence("go", shorten(g.code(decl))))
	g.doc(text, 3)
}

// code returns the source of a declaration without the doc comment and the body.
func (g *goPage) code(decl ast.Decl) string {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		d.Doc, d.Body = nil, nil
	case *ast.GenDecl:
		d.Doc = nil
	}
	var b bytes.Buffer
	if err := format.Node(&b, g.fset, decl); err != nil {
		return "// " + err.Error()
	}
	return b.String()
}

// maxNames is the maximum number of names in the heading of a group of
// declarations.
const maxNames = 6

func (g *goPage) values(word string, values []*doc.Value) {
	for _, v := range values {
		names := slices.DeleteFunc(slices.Clone(v.Names), func(n string) bool { return !token.IsExported(n) })
		title := strings.Join(names[:min(len(names), maxNames)], ", ")
		if len(names) > maxNames {
			title += ", ..."
		}
		g.section(word+" "+title, v.Decl, v.Doc)
	}
}

func (g *goPage) funcs(funcs []*doc.Func) {
	for _, f := range funcs {
		title := "func " + f.Name
		if f.Recv != "" {
			title = fmt.Sprintf("func (%s) %s", f.Recv, f.Name)
		}
		g.section(title, f.Decl, f.Doc)
		g.examples(f.Examples)
	}
}

func (g *goPage) examples(examples []*doc.Example) {
	for _, e := range examples {
		title := "Example"
		if e.Suffix != "" {
			title += " (" + strings.ReplaceAll(e.Suffix, "_", " ") + ")"
		}
		var b bytes.Buffer
		if err := format.Node(&b, g.fset, &printer.CommentedNode{Node: e.Code, Comments: e.Comments}); err != nil {
			continue
		}
		code := b.String()
		if inner, ok := strings.CutPrefix(code, "{"); ok {
			code = strings.ReplaceAll(strings.TrimSuffix(strings.TrimSpace(inner), "}"), "\n\t", "\n")
		}
		fmt.Fprintf(&g.b, "### %s\n\n", title)
		g.doc(e.Doc, 4)
		g.b.WriteString(fence("go", shorten(strings.TrimSpace(code))))
		if e.Output != "" {
			g.b.WriteString("Output:\n\n" + fence("text", shorten(e.Output)))
		}
	}
}
