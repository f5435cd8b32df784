package docs

import (
	"fmt"
	"strings"

	"github.com/cbroglie/mustache"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// prompts converts the corpus's templates to prompts.
func prompts(from []artifact.Prompt) []contract.Prompt {
	var out []contract.Prompt
	for _, p := range from {
		prompt := contract.Prompt{Name: p.Name, Title: p.Title, Description: p.Description}
		for _, a := range p.Arguments {
			prompt.Arguments = append(prompt.Arguments, contract.PromptArgument(a))
		}
		prompt.Render = func(args map[string]string) ([]contract.PromptMessage, error) {
			var messages []contract.PromptMessage
			for _, m := range p.Messages {
				text, err := render(m.Text, args)
				if err != nil {
					return nil, fmt.Errorf("prompt %s: %w", p.Name, err)
				}
				messages = append(messages, contract.PromptMessage{Role: m.Role, Text: text})
			}
			return messages, nil
		}
		out = append(out, prompt)
	}
	return out
}

// render fills in a Mustache template, without HTML escapes and without partials,
// which would be read from disk.
func render(template string, args map[string]string) (string, error) {
	t, err := mustache.ParseStringPartialsRaw(template, &mustache.StaticProvider{}, true)
	if err != nil {
		return "", err
	}
	out := bounded{room: maxPromptBytes}
	if err := t.FRender(&out, args); err != nil {
		return "", err
	}
	return out.String(), nil
}

// maxPromptBytes is the maximum size of a rendered message. A template may repeat
// an argument any number of times.
const maxPromptBytes = 1 << 20

// bounded is a builder that fails to grow beyond room bytes.
type bounded struct {
	strings.Builder
	room int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.room {
		return 0, fault.New("prompt_too_long", fmt.Sprintf("The prompt would be longer than %d bytes.", b.room), "Pass shorter arguments.")
	}
	return b.Builder.Write(p)
}
