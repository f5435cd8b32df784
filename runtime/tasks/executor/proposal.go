package executor

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/rules"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Proposal is the action for which an agent requests permission. It is read
// from the tool call itself. The agent's own description of the call is in the
// question's Message.
type Proposal struct {
	// Action is command, edit, delete, move, read, search, fetch or tool.
	Action string
	// Text holds the command, the paths and differences, the URL, or the arguments.
	Text string
	// Marks lists warnings: see [marksOf].
	Marks []string
	// Call is the call that a person's rule can match, or nil if no rule can.
	Call *rules.Call `json:",omitempty"`
}

// actions maps ACP's kinds of tools to values of Proposal.Action.
var actions = map[string]string{
	"execute": "command", "edit": "edit", "delete": "delete", "move": "move", "read": "read", "search": "search", "fetch": "fetch",
}

// ownWords lists the arguments that agents use to describe their calls.
var ownWords = []string{"description", "explanation", "justification"}

// propose returns the action of a tool call, and the agent's description of the
// action. u holds everything known about the call, and dir is the agent's
// working folder.
func propose(u acpUpdate, dir string) (Proposal, string) {
	p := Proposal{Action: "tool"}
	if u.Tool != nil && actions[*u.Tool] != "" {
		p.Action = actions[*u.Tool]
	}
	title := ""
	if u.Title != nil {
		title = *u.Title
	}
	var args map[string]any
	if json.Unmarshal(u.Input, &args) != nil && len(u.Input) > 0 {
		args = map[string]any{"input": string(u.Input)}
	}
	args = maps.Clone(args)
	var whole, said []string
	shows := func(text string) {
		if text = strings.Trim(text, "\n"); text != "" && !slices.Contains(whole, text) {
			whole = append(whole, text)
		}
	}
	if p.Action == "command" {
		for _, name := range []string{"command", "cmd"} {
			if command := shellWords(args[name]); command != "" {
				shows(command)
				delete(args, name)
			}
		}
		if len(whole) == 0 {
			shows(title)
		}
	}
	places := make([]string, 0, len(u.Locations))
	for _, l := range u.Locations {
		places = append(places, l.Path)
		shows(l.Path)
	}
	for _, part := range u.parts() {
		switch part.Type {
		case "diff":
			places = append(places, part.Path)
			before := ""
			if part.OldText != nil {
				before = *part.OldText
			}
			shows(part.Path)
			shows(difference(before, part.NewText))
			maps.DeleteFunc(args, func(_ string, v any) bool { // the difference already contains these arguments
				return v == part.Path || v == part.NewText || before != "" && v == before
			})
		case "content":
			said = append(said, part.Content.Text)
		}
	}
	for _, name := range ownWords {
		if text, ok := args[name].(string); ok {
			said = append([]string{text}, said...)
			delete(args, name)
		}
	}
	maps.DeleteFunc(args, func(_ string, v any) bool { text, ok := v.(string); return ok && slices.Contains(whole, text) })
	if len(args) > 0 {
		shows(indented(args))
	}
	if bare := strings.Trim(title, "`"); len(whole) == 0 {
		shows(title)
	} else if !slices.Contains(whole, bare) {
		said = append([]string{title}, said...)
	}
	p.Text = strings.Join(whole, "\n\n")
	p.Marks = marksOf(p, places, dir)
	words := whole // so that each text is shown only once
	said = slices.DeleteFunc(said, func(text string) bool {
		text = strings.TrimSpace(text)
		if text == "" || slices.Contains(words, text) {
			return true
		}
		words = append(words, text)
		return false
	})
	return p, strings.Join(said, "\n\n")
}

// shellWords returns a command in shell syntax: a string unchanged, or a list joined,
// with words quoted if necessary.
func shellWords(v any) string {
	list, ok := v.([]any)
	if !ok {
		text, _ := v.(string)
		return text
	}
	words := make([]string, len(list))
	for i, one := range list {
		word, ok := one.(string)
		if !ok {
			return ""
		}
		words[i] = textutil.ShellWord(word)
	}
	return strings.Join(words, " ")
}

// difference shows a replacement line by line, without context.
func difference(before, after string) string {
	var b strings.Builder
	for _, part := range []struct{ sign, text string }{{"-", before}, {"+", after}} {
		if part.text == "" {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(part.text, "\n"), "\n") {
			b.WriteString(part.sign + line + "\n")
		}
	}
	return b.String()
}

// indented formats arguments as JSON, sorted by name.
func indented(args map[string]any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(args) != nil { // cannot fail, because they were read from JSON
		return ""
	}
	return b.String()
}

// heading summarizes the proposed action in a few words, for a title. It never contains
// the agent's description.
func (p Proposal) heading(tool string) string {
	first, more, _ := strings.Cut(p.Text, "\n")
	const most = 71 // maximum length in characters, with the ellipsis
	if short := textutil.Shorten(first, most); short != first {
		first = short
	} else if more != "" && p.Action == "command" {
		first += " …"
	}
	switch p.Action {
	case "command":
		return first
	case "tool":
		return tool
	}
	return p.Action + " " + first
}
