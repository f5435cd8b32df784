package indexer

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/cbroglie/mustache"
	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/chunker"
	"github.com/deskhand/deskhand/indexer/artifact"
)

// templateSuffixes lists the suffixes of template files for prompts, in lower
// case.
var templateSuffixes = []string{".template.yaml", ".template.yml", ".template.md", ".template.markdown", ".template.mdx"}

// templateName returns the name of the prompt in file. This is the file's path without
// the suffix. If file is not a template, templateName returns "".
func templateName(file string) string {
	lower := strings.ToLower(file)
	for _, suffix := range templateSuffixes {
		if strings.HasSuffix(lower, suffix) {
			return file[:len(file)-len(suffix)]
		}
	}
	return ""
}

func isYAML(file string) bool {
	return strings.HasPrefix(strings.ToLower(path.Ext(file)), ".y")
}

// readPrompts reads the templates, which must be sorted by path, and returns the
// prompts sorted by name. If several templates have the same name, YAML takes
// precedence over Markdown, and an earlier file takes precedence over a later file
// of the same kind.
func readPrompts(templates []*page) ([]artifact.Prompt, []Problem) {
	byName := map[string][]*page{}
	for _, t := range templates {
		name := templateName(t.path)
		byName[name] = append(byName[name], t)
	}
	var prompts []artifact.Prompt
	var problems []Problem
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		winner, refused := choose(byName[name])
		problems = append(problems, refused...)
		prompt, wrong := readPrompt(winner)
		for _, e := range wrong {
			problems = append(problems, Problem{winner.path, e.line, e.reason})
		}
		if prompt != nil {
			prompt.Name = name
			prompts = append(prompts, *prompt)
		}
	}
	return prompts, problems
}

// choose returns the template that takes precedence among templates with the same
// name.
func choose(templates []*page) (winner *page, refused []Problem) {
	winner = templates[0]
	for _, t := range templates {
		if isYAML(t.path) && !isYAML(winner.path) {
			winner = t
		}
	}
	for _, t := range templates {
		switch {
		case t == winner:
		case isYAML(t.path) == isYAML(winner.path):
			refused = append(refused, Problem{t.path, 0, fmt.Sprintf("not used: %s defines the same prompt", winner.path)})
		default:
			refused = append(refused, Problem{t.path, 0, fmt.Sprintf("not used: %s defines the same prompt, and YAML takes precedence", winner.path)})
		}
	}
	return winner, refused
}

// promptFile is the content of a template file.
type promptFile struct {
	Title       string               `yaml:"title"`
	Description string               `yaml:"description"`
	Arguments   []promptArgument     `yaml:"arguments"`
	Messages    []promptMessage      `yaml:"messages"`
	Rest        map[string]yaml.Node `yaml:",inline"`
}

type promptArgument struct {
	Name        string `yaml:"name"`
	Title       string `yaml:"title"`
	Description string `yaml:"description"`
	Required    bool   `yaml:"required"`
}

type promptMessage struct {
	Role    string        `yaml:"role"`
	Content promptContent `yaml:"content"`
}

// promptContent is the text of a message. In the file, it is either a plain string
// or an object {type: text, text: ...}.
type promptContent struct {
	Type string `yaml:"type"`
	Text string `yaml:"text"`
}

func (c *promptContent) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		c.Type = "text"
		return n.Decode(&c.Text)
	}
	type plain promptContent
	return n.Decode((*plain)(c))
}

// readPrompt reads one template. It returns nil if the template cannot be used.
func readPrompt(t *page) (prompt *artifact.Prompt, problems []lineError) {
	defer func() {
		if r := recover(); r != nil {
			prompt, problems = nil, []lineError{{0, fmt.Sprintf("cannot be read: %v", r)}}
		}
	}()
	src, err := readSettings(t.open)
	if err != nil {
		return nil, []lineError{{0, "cannot be read: " + cause(err)}}
	}
	return parsePrompt(src, isYAML(t.path))
}

