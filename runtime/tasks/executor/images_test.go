package executor

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	acp "github.com/coder/acp-go-sdk"
)

// Each agent gets images in the way that it takes them, and others by their path alone.
func TestAgentsGetImagesInTheirOwnWay(t *testing.T) {
	picture := Image{Path: "/a/images/1.png", Type: "image/png", Data: []byte("\x89PNG")}
	filled := func(id string, images ...Image) *launch {
		c := Defaults()[id]
		l := &launch{Config: c, id: id, args: slices.Clone(c.Command), spec: Spec{Prompt: "look [image 1: /a/images/1.png]", Images: images}}
		l.fill()
		return l
	}
	for _, id := range []string{"claude-stream", "codex-stream", "gemini-stream", "opencode-stream"} {
		l := filled(id)
		if strings.Contains(strings.Join(l.args, " "), "image") || l.stdin != l.spec.Prompt {
			t.Errorf("%s without an image: %q, stdin %q", id, l.args, l.stdin)
		}
	}
	l := filled("claude-stream", picture)
	var said struct {
		Type    string
		Message struct {
			Role    string
			Content []struct {
				Type, Text string
				Source     struct {
					Type, Data string
					MediaType  string `json:"media_type"`
				}
			}
		}
	}
	err := json.Unmarshal([]byte(l.stdin), &said)
	blocks := said.Message.Content
	if err != nil || !strings.HasSuffix(strings.Join(l.args, " "), "--input-format stream-json") || len(blocks) != 2 || blocks[0].Text != l.spec.Prompt ||
		blocks[1].Source.Data != "iVBORw==" || blocks[1].Source.MediaType != "image/png" || said.Type != "user" || said.Message.Role != "user" {
		t.Errorf("claude: %q, %v, %s", l.args, err, l.stdin)
	}
	if l := filled("codex-stream", picture, picture); !strings.HasSuffix(strings.Join(l.args, " "), "--image=/a/images/1.png --image=/a/images/1.png -") || l.stdin != l.spec.Prompt {
		t.Errorf("codex: %q, %q", l.args, l.stdin)
	}
	own := filled("claude-stream", picture)
	own.args, own.stdin = []string{"claude", "{{prompt}}"}, ""
	if own.fill(); strings.Contains(strings.Join(own.args, " "), "stream-json") || own.stdin != "" {
		t.Errorf("a prompt in the arguments: %q, %q", own.args, own.stdin)
	}
	can := acp.AgentCapabilities{}
	if got := filled("claude", picture).spec.promptBlocks(can); len(got) != 1 {
		t.Errorf("an agent over ACP that takes no images got %d blocks", len(got))
	}
	can.PromptCapabilities.Image = true
	if got := filled("claude", picture).spec.promptBlocks(can); len(got) != 2 || got[1].Image == nil || got[1].Image.MimeType != "image/png" {
		t.Errorf("an agent over ACP: %+v", got)
	}
}
