package gateway

import (
	"encoding/json"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
)

func TestNoHalfOfAResultIsLostToAClient(t *testing.T) {
	const (
		words    = `[{"type":"text","text":"Fog until noon."}]`
		data     = `{"degrees":7}`
		both     = `[{"type":"text","text":"Fog until noon."},{"type":"text","text":"{\"degrees\":7}"}]`
		asJSON   = `[{"type":"text","text":"{ \"degrees\": 7 }"}]`
		inWords  = `[{"type":"text","text":"It is 7 degrees, fog until noon."}]`
		picture  = `[{"type":"text","text":"{\"degrees\":7}"},{"type":"image","data":"eA==","mimeType":"image/png"}]`
		open     = `{"type":"object","properties":{"degrees":{"type":"number"}}}`
		closed   = `{"type":"object","properties":{"degrees":{"type":"number"}},"additionalProperties":false}`
		combined = `{"type":"object","allOf":[{"required":["degrees"]}]}`
	)
	for name, c := range map[string]struct {
		client, output, content, structured string
		refused                             bool
		wantContent, wantStructured         string // empty if unchanged; "none" if absent
	}{
		"claude: halves that say the same":           {client: "claude-code", content: asJSON, structured: data},
		"claude: words beside data":                  {client: "claude-code", content: words, structured: data, wantContent: both, wantStructured: "none"},
		"claude: the same with a schema":             {client: "claude-code", output: closed, content: words, structured: data, wantContent: both, wantStructured: "none"},
		"claude: words that have the data":           {client: "claude-code", content: inWords, structured: data, wantStructured: "none"},
		"claude: words in the data":                  {client: "claude-code", content: words, structured: `{"text":"Today:\nFog until   noon. Then sun."}`},
		"claude: no content":                         {client: "claude-code", content: `[]`, structured: data},
		"claude: empty data":                         {client: "claude-code", content: words, structured: `{}`, wantStructured: "none"},
		"codex: a picture":                           {client: "codex-mcp-client", content: picture, structured: data, wantStructured: "none"},
		"codex: a refusal":                           {client: "codex-mcp-client", content: words, structured: data, refused: true, wantContent: both, wantStructured: "none"},
		"gemini: words beside data":                  {client: "gemini-cli-mcp-client", output: closed, content: words, structured: data, wantContent: both},
		"gemini: no content":                         {client: "gemini-cli-mcp-client", content: `[]`, structured: data, wantContent: `[{"type":"text","text":"{\"degrees\":7}"}]`},
		"opencode: a refusal":                        {client: "opencode", content: asJSON, structured: data, refused: true, wantStructured: "none"},
		"opencode: true says nothing without a name": {client: "opencode", content: `[{"type":"text","text":"true"}]`, structured: `{"ok":true}`, wantContent: `[{"type":"text","text":"true"},{"type":"text","text":"{\"ok\":true}"}]`},
		"unknown: words beside data":                 {client: "another", content: words, structured: data, wantStructured: `{"degrees":7,"content_text":"Fog until noon."}`},
		"unknown: a schema with room":                {client: "another", output: open, content: words, structured: data, wantStructured: `{"degrees":7,"content_text":"Fog until noon."}`},
		"unknown: a schema without room":             {client: "another", output: closed, content: words, structured: data},
		"unknown: a schema with conditions":          {client: "another", output: combined, content: words, structured: data},
		"unknown: a part of the data":                {client: "", content: `[{"type":"text","text":"{\"a\":[{\"b\":1}]}"}]`, structured: `{"a":[{"b":1,"c":2}],"d":3}`},
		"unknown: another number":                    {client: "", content: `[{"type":"text","text":"{\"a\":1}"}]`, structured: `{"a":2}`, wantStructured: `{"a":2,"content_text":"{\"a\":1}"}`},
		"unknown: a refusal":                         {client: "another", content: words, structured: data, refused: true},
		"nothing structured":                         {client: "claude-code", content: picture},
	} {
		t.Run(name, func(t *testing.T) {
			r := contract.Result{Content: json.RawMessage(c.content), Refused: c.refused}
			if c.structured != "" {
				r.Structured = json.RawMessage(c.structured)
			}
			var output json.RawMessage
			if c.output != "" {
				output = json.RawMessage(c.output)
			}
			got := delivered(c.client, output, r)
			wantContent, wantStructured := c.content, c.structured
			if c.wantContent != "" {
				wantContent = c.wantContent
			}
			if c.wantStructured != "" {
				wantStructured = c.wantStructured
			}
			if wantStructured == "none" {
				wantStructured = ""
			}
			structured, _ := got.Structured.(json.RawMessage)
			if string(got.Content) != wantContent || string(structured) != wantStructured {
				t.Errorf("delivered(%q, %s,\n%s, %s) =\n%s, %s; want\n%s, %s", c.client, c.output, c.content, c.structured, got.Content, structured, wantContent, wantStructured)
			}
		})
	}
}
