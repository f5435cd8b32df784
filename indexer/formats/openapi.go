package formats

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// opensAPI matches a line that occurs in every OpenAPI 3 description. swagger
// matches a line that occurs in descriptions before version 3.
var (
	opensAPI = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(^|[{,]\s*)["']?openapi["']?\s*:\s*["']?3\.`) })
	swagger  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)(^|[{,]\s*)["']?swagger["']?\s*:\s*["']?2\.`) })
)

// apiPages converts an OpenAPI description to pages. These are an overview, one page
// per tag with a section for each operation, and a page with the schemas.
func apiPages(_ context.Context, c *Converter, w *work) error {
	switch {
	case bytes.Contains(w.src, []byte("openapi")) && opensAPI().Match(w.src):
	case bytes.Contains(w.src[:min(len(w.src), 4<<10)], []byte("swagger")) && swagger().Match(w.src[:min(len(w.src), 4<<10)]):
		return leave{endingOf(w.Path), "Swagger 2 is not supported; convert it to OpenAPI 3"}
	default:
		return errNotOurs
	}
	root, err := parseTree(w.src)
	if err != nil {
		return err
	}
	if !strings.HasPrefix(text(get(root, "openapi")), "3.") {
		return errNotOurs
	}
	a := &api{documents: documents{c: c, path: w.Path, root: root, files: map[string]document{}, bytes: len(w.src)}, work: w, refs: map[string]*yaml.Node{}, refused: map[string]bool{}}
	a.title = cmp.Or(oneLine(text(a.get("info", "title"))), stem(w.Path))
	for _, page := range a.pages() {
		if err := c.write(w, page.name, page.text.String(), page.lines); err != nil {
			return err
		}
	}
	return nil
}

type api struct {
	documents
	work    *work
	title   string
	refs    map[string]*yaml.Node
	refused map[string]bool // references that are not followed; each is reported only once
	steps   int
	nested  int // depth of the calls to at
}

// maxSteps is the maximum number of nodes visited per description. A node that is
// referenced is shown wherever it is used. Without a limit, the output for a small file
// could therefore be arbitrarily large.
const maxSteps = 2_000_000

// maxNestedRefs is the maximum number of references that each lead through the next.
const maxNestedRefs = 100

var errSteps = errors.New("its references expand to too much text")

// step counts a visited node. If there are too many, it panics, and
// [Converter.one] stops the conversion.
func (a *api) step() {
	if a.steps++; a.steps > maxSteps {
		panic(errSteps)
	}
}

// resolve returns the node that a reference points to, and the last part of the
// reference as a name. If it points to another reference, resolve follows that too. The reference may point into another file of the corpus. The node
// is nil if the reference points nowhere or out of the corpus.
func (a *api) resolve(n *yaml.Node) (*yaml.Node, string) {
	name := ""
	for range 10 {
		a.step()
		n = follow(n)
		ref := text(get(n, "$ref"))
		if ref == "" {
			return n, name
		}
		file, pointer, _ := strings.Cut(ref, "#")
		root, why := a.in(file)
		if why != "" {
			a.refuse(n.Line, ref, why)
			return nil, cut(oneLine(ref), 200)
		}
		name = cmp.Or(name, pointer[strings.LastIndexByte(pointer, '/')+1:], stem(cmp.Or(file, a.path)))
		n = a.at(root, file, pointer)
	}
	return nil, name
}

// get returns the value that the keys lead to from the root of the description. Each may
// be behind a reference.
func (a *api) get(keys ...string) *yaml.Node {
	n := a.root
	for _, key := range keys {
		n, _ = a.resolve(get(n, key))
	}
	return n
}

func (a *api) refuse(line int, ref, why string) {
	if !a.refused[ref] && len(a.refused) < maxProblems {
		a.refused[ref] = true
		a.work.problem(line, "$ref to '%s' is not followed: %s", cut(oneLine(ref), 200), why)
	}
}

// at returns the node at a JSON pointer in the file with the given root. The pointer may
// be percent-encoded, as the fragment of an address, and lead through other references. A
// pointer that leads through itself points nowhere.
func (a *api) at(root *yaml.Node, file, pointer string) *yaml.Node {
	key := file + "#" + pointer
	if n, known := a.refs[key]; known {
		return n
	}
	a.refs[key] = nil
	if a.nested++; a.nested > maxNestedRefs {
		panic(errSteps)
	}
	defer func() { a.nested-- }()
	n := root
	if decoded, err := url.PathUnescape(pointer); err == nil {
		pointer = decoded
	}
	if pointer = strings.TrimPrefix(pointer, "/"); pointer != "" {
		for part := range strings.SplitSeq(pointer, "/") {
			a.step()
			part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
			n, _ = a.resolve(n)
			if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(list(n)) {
				n = follow(list(n)[i])
			} else {
				n = get(n, part)
			}
		}
	}
	a.refs[key] = n
	return n
}

