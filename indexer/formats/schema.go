package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// Limits on the amount of text for one schema.
const (
	maxFieldDepth = 4
	maxFields     = 300     // per body
	maxFieldText  = 8 << 10 // per body, if fewer levels fit into it
	maxEnum       = 30
	maxExample    = 4 << 10
	maxExamples   = 3
)

// typeOf describes a schema in a few words, for example "Pet", "array of Pet" or
// "string (uuid)".
func (a *api) typeOf(n *yaml.Node, depth int) string {
	resolved, name := a.resolve(n)
	if name != "" {
		return escapePlain(oneLine(name))
	}
	if depth > maxFieldDepth {
		return "..."
	}
	return a.kindOf(resolved, depth)
}

// kindOf describes a schema like typeOf, but without its name.
func (a *api) kindOf(n *yaml.Node, depths ...int) string {
	depth := 1
	if len(depths) > 0 {
		depth = depths[0] + 1
	}
	a.step()
	for _, key := range []string{"oneOf", "anyOf", "allOf"} {
		var names []string
		for _, one := range list(get(n, key)) {
			if t := a.typeOf(one, depth); t != "" && !slices.Contains(names, t) && len(names) < 10 {
				names = append(names, t)
			}
		}
		if len(names) > 0 {
			return cut(strings.Join(names, map[string]string{"oneOf": " or ", "anyOf": " or ", "allOf": " and "}[key]), 300)
		}
	}
	var types []string
	for _, t := range list(get(n, "type")) { // since OpenAPI 3.1
		types = append(types, text(t))
	}
	kind := cmp.Or(text(get(n, "type")), strings.Join(types, " or "))
	switch {
	case get(n, "items") != nil:
		kind = strings.Replace(cmp.Or(kind, "array"), "array", "array of "+cmp.Or(a.typeOf(get(n, "items"), depth), "any"), 1)
	case kind == "" && get(n, "properties") != nil:
		kind = "object"
	}
	if format := text(get(n, "format")); format != "" {
		kind += " (" + format + ")"
	}
	if isTrue(get(n, "nullable")) {
		kind += " or null"
	}
	return escapePlain(cut(oneLine(kind), 300))
}

// fields adds a list of the members of an object, the elements of an array, or the
// parts of a composed schema. above holds the schemas that enclose n. If the list is
// long, it has fewer levels, because each named schema also has a section of its own.
func (a *api) fields(p *apiPage, n *yaml.Node, depth int, above []*yaml.Node) {
	for levels := maxFieldDepth; ; levels-- {
		var part apiPage
		a.fieldsOf(&part, n, depth, levels, above)
		if part.text.Len() <= maxFieldText || levels <= depth+1 {
			p.text.WriteString(part.text.String())
			p.lines = append(p.lines, part.lines...)
			return
		}
	}
}

func (a *api) fieldsOf(p *apiPage, n *yaml.Node, depth, levels int, above []*yaml.Node) {
	n, _ = a.resolve(n)
	if n == nil || depth >= levels || len(above) > 4*maxFieldDepth {
		return
	}
	if len(above) > 0 && above[len(above)-1] != n && slices.Contains(above, n) {
		return // the schema contains itself
	}
	above = append(slices.Clip(above), n)
	for _, key := range []string{"allOf", "oneOf", "anyOf"} {
		for _, part := range list(get(n, key)) {
			a.fieldsOf(p, part, depth, levels, above)
		}
	}
	if items := get(n, "items"); items != nil {
		a.fieldsOf(p, items, depth, levels, above)
	}
	required := map[string]bool{}
	for _, name := range list(get(n, "required")) {
		required[text(name)] = true
	}
	for _, f := range pairs(get(n, "properties")) {
		if len(p.lines) >= maxFields {
			p.add(0, strings.Repeat("  ", depth)+"- ...")
			return
		}
		a.field(p, f, required[f.key], depth)
		if depth+1 < levels {
			a.fieldsOf(p, f.value, depth+1, levels, above)
		}
	}
}

// field adds a line for one member.
func (a *api) field(p *apiPage, f pair, required bool, depth int) {
	n, _ := a.resolve(f.value)
	what := []string{a.typeOf(f.value, 0)}
	for _, flag := range []struct {
		name string
		is   bool
	}{{"required", required}, {"read only", isTrue(get(n, "readOnly"))}, {"write only", isTrue(get(n, "writeOnly"))}, {"deprecated", isTrue(get(n, "deprecated"))}} {
		if flag.is {
			what = append(what, flag.name)
		}
	}
	about := cmp.Or(text(get(f.value, "description")), text(get(n, "description")))
	p.add(f.line, indented(depth, item(strings.TrimSuffix(code(f.key)+" ("+commas(what)+")", " ()"), joinWords(cut(oneLine(about), 1000), a.limits(n), a.exampleOf(n)))))
}

// indented returns line indented to the given depth as a list item. On the schemas
// page, depth starts at a higher number.
func indented(depth int, line string) string {
	if depth == maxFieldDepth-1 {
		return line
	}
	return strings.Repeat("  ", depth) + line
}

// limits describes the values that a schema allows.
func (a *api) limits(n *yaml.Node) string {
	var parts []string
	if values := list(get(n, "enum")); len(values) > 0 {
		var names []string
		for _, v := range values[:min(len(values), maxEnum)] {
			names = append(names, code(text(v)))
		}
		if len(values) > maxEnum {
			names = append(names, "...")
		}
		parts = append(parts, "One of "+strings.Join(names, ", ")+".")
	}
	for _, of := range []struct{ key, says string }{
		{"const", "Always"}, {"default", "Default"}, {"minimum", "At least"}, {"maximum", "At most"}, {"minLength", "Minimum length"}, {"maxLength", "Maximum length"},
		{"minItems", "Minimum number"}, {"maxItems", "Maximum number"}, {"pattern", "Pattern"},
	} {
		if v := text(get(n, of.key)); v != "" {
			parts = append(parts, of.says+" "+code(cut(v, 200))+".")
		}
	}
	return strings.Join(parts, " ")
}

