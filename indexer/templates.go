package indexer

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/cbroglie/mustache"
	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// templateSuffixes are the ends of a prompt's file, in lower case.
var templateSuffixes = []string{".template.yaml", ".template.yml", ".template.md", ".template.markdown", ".template.mdx"}

// templateName returns the name of the prompt that file holds: its path without
// the suffix. Empty: file is no template.
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

// readPrompts reads the templates, which are sorted by path, into prompts
// sorted by name. Of one name YAML wins over markdown, and the first file over
// a second of the same kind.
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

// choose returns the one of several templates of one name that counts.
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
			refused = append(refused, Problem{t.path, 0, fmt.Sprintf("not used: %s defines the same prompt, and YAML wins", winner.path)})
		}
	}
	return winner, refused
}

// promptFile is a template as its author writes it.
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

// promptContent is a text, written as such or as {type: text, text: ...}.
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

// readPrompt reads one template; nil if it cannot be used.
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
	src = bytes.ReplaceAll(bytes.TrimPrefix(src, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	return parsePrompt(src, isYAML(t.path))
}

func parsePrompt(src []byte, asYAML bool) (*artifact.Prompt, []lineError) {
	head, body, before := src, "", 0
	if !asYAML {
		head, body, before = cutFrontMatter(src)
	}
	var f promptFile
	if err := yaml.Unmarshal(head, &f); err != nil {
		return nil, yamlErrors(err, before)
	}
	if !asYAML {
		f.Messages = []promptMessage{{Role: "user", Content: promptContent{"text", body}}}
	}
	p := &artifact.Prompt{Title: strings.TrimSpace(f.Title), Description: strings.TrimSpace(f.Description)}
	var problems []lineError
	usable := true
	wrong := func(format string, args ...any) {
		problems = append(problems, lineError{0, fmt.Sprintf(format, args...)})
		usable = false
	}
	for key, n := range f.Rest {
		problems = append(problems, lineError{n.Line + before, fmt.Sprintf("a prompt has no key '%s'; known are title, description, arguments and, in YAML, messages", shorten(key))})
	}
	seen := map[string]bool{}
	for i, a := range f.Arguments {
		a.Name = strings.TrimSpace(a.Name)
		switch {
		case a.Name == "":
			wrong("argument %d has no name", i+1)
		case seen[a.Name]:
			wrong("argument '%s' is there twice", shorten(a.Name))
		}
		seen[a.Name] = true
		p.Arguments = append(p.Arguments, artifact.PromptArgument(a))
	}
	if len(f.Messages) == 0 {
		wrong("a prompt needs messages")
	}
	for i, m := range f.Messages {
		if reason := m.wrong(); reason != "" {
			wrong("message %d: %s", i+1, reason)
		}
		p.Messages = append(p.Messages, artifact.PromptMessage{Role: m.Role, Text: m.Content.Text})
	}
	if !usable {
		return nil, problems
	}
	return p, problems
}

// wrong says why the message cannot be used, or returns "".
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

// checkMustache says why text is no template, or returns "". Partials are
// refused: they would be read from the server's disk.
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

// cutFrontMatter splits a markdown template into its YAML, its text without
// the blank lines around it, and the number of lines before the YAML.
func cutFrontMatter(src []byte) (head []byte, body string, before int) {
	rest, found := bytes.CutPrefix(src, []byte("---\n"))
	if !found {
		return nil, strings.TrimSpace(string(src)), 0
	}
	for at := 0; at < len(rest); {
		line, _, more := bytes.Cut(rest[at:], []byte("\n"))
		if bytes.Equal(bytes.TrimRight(line, " \t"), []byte("---")) {
			end := at + len(line)
			return rest[:at], strings.TrimSpace(string(rest[end:])), 1
		}
		if !more {
			break
		}
		at += len(line) + 1
	}
	return nil, strings.TrimSpace(string(src)), 0
}

var yamlLine = regexp.MustCompile(`^(?:yaml: )?line (\d+): (.*)$`)

// yamlErrors reads the lines out of the messages of the YAML library, which
// stand before lines.
func yamlErrors(err error, before int) []lineError {
	messages := []string{err.Error()}
	if many := new(yaml.TypeError); errors.As(err, &many) {
		messages = many.Errors
	}
	var list []lineError
	for _, m := range messages {
		e := lineError{0, strings.TrimPrefix(m, "yaml: ")}
		if at := yamlLine.FindStringSubmatch(m); at != nil {
			n, _ := strconv.Atoi(at[1])
			e = lineError{n + before, at[2]}
		}
		list = append(list, e)
	}
	return list
}
