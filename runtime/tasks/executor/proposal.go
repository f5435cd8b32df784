package executor

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Proposal is the action that an agent asks permission for, read from the tool
// call. What the agent says about the call is in the question's Message.
type Proposal struct {
	// Action is command, edit, delete, move, read, search, fetch or tool.
	Action string
	// Text has the command, the paths and differences, the address, or the
	// arguments.
	Text string
	// Marks names what stands out: see [marksOf].
	Marks []string
}

// actions maps the kinds of tools in ACP to those of a Proposal.
var actions = map[string]string{
	"execute": "command", "edit": "edit", "delete": "delete", "move": "move", "read": "read", "search": "search", "fetch": "fetch",
}

// ownWords are the arguments in which an agent describes its call.
var ownWords = []string{"description", "explanation", "justification"}

// propose returns what a tool call does, and what the agent says about it. u is
// the call with all that is known of it, dir the folder that the agent works in.
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
			maps.DeleteFunc(args, func(_ string, v any) bool { // shown by the difference
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
	words := whole // said and shown once
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

// shellWords returns a command as a shell takes it: a text as it is, a list with
// the words quoted that need it.
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
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !strings.ContainsRune(plainInShell, r) }) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words[i] = word
	}
	return strings.Join(words, " ")
}

// plainInShell are the characters that a shell takes as they are.
const plainInShell = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:@%,"

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

// indented writes arguments as JSON in the order of their names.
func indented(args map[string]any) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if e.Encode(args) != nil { // they were read from JSON
		return ""
	}
	return b.String()
}

// heading says in a few words what the agent wants to do, for a title. It never
// has the agent's words about it.
func (p Proposal) heading(tool string) string {
	first, more, _ := strings.Cut(p.Text, "\n")
	const most = 71 // characters, with the ellipsis
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
