package console

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/deskhand/deskhand/runtime/contract"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// explained holds everything that a model gets from a server.
type explained struct {
	Tokens       int             `json:"tokens"`
	Counted      string          `json:"counted"`
	Instructions shownText       `json:"instructions"`
	Tools        []explainedTool `json:"tools"`
}

type shownText struct {
	Text   string `json:"text"`
	Tokens int    `json:"tokens"`
}

// explainedTool also has the four hints, which a model does not get. A client uses the
// hints to decide whether to ask its user before a call.
type explainedTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Input       json.RawMessage `json:"input_schema"`
	Tokens      int             `json:"tokens"`
	ReadOnly    bool            `json:"read_only"`
	Additive    bool            `json:"additive"`
	Idempotent  bool            `json:"idempotent"`
	Output      bool            `json:"has_output_schema"`
}

const howCounted = "estimated for the tokenizer o200k_base, with an error of at most 10 % for deskhand's own tools; a prefix that the client adds to names is not included"

func onOneLine(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

func indented(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}

// Catalog prints everything that a model gets from a server, as JSON or for
// people.
func (c *Console) Catalog(catalog contract.Catalog, asJSON bool) error {
	e := explain(catalog)
	if asJSON {
		return c.JSON(e)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s and instructions, together about %d tokens\n(%s)\n", textutil.Count(len(e.Tools), "tool"), e.Tokens, howCounted)
	fmt.Fprintf(&b, "\ninstructions, about %d tokens\n%s\n", e.Instructions.Tokens, indented(e.Instructions.Text))
	for _, t := range e.Tools {
		fmt.Fprintf(&b, "\n%s, about %d tokens\n%s\n%s\n", t.Name, t.Tokens, indented(t.Description), indented(onOneLine(t.Input)))
	}
	_, err := io.WriteString(c.Stdout, PainterFor(c.Stdout).Plain(b.String()))
	return err
}

func explain(c contract.Catalog) explained {
	e := explained{Counted: howCounted, Instructions: shownText{c.Instructions, Tokens(c.Instructions)}}
	e.Tokens = e.Instructions.Tokens
	for _, t := range c.Tools {
		one := explainedTool{Name: t.Name, Description: t.Description, Input: t.Input,
			ReadOnly: t.ReadOnly, Additive: t.Additive, Idempotent: t.ReadOnly || t.Idempotent, Output: t.Output != nil}
		one.Tokens = Tokens(shownOf(t))
		e.Tokens += one.Tokens
		e.Tools = append(e.Tools, one)
	}
	return e
}

// shownOf returns a tool in the form that model APIs accept: name, description and
// schema. The title, the hints and the output schema stay with the client.
func shownOf(t contract.Tool) string {
	shown, err := json.Marshal(struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	}{t.Name, t.Description, t.Input})
	if err != nil {
		return t.Name + t.Description + string(t.Input)
	}
	return string(shown)
}
