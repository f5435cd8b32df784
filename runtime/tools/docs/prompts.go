package docs

import (
	"fmt"

	"github.com/cbroglie/mustache"

	"github.com/deskhand/deskhand/indexer/artifact"
	"github.com/deskhand/deskhand/runtime/contract"
)

// prompts makes the corpus' templates callable.
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

// render fills a Mustache template without HTML escapes and without partials,
// which would be read from the disk.
func render(template string, args map[string]string) (string, error) {
	t, err := mustache.ParseStringPartialsRaw(template, &mustache.StaticProvider{}, true)
	if err != nil {
		return "", err
	}
	return t.Render(args)
}