// apiPage is a page that is being built.
type apiPage struct {
	builder
	name string
}

// methods lists the HTTP methods of the operations on a path, in the order of the
// specification.
var methods = []string{"get", "put", "post", "delete", "options", "head", "patch", "trace", "query"}

// operationsOf returns the operations on a path, by method.
func (a *api) operationsOf(path *yaml.Node) (all []pair) {
	for _, o := range pairs(path) {
		if slices.Contains(methods, o.key) {
			o.value, _ = a.resolve(o.value)
			all = append(all, o)
		}
	}
	return all
}

// pages builds all pages.
func (a *api) pages() []*apiPage {
	overview := &apiPage{name: "overview"}
	a.overview(overview)
	pages := []*apiPage{overview}
	byTag := map[string]*apiPage{}
	used, next := map[string]bool{"overview": true, "schemas": true}, map[string]int{}
	page := func(tag string, line int, about *yaml.Node) *apiPage {
		if p := byTag[tag]; p != nil {
			return p
		}
		base := slug(tag)
		name := base
		for n := max(2, next[base]); used[name]; n++ {
			name, next[base] = fmt.Sprintf("%s-%d", base, n), n+1
		}
		used[name] = true
		p := &apiPage{name: name}
		p.block(line, "# "+heading(tag)+" - "+heading(a.title))
		p.block(line, prose(about))
		byTag[tag] = p
		pages = append(pages, p)
		return p
	}
	about := map[string]pair{}
	for _, tag := range list(a.get("tags")) {
		line := tag.Line
		tag, _ = a.resolve(tag)
		description, _ := a.resolve(get(tag, "description"))
		about[text(get(tag, "name"))] = pair{line: line, value: description}
	}
	for _, of := range []string{"paths", "webhooks"} {
		for _, path := range pairs(a.get(of)) {
			item, _ := a.resolve(path.value)
			for _, o := range a.operationsOf(item) {
				tag := "Operations"
				if of == "webhooks" {
					tag = "Webhooks"
				}
				if tags := list(get(o.value, "tags")); len(tags) > 0 {
					tag = cmp.Or(oneLine(text(tags[0])), tag)
				}
				p := page(tag, about[tag].line, about[tag].value)
				a.operation(p, strings.ToUpper(o.key)+" "+path.key, o, item)
				a.callbacks(p, o.value)
			}
		}
	}
	if p := a.schemas(); p != nil {
		pages = append(pages, p)
	}
	return pages
}

// overview adds the API's description, servers and authentication.
func (a *api) overview(p *apiPage) {
	info := a.get("info")
	p.block(lineOf(info), "# "+heading(a.title))
	if v := text(get(info, "version")); v != "" {
		p.block(lineOf(get(info, "version")), "Version "+escapePlain(oneLine(v)))
	}
	p.block(lineOf(get(info, "description")), prose(a.get("info", "description")))
	if servers := list(a.get("servers")); len(servers) > 0 {
		p.block(0, "## Servers")
		for _, s := range servers {
			p.add(lineOf(s), item(code(text(get(s, "url"))), oneLine(text(get(s, "description")))))
		}
		p.add(0, "")
	}
	if schemes := pairs(a.get("components", "securitySchemes")); len(schemes) > 0 {
		p.block(0, "## Authentication")
		for _, s := range schemes {
			n, _ := a.resolve(s.value)
			what := joinWords(text(get(n, "type")), text(get(n, "scheme")), text(get(n, "in")), text(get(n, "name")))
			name, about := code(s.key)+" ("+escapePlain(oneLine(what))+")", get(n, "description")
			if strings.Contains(strings.TrimSpace(text(about)), "\n\n") {
				p.block(s.line, "\n"+name+":")
				p.block(lineOf(about), prose(about))
				continue
			}
			p.add(s.line, item(name, oneLine(text(about))))
		}
		p.add(0, "")
	}
}

