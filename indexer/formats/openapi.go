package formats

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
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
	a := &api{root: root, work: w, refs: map[string]*yaml.Node{}, refused: map[string]bool{}, title: cmp.Or(oneLine(text(get(get(root, "info"), "title"))), stem(w.Path))}
	for _, page := range a.pages() {
		if err := c.write(w, page.name, page.text.String(), page.lines); err != nil {
			return err
		}
	}
	return nil
}

type api struct {
	root    *yaml.Node
	work    *work
	title   string
	refs    map[string]*yaml.Node
	refused map[string]bool // external references; each is reported only once
	steps   int
}

// maxSteps is the maximum number of nodes visited per description. A node that is
// referenced is shown wherever it is used. Without a limit, the output for a small file
// could therefore be arbitrarily large.
const maxSteps = 2_000_000

var errSteps = errors.New("its references expand to too much text")

// step counts a visited node. If there are too many, it panics, and
// [Converter.one] stops the conversion.
func (a *api) step() {
	if a.steps++; a.steps > maxSteps {
		panic(errSteps)
	}
}

// resolve returns the node that a reference within the file points to, and the last
// part of the reference as a name. The node is nil if the reference points nowhere or
// to another file. Other files are never read.
func (a *api) resolve(n *yaml.Node) (*yaml.Node, string) {
	name := ""
	for range 10 {
		a.step()
		n = follow(n)
		ref := text(get(n, "$ref"))
		if ref == "" {
			return n, name
		}
		to, inside := strings.CutPrefix(ref, "#/")
		if !inside {
			a.refuse(n.Line, ref)
			return nil, cut(oneLine(ref), 200)
		}
		name = to[strings.LastIndexByte(to, '/')+1:]
		n = a.at(to)
	}
	return nil, name
}

func (a *api) refuse(line int, ref string) {
	if !a.refused[ref] && len(a.refused) < maxProblems {
		a.refused[ref] = true
		a.work.problem(line, "$ref to '%s' is not followed: deskhand reads references into the same file only", cut(oneLine(ref), 200))
	}
}

// at returns the node at a JSON pointer. The pointer starts after "#/".
func (a *api) at(pointer string) *yaml.Node {
	if n, known := a.refs[pointer]; known {
		return n
	}
	n := a.root
	for _, part := range strings.Split(pointer, "/") {
		a.step()
		part = strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(part)
		n = get(n, part)
	}
	a.refs[pointer] = n
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
	for _, tag := range list(get(a.root, "tags")) {
		about[text(get(tag, "name"))] = pair{line: tag.Line, value: get(tag, "description")}
	}
	for _, of := range []string{"paths", "webhooks"} {
		for _, path := range pairs(get(a.root, of)) {
			item, _ := a.resolve(path.value)
			for _, o := range pairs(item) {
				if !slices.Contains(methods, o.key) {
					continue
				}
				tag := "Operations"
				if of == "webhooks" {
					tag = "Webhooks"
				}
				if tags := list(get(o.value, "tags")); len(tags) > 0 {
					tag = cmp.Or(oneLine(text(tags[0])), tag)
				}
				p := page(tag, about[tag].line, about[tag].value)
				a.operation(p, strings.ToUpper(o.key)+" "+path.key, o, item)
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
	info := get(a.root, "info")
	p.block(lineOf(info), "# "+heading(a.title))
	if v := text(get(info, "version")); v != "" {
		p.block(lineOf(get(info, "version")), "Version "+escapePlain(oneLine(v)))
	}
	p.block(lineOf(get(info, "description")), prose(get(info, "description")))
	if servers := list(get(a.root, "servers")); len(servers) > 0 {
		p.block(0, "## Servers")
		for _, s := range servers {
			p.add(lineOf(s), item(code(text(get(s, "url"))), oneLine(text(get(s, "description")))))
		}
		p.add(0, "")
	}
	if schemes := pairs(get(get(a.root, "components"), "securitySchemes")); len(schemes) > 0 {
		p.block(0, "## Authentication")
		for _, s := range schemes {
			n, _ := a.resolve(s.value)
			what := joinWords(text(get(n, "type")), text(get(n, "scheme")), text(get(n, "in")), text(get(n, "name")))
			p.add(s.line, item(code(s.key)+" ("+escapePlain(oneLine(what))+")", oneLine(text(get(n, "description")))))
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
	p.block(lineOf(get(n, "description")), prose(get(n, "description")))
	if id := text(get(n, "operationId")); id != "" {
		p.block(lineOf(get(n, "operationId")), "Operation: "+code(id))
	}
	parameters := slices.Concat(list(get(item, "parameters")), list(get(n, "parameters")))
	if len(parameters) > 0 {
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
	all := pairs(get(get(a.root, "components"), "schemas"))
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