// exampleOf returns a short example for a schema on one line, or "" if there is
// none.
func (a *api) exampleOf(n *yaml.Node) string {
	if v := text(get(n, "example")); v != "" && len(v) <= 200 {
		return "Example: " + code(v) + "."
	}
	return ""
}

// examples adds the examples of a media type. If it has none, examples adds those
// of its schema.
func (a *api) examples(p *apiPage, media, schema *yaml.Node) {
	found := 0
	add := func(line int, name string, v *yaml.Node) {
		if v == nil || found == maxExamples {
			return
		}
		found++
		label := "Example"
		if name != "" {
			label += " " + escapePlain(oneLine(name))
		}
		p.block(line, label+":")
		language, said := "json", ""
		if v.Kind == yaml.ScalarNode {
			language, said = "text", v.Value
		} else {
			said = a.json(v)
		}
		p.block(v.Line, fence(language, cutLines(said, maxExample)))
	}
	add(lineOf(get(media, "example")), "", get(media, "example"))
	for _, e := range pairs(get(media, "examples")) {
		n, _ := a.resolve(e.value)
		add(e.line, cmp.Or(text(get(n, "summary")), e.key), get(n, "value"))
	}
	if v := get(schema, "example"); found == 0 && v != nil && v.Kind != yaml.ScalarNode {
		add(v.Line, "", v)
	}
	for _, v := range list(get(schema, "examples")) { // since OpenAPI 3.1
		if v = follow(v); v != nil && v.Kind != yaml.ScalarNode {
			add(v.Line, "", v)
		}
	}
}

// json returns a tree as JSON, truncated to the maximum length of an example.
func (a *api) json(n *yaml.Node) string {
	var b bytes.Buffer
	a.appendJSON(&b, n, 0)
	return b.String()
}

func (a *api) appendJSON(b *bytes.Buffer, n *yaml.Node, depth int) {
	a.step()
	n = follow(n)
	if n == nil || depth > 20 || b.Len() > 2*maxExample {
		b.WriteString("null")
		return
	}
	newline := "\n" + strings.Repeat("  ", depth)
	switch n.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i, m := range pairs(n) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(newline + "  ")
			writeString(b, m.key)
			b.WriteString(": ")
			a.appendJSON(b, m.value, depth+1)
		}
		b.WriteString(newline + "}")
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, v := range n.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(newline + "  ")
			a.appendJSON(b, v, depth+1)
		}
		b.WriteString(newline + "]")
	default:
		if json.Valid([]byte(n.Value)) && slices.Contains([]string{"!!int", "!!float", "!!bool", "!!null"}, n.ShortTag()) {
			b.WriteString(n.Value)
			return
		}
		writeString(b, cut(n.Value, maxExample))
	}
}

func writeString(b *bytes.Buffer, s string) {
	e := json.NewEncoder(b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // encoding a string cannot fail
	b.Truncate(b.Len() - 1)
}

// cutLines truncates s to at most n bytes. If possible, it ends at a line end.
func cutLines(s string, n int) string {
	if len(s) <= n {
		return s
	}
	if i := strings.LastIndexByte(s[:n], '\n'); i > 0 {
		return s[:i] + "\n..."
	}
	return cut(s, n)
}

func lineOf(n *yaml.Node) int {
	if n == nil {
		return 0
	}
	return n.Line
}

// prose returns a description in Markdown without its headings, because the headings
// on the page are for operations.
func prose(n *yaml.Node) string {
	var out []string
	fenced := false
	for line := range strings.SplitSeq(strings.TrimSpace(strings.ReplaceAll(text(n), "\r\n", "\n")), "\n") {
		if trimmed := strings.TrimSpace(line); strings.HasPrefix(trimmed, "```") || strings.HasPrefix(trimmed, "~~~") {
			fenced = !fenced
		}
		if m := atxHeading().FindStringSubmatch(line); m != nil && !fenced {
			line = "**" + strings.Trim(m[1], "# ") + "**"
		}
		if underline().MatchString(line) && !fenced {
			line = ""
		}
		out = append(out, line)
	}
	if fenced {
		out = append(out, "```")
	}
	return strings.Join(out, "\n")
}

var atxHeading = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ {0,3}#{1,6}\s+(\S.*)$`) })

// heading returns s on one line, escaped for use in a heading.
func heading(s string) string {
	return strings.NewReplacer("<", `\<`, "`", "'", "*", `\*`, "_", `\_`, "[", `\[`).Replace(cut(oneLine(s), 300))
}

// code returns s on one line as inline code.
func code(s string) string {
	s = strings.ReplaceAll(oneLine(s), "`", "'")
	if s == "" {
		return "(empty)"
	}
	return "`" + cut(s, 300) + "`"
}

// item returns a list item with what, followed by about unless about is empty.
func item(what, about string) string {
	if about = strings.TrimSpace(about); about == "" {
		return "- " + what
	}
	return "- " + what + ": " + about
}

func commas(parts []string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
}

func joinWords(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), " ")
}

var notSlug = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\pL\pN]+`) })

// slug returns s in a form that can be used in a path.
func slug(s string) string {
	s = strings.Trim(notSlug().ReplaceAllString(strings.ToLower(cut(s, 80)), "-"), "-")
	if s == "" {
		return "tag"
	}
	return s
}
