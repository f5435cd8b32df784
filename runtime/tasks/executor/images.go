package executor

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"

	acp "github.com/coder/acp-go-sdk"
)

// Image is an image that belongs to a prompt. The prompt names its file, so that an agent
// that takes no images can still open it.
type Image struct {
	Path string // absolute
	Type string // media type
	Data []byte
}

// attachImages changes the command line of a stream agent so that it gets the prompt's
// images in its own way. Other agents only get the paths in the prompt.
func (l *launch) attachImages() {
	if len(l.spec.Images) == 0 {
		return
	}
	inArgs := slices.ContainsFunc(l.args, func(a string) bool { return strings.Contains(a, "{{prompt}}") })
	switch {
	case l.Events == "claude" && !inArgs: // the prompt is then a message
		l.insert([]string{"--input-format", "stream-json"})
	case l.Events == "codex":
		for _, i := range l.spec.Images {
			l.insert([]string{"--image=" + i.Path})
		}
	}
}

// message returns the prompt as a message of claude's streaming input.
func (s Spec) message() string {
	type source struct {
		Type      string `json:"type"`
		MediaType string `json:"media_type"`
		Data      string `json:"data"`
	}
	type block struct {
		Type   string  `json:"type"`
		Text   string  `json:"text,omitempty"`
		Source *source `json:"source,omitempty"`
	}
	blocks := []block{{Type: "text", Text: s.Prompt}}
	for _, i := range s.Images {
		blocks = append(blocks, block{Type: "image", Source: &source{"base64", i.Type, base64.StdEncoding.EncodeToString(i.Data)}})
	}
	line, _ := json.Marshal(object{"type": "user", "message": object{"role": "user", "content": blocks}}) // strings and slices only
	return string(line) + "\n"
}

// promptBlocks returns the prompt over ACP, with its images if the agent takes them.
func (s Spec) promptBlocks(can acp.AgentCapabilities) []acp.ContentBlock {
	blocks := []acp.ContentBlock{acp.TextBlock(s.Prompt)}
	if can.PromptCapabilities.Image {
		for _, i := range s.Images {
			blocks = append(blocks, acp.ImageBlock(base64.StdEncoding.EncodeToString(i.Data), i.Type))
		}
	}
	return blocks
}
