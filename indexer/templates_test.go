package indexer

import (
	"reflect"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/artifact"
)

// promptsOf reads the templates among files.
func promptsOf(t *testing.T, files map[string]string) ([]artifact.Prompt, []Problem) {
	t.Helper()
	_, f := walked(t, corpus(t, files), selection{}, false)
	return readPrompts(f.templates)
}

func TestTemplatesBecomePrompts(t *testing.T) {
	prompts, problems := promptsOf(t, map[string]string{
		"guides/auth.template.md": "\uFEFF---\r\ntitle: Auth\r\ndescription: How to log in\r\narguments:\r\n  - name: topic\r\n    title: The topic\r\n    description: What about\r\n    required: true\r\n  - name: tone\r\n---\r\n\r\nTell me of {{topic}}.\r\n\r\n{{#tone}}Be {{tone}}.{{/tone}}\r\n",
		"plain.template.md":       "No front matter {{&x}}\n---\nstill text\n",
		"talk.template.yaml": "title: Talk\nmessages:\n  - role: user\n    content: {type: text, text: 'Hi {{name}}'}\n" +
			"  - role: assistant\n    content:\n      type: text\n      text: |\n        <b>Hello</b>\n  - role: user\n    content: short form\n",
	})
	wantProblems(t, problems)
	want := []artifact.Prompt{
		{Name: "guides/auth", Title: "Auth", Description: "How to log in",
			Arguments: []artifact.PromptArgument{{Name: "topic", Title: "The topic", Description: "What about", Required: true}, {Name: "tone"}},
			Messages:  []artifact.PromptMessage{{Role: "user", Text: "Tell me of {{topic}}.\n\n{{#tone}}Be {{tone}}.{{/tone}}"}}},
		{Name: "plain", Messages: []artifact.PromptMessage{{Role: "user", Text: "No front matter {{&x}}\n---\nstill text"}}},
		{Name: "talk", Title: "Talk", Messages: []artifact.PromptMessage{
			{Role: "user", Text: "Hi {{name}}"}, {Role: "assistant", Text: "<b>Hello</b>\n"}, {Role: "user", Text: "short form"}}},
	}
	if !reflect.DeepEqual(prompts, want) {
		t.Errorf("prompts = %+v\nwant %+v", prompts, want)
	}
}

func TestYAMLTemplateBeatsMarkdownAndTheFirstItsTwin(t *testing.T) {
	const talk = "messages: [{role: user, content: from %s}]"
	prompts, problems := promptsOf(t, map[string]string{
		"a.template.md": "markdown", "a.template.yaml": strings.ReplaceAll(talk, "%s", "yaml"),
		"b.template.yaml": strings.ReplaceAll(talk, "%s", "yaml"), "b.template.yml": strings.ReplaceAll(talk, "%s", "yml"),
	})
	wantProblems(t, problems,
		"a.template.md: not used: a.template.yaml defines the same prompt, and YAML takes precedence",
		"b.template.yml: not used: b.template.yaml defines the same prompt")
	for i, name := range []string{"a", "b"} {
		if prompts[i].Name != name || prompts[i].Messages[0].Text != "from yaml" {
			t.Errorf("prompt %d = %+v, want %s from yaml", i, prompts[i], name)
		}
	}
}