// operation adds a section for an operation.
func (a *api) operation(p *apiPage, name string, o pair, item *yaml.Node) {
	a.step()
	n := o.value
	title := name
	if summary := oneLine(text(get(n, "summary"))); summary != "" {
		title += ": " + summary
	}
	p.block(o.line, "## "+heading(title))
	if isTrue(get(n, "deprecated")) {
		p.block(lineOf(get(n, "deprecated")), "**Deprecated.**")
	}
	description, _ := a.resolve(get(n, "description"))
	p.block(lineOf(get(n, "description")), prose(description))
	if id := text(get(n, "operationId")); id != "" {
		p.block(lineOf(get(n, "operationId")), "Operation: "+code(id))
	}
	if parameters := a.parameters(item, n); len(parameters) > 0 {
		p.block(0, "**Parameters**")
		for _, parameter := range parameters {
			a.parameter(p, parameter)
		}
		p.add(0, "")
	}
	if body, _ := a.resolve(get(n, "requestBody")); body != nil {
		required := ""
		if isTrue(get(body, "required")) {
			required = " (required)"
		}
		p.block(body.Line, "**Request body**"+required)
		p.block(lineOf(get(body, "description")), prose(get(body, "description")))
		a.content(p, body)
	}
	for _, r := range pairs(get(n, "responses")) {
		response, _ := a.resolve(r.value)
		p.block(r.line, strings.TrimSuffix("**Response "+escapePlain(oneLine(r.key))+"**: "+escapePlain(oneLine(text(get(response, "description")))), ": "))
		a.content(p, response)
	}
}

// callbacks adds sections for the requests that the server makes because of an operation.
// Their own callbacks are not shown.
func (a *api) callbacks(p *apiPage, operation *yaml.Node) {
	for _, callback := range pairs(get(operation, "callbacks")) {
		paths, _ := a.resolve(callback.value)
		for _, path := range pairs(paths) {
			item, _ := a.resolve(path.value)
			for _, o := range a.operationsOf(item) {
				a.operation(p, "Callback "+callback.key+": "+strings.ToUpper(o.key)+" "+path.key, o, item)
			}
		}
	}
}

// parameters returns the parameters of an operation. Its own replace those of its path
// with the same name and place.
func (a *api) parameters(path, operation *yaml.Node) []*yaml.Node {
	own := list(get(operation, "parameters"))
	named := map[[2]string]bool{}
	key := func(n *yaml.Node) [2]string {
		n, _ = a.resolve(n)
		return [2]string{text(get(n, "name")), text(get(n, "in"))}
	}
	for _, n := range own {
		named[key(n)] = true
	}
	shared := slices.DeleteFunc(slices.Clone(list(get(path, "parameters"))), func(n *yaml.Node) bool {
		k := key(n)
		return k[0] != "" && named[k]
	})
	return append(shared, own...)
}

func (a *api) parameter(p *apiPage, n *yaml.Node) {
	line := n.Line
	n, name := a.resolve(n)
	if n == nil {
		p.add(line, "- "+code(name))
		return
	}
	schema := get(n, "schema")
	what := []string{text(get(n, "in")), a.typeOf(schema, 0)}
	if isTrue(get(n, "required")) {
		what = append(what, "required")
	}
	if isTrue(get(n, "deprecated")) {
		what = append(what, "deprecated")
	}
	s, _ := a.resolve(schema)
	p.add(line, item(code(text(get(n, "name")))+" ("+commas(what)+")", joinWords(oneLine(text(get(n, "description"))), a.limits(s), a.exampleOf(n))))
}

// maxMedia is the maximum number of media types that are shown for one body.
const maxMedia = 4

// content adds a body's media types, with their schemas and examples. If several types
// have the same schema, it is shown only once.
func (a *api) content(p *apiPage, n *yaml.Node) {
	shown := map[*yaml.Node]bool{}
	for i, m := range pairs(get(n, "content")) {
		if i == maxMedia {
			break
		}
		schema := get(m.value, "schema")
		resolved, _ := a.resolve(schema)
		p.block(m.line, code(m.key)+": "+a.typeOf(schema, 0))
		if resolved != nil && !shown[resolved] {
			shown[resolved] = true
			before := len(p.lines)
			a.fields(p, schema, 0, nil)
			if len(p.lines) > before {
				p.add(0, "")
			}
		}
		a.examples(p, m.value, resolved)
	}
}

// schemas returns a page with the named schemas, or nil if there are none.
func (a *api) schemas() *apiPage {
	all := pairs(a.get("components", "schemas"))
	if len(all) == 0 {
		return nil
	}
	p := &apiPage{name: "schemas"}
	p.block(0, "# Schemas - "+heading(a.title))
	for _, s := range all {
		a.step()
		n, _ := a.resolve(s.value)
		p.block(s.line, "## "+heading(s.key))
		p.block(s.line, cmp.Or(a.kindOf(n), "any"))
		p.block(lineOf(get(n, "description")), prose(get(n, "description")))
		before := len(p.lines)
		a.fields(p, n, maxFieldDepth-1, []*yaml.Node{n})
		if limits := a.limits(n); limits != "" {
			p.add(s.line, limits)
		}
		if len(p.lines) > before {
			p.add(0, "")
		}
		a.examples(p, nil, n)
	}
	return p
}