// parsePrompt parses a template. If asYAML is true, the whole template is YAML.
// Otherwise, the front matter is YAML, and the rest is the only message.
func parsePrompt(src []byte, asYAML bool) (*artifact.Prompt, []lineError) {
	head, body := src, []byte(nil)
	if !asYAML {
		head, body = chunker.FrontMatter(src)
		head = slices.Concat([]byte("\n"), head) // so that line numbers match those in the file
	}
	var f promptFile
	var problems []lineError
	if wrong := chunker.DecodeYAML(head, &f); wrong != nil {
		for _, p := range wrong {
			problems = append(problems, lineError{p.Line, p.Reason})
		}
		return nil, problems
	}
	for _, key := range slices.Sorted(maps.Keys(f.Rest)) {
		problems = append(problems, lineError{f.Rest[key].Line, fmt.Sprintf("a prompt has the unknown key '%s'; valid keys are title, description, arguments and, in YAML, messages", shorten(key))})
	}
	if !asYAML {
		f.Messages = []promptMessage{{Role: "user", Content: promptContent{"text", strings.TrimSpace(string(body))}}}
	}
	if wrong := f.wrong(); len(wrong) > 0 {
		return nil, append(problems, wrong...)
	}
	return f.prompt(), problems
}

// wrong returns the reasons why the prompt cannot be used.
func (f *promptFile) wrong() []lineError {
	var list []lineError
	wrong := func(format string, args ...any) {
		list = append(list, lineError{0, fmt.Sprintf(format, args...)})
	}
	seen := map[string]bool{}
	for i, a := range f.Arguments {
		name := strings.TrimSpace(a.Name)
		switch {
		case name == "":
			wrong("argument %d has no name", i+1)
		case seen[name]:
			wrong("argument '%s' appears twice", shorten(name))
		}
		seen[name] = true
	}
	if len(f.Messages) == 0 {
		wrong("a prompt needs messages")
	}
	for i, m := range f.Messages {
		if reason := m.wrong(); reason != "" {
			wrong("message %d: %s", i+1, reason)
		}
	}
	return list
}

// prompt returns f in the form stored in the artifact, without a name.
func (f *promptFile) prompt() *artifact.Prompt {
	p := &artifact.Prompt{Title: strings.TrimSpace(f.Title), Description: strings.TrimSpace(f.Description)}
	for _, a := range f.Arguments {
		a.Name = strings.TrimSpace(a.Name)
		p.Arguments = append(p.Arguments, artifact.PromptArgument(a))
	}
	for _, m := range f.Messages {
		p.Messages = append(p.Messages, artifact.PromptMessage{Role: m.Role, Text: m.Content.Text})
	}
	return p
}

// wrong returns the reason why the message cannot be used, or "" if it can be
// used.
func (m promptMessage) wrong() string {
	switch {
	case m.Role != "user" && m.Role != "assistant":
		return fmt.Sprintf("role must be user or assistant, not '%s'", shorten(m.Role))
	case m.Content.Type != "text":
		return fmt.Sprintf("content type must be text, not '%s'", shorten(m.Content.Type))
	case strings.TrimSpace(m.Content.Text) == "":
		return "it has no text"
	}
	return checkMustache(m.Content.Text)
}

// checkMustache returns the reason why text is not a valid template, or "" if it is
// valid. It rejects partials, because these would be read from the server's disk.
func checkMustache(text string) string {
	t, err := mustache.ParseStringPartialsRaw(text, &mustache.StaticProvider{}, true)
	if err != nil {
		return "not a Mustache template: " + err.Error()
	}
	if name, found := partial(t.Tags()); found {
		return fmt.Sprintf("partials such as {{> %s}} are not supported; write the text out", shorten(name))
	}
	return ""
}

func partial(tags []mustache.Tag) (string, bool) {
	for _, t := range tags {
		switch t.Type() {
		case mustache.Partial:
			return t.Name(), true
		case mustache.Section, mustache.InvertedSection:
			if name, found := partial(t.Tags()); found {
				return name, true
			}
		}
	}
	return "", false
}