func TestBadTemplatesAreProblems(t *testing.T) {
	for name, test := range map[string]struct{ file, src, want string }{
		"unclosed tag":      {"x.template.md", "a {{b", "x.template.md: message 1: not a Mustache template"},
		"unclosed section":  {"x.template.md", "{{#a}}b", "x.template.md: message 1: not a Mustache template"},
		"crossed sections":  {"x.template.md", "{{#a}}{{#b}}{{/a}}{{/b}}", "x.template.md: message 1: not a Mustache template"},
		"deep sections":     {"x.template.md", strings.Repeat("{{#a}}", 20000), "x.template.md: message 1: not a Mustache template"},
		"partial":           {"x.template.md", "{{^a}}{{> /etc/passwd}}{{/a}}", "x.template.md: message 1: partials such as {{> /etc/passwd}} are not supported"},
		"no text":           {"x.template.md", "---\ntitle: x\n---\n\n", "x.template.md: message 1: it has no text"},
		"bad YAML":          {"x.template.md", "---\ntitle: x\n\targuments: []\n---\nx", "x.template.md:3: found a tab character that violates indentation"},
		"wrong type":        {"x.template.md", "---\ntitle: x\narguments: topic\n---\nx", "x.template.md:3: cannot unmarshal"},
		"wrong boolean":     {"x.template.md", "---\narguments:\n- name: a\n  required: maybe\n---\nx", "x.template.md:4: cannot unmarshal"},
		"nameless argument": {"x.template.md", "---\narguments:\n- title: a\n---\nx", "x.template.md: argument 1 has no name"},
		"argument twice":    {"x.template.md", "---\narguments:\n- name: a\n- name: a\n---\nx", "x.template.md: argument 'a' appears twice"},
		"no messages":       {"x.template.yaml", "title: x", "x.template.yaml: a prompt needs messages"},
		"role":              {"x.template.yaml", "messages: [{role: system, content: x}]", "x.template.yaml: message 1: role must be user or assistant, not 'system'"},
		"content type":      {"x.template.yaml", "messages: [{role: user, content: {type: image}}]", "x.template.yaml: message 1: content type must be text, not 'image'"},
		"empty file":        {"x.template.yaml", "", "x.template.yaml: a prompt needs messages"},
		"a list":            {"x.template.yaml", "- a\n- b\n", "x.template.yaml:1: cannot unmarshal"},
		"binary":            {"x.template.yaml", "\x00\x01\xff", "x.template.yaml:1: control characters"},
		"alias bomb":        {"x.template.yaml", bomb(), "x.template.yaml:9: cannot unmarshal !!seq"},
		"deep YAML":         {"x.template.yaml", strings.Repeat("[", 200000), "x.template.yaml:"},
		"too large":         {"x.template.md", strings.Repeat("x", maxSettingsBytes+1), "x.template.md: cannot be read: 1048577 bytes, more than the limit of 1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			prompts, problems := promptsOf(t, map[string]string{test.file: test.src})
			if len(prompts) != 0 || len(problems) == 0 || !strings.HasPrefix(problems[0].String(), test.want) {
				t.Errorf("prompts = %v, problems = %v; want %q", prompts, problems, test.want)
			}
		})
	}
}

func bomb() string {
	src := "a0: &a0 [x,x,x,x,x,x,x,x,x]\n"
	for i := 1; i < 10; i++ {
		ref := "*a" + string(rune('0'+i-1))
		src += "a" + string(rune('0'+i)) + ": &a" + string(rune('0'+i)) + " [" + strings.Repeat(ref+",", 9) + ref + "]\n"
	}
	return src + "messages: *a9\n"
}

func TestPromptsMayBeLargerThanSettings(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	put(t, dir, "a.md", "# A")
	for _, name := range []string{"x", "y"} {
		put(t, dir, name+".template.md", strings.Repeat("ask ", maxSettingsBytes*2/3/4))
	}
	built(t, Options{Dir: dir, Out: out})
	if r := built(t, Options{Dir: dir, Out: out}); r.FilesReused != 1 || r.Prompts != 2 {
		t.Errorf("second build = %+v, want 1 file reused and 2 prompts", r)
	}
}

func TestTemplateWarnsOfUnknownKeys(t *testing.T) {
	prompts, problems := promptsOf(t, map[string]string{"x.template.md": "---\ntitle: x\nargs: []\n---\ntext"})
	wantProblems(t, problems, "x.template.md:3: a prompt has the unknown key 'args'; valid keys are title, description, arguments and, in YAML, messages")
	if len(prompts) != 1 {
		t.Errorf("prompts = %v, want the one", prompts)
	}
}

func TestTemplatesAreNoPages(t *testing.T) {
	dir := corpus(t, map[string]string{"a.md": "# A", "p.template.md": "Hi"})
	r, err := Check(t.Context(), Options{Dir: dir})
	if err != nil || r.Files != 1 || r.Prompts != 1 {
		t.Errorf("Check = %+v, %v; want 1 file and 1 prompt", r, err)
	}
}
