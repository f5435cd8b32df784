// Package rules keeps what people decided once for many of an agent's tool calls: to allow
// them without asking, or to always ask.
//
// A rule names a tool and a pattern of its command. [Pattern.Allows] decides, as a pure
// function, whether a call matches, and it is strict: what it cannot read for certain does
// not match, so a person is asked. A [Register] keeps rules in the store, and applies them
// in the transaction that asks the question, so a revoked rule is never used.
package rules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Command is the tool of calls that run a command, whatever the agent calls it.
const Command = "command"

// AnyTool is the tool of a rule that always asks, for all tools.
const AnyTool = "*"

// BadPattern is the code of faults about patterns and tools.
const BadPattern = "bad_pattern"

// Call is an agent's tool call that a rule can match. It is read from the call itself. Calls
// that change files have none: a person sees each of them.
type Call struct {
	Tool string `json:"tool"` // [Command], or the tool's exact name
	// Command is the command line, for the tool Command.
	Command string `json:"command,omitempty"`
	// Arguments is the call's arguments as a JSON object, for other tools.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Allow is the ID of the option that allows the call once.
	Allow string `json:"allow"`
}

// ValidTool reports whether a name can be a rule's tool.
func ValidTool(name string) bool {
	return name != "" && len(name) <= 200 && !strings.ContainsFunc(name, func(c rune) bool {
		return !(c < 128 && (unicode.IsLetter(c) || unicode.IsDigit(c))) && !strings.ContainsRune("_.:/-", c)
	})
}

// builtIn lists agents' own tools that change, read, search or fetch something, in lower case.
// A person sees each of these calls that an agent asks about: what they do is not in a few
// words, so that no pattern says enough.
var builtIn = set(
	"edit write multiedit notebookedit read ls glob grep websearch webfetch task todowrite", // Claude Code
	"apply_patch view_image update_plan web_search",                                         // Codex
	"replace write_file read_file read_many_files list_directory search_file_content web_fetch google_web_search save_memory",
	"patch list codesearch todoread", // OpenCode
	"edit_file create_file delete_file move_file create_directory fetch",
)

// AlwaysAsked reports whether no rule can allow calls of a tool, because it is an agent's own
// tool that changes, reads or fetches something.
func AlwaysAsked(tool string) bool { return builtIn[strings.ToLower(tool)] }

// Pattern selects calls of one tool. The zero value selects calls without arguments.
type Pattern struct {
	command bool
	list    []string // the command's first words, or name=value of arguments
	star    bool     // further words or arguments may follow
}

// shells are the names that agents use for the tool Command.
var shells = []string{"bash", "shell", "execute", "sh", "run_shell_command", "terminal"}

// ToolNamed returns the tool that a person means by a name.
func ToolNamed(name string) string {
	if slices.Contains(shells, strings.ToLower(name)) {
		return Command
	}
	return name
}

// Parse reads the pattern of a rule that allows calls: words of a command, or arguments as
// name=value, and a star at the end for any further ones. Fails with code [BadPattern].
func Parse(tool, text string) (Pattern, error) {
	if !ValidTool(tool) {
		return Pattern{}, bad("%.80q is not the name of one tool", tool, "use command, or the tool's exact name; * is only for rules with --ask")
	}
	if AlwaysAsked(tool) {
		return Pattern{}, bad("no rule can allow calls of %.80s: a person sees each file that changes, and each page that is fetched, before", tool,
			"allow these calls when the agent asks, or let the agent's own settings allow them; rules are for commands (--tool command) and for tools of MCP servers, for example mcp__github__get_issue")
	}
	p, err := parse(tool, text)
	switch {
	case err != nil:
		return p, err
	case p.command && len(p.list) == 0:
		return p, bad("the pattern %.80q has no command", text, "write the command's words, for example: go test *")
	case p.command && p.star && namesPrograms(p.list):
		return p, bad("%.80q could run any other program", text, "write the command's further words instead of the *")
	}
	return p, nil
}

// ParseMark is like Parse for a rule that always asks. The tool may be [AnyTool], and a
// pattern without words stands for all calls of the tool.
func ParseMark(tool, text string) (Pattern, error) {
	if tool != AnyTool && !ValidTool(tool) {
		return Pattern{}, bad("%.80q is not the name of a tool", tool, "use command, the tool's exact name, or * for all tools")
	}
	p, err := parse(tool, text)
	if err == nil && tool == AnyTool && len(p.list) > 0 {
		return p, bad("the pattern %.80q is for one tool", text, "name the tool, or write '' as the pattern")
	}
	return p, err
}

func bad(format, text, hint string) error {
	return fault.New(BadPattern, fmt.Sprintf(format, text), hint)
}

func parse(tool, text string) (p Pattern, err error) {
	p.command = tool == Command
	rest := strings.TrimSpace(text)
	if strings.HasSuffix(rest, "*") {
		p.star, rest = true, strings.TrimSpace(strings.TrimSuffix(rest, "*"))
	}
	if rest == "" {
		return p, nil
	}
	var ok bool
	if p.command {
		p.list, ok = words(rest)
	} else if p.list, ok = split(rest); ok {
		for _, field := range p.list {
			name, _, valued := strings.Cut(field, "=")
			ok = ok && valued && name != ""
		}
		slices.Sort(p.list)
	}
	if ok {
		return p, nil
	}
	if p.command {
		return p, bad("%.80q is not a pattern", text, "use literal words, quoted if necessary, with one * at the end; operators such as ; | & > $ and other wildcards are not allowed")
	}
	return p, bad("%.80q is not a pattern of arguments", text, "write name=value for each argument, quoted if necessary, with one * at the end for any others")
}

// String returns the pattern as it is shown and stored.
func (p Pattern) String() string {
	text := quoted(p.list)
	if p.star {
		return strings.TrimPrefix(text+" *", " ")
	}
	return text
}

// Allows reports whether a call matches the pattern of a rule that allows. The call must
// have the rule's tool.
func (p Pattern) Allows(c Call) bool {
	if p.command != (c.Tool == Command) {
		return false
	}
	if !p.command {
		args, ok := arguments(c.Arguments)
		return ok && p.names(args) && (p.star || len(args) == len(p.list))
	}
	list, ok := words(c.Command)
	if !ok || len(p.list) == 0 || len(list) < len(p.list) || !slices.Equal(list[:len(p.list)], p.list) {
		return false
	}
	rest := list[len(p.list):]
	if len(rest) == 0 {
		return true
	}
	return p.star && !namesPrograms(p.list) && !slices.ContainsFunc(rest, func(word string) bool { return !covered(p.list, word) })
}

// Marks reports whether a call matches the pattern of a rule that always asks. It errs on
// the side of asking: the pattern's words may have others in front, between and behind, and
// a program's folder does not matter.
func (p Pattern) Marks(c Call) bool {
	if !p.command || c.Tool != Command {
		args, ok := arguments(c.Arguments)
		return !ok || p.names(args)
	}
	list, ok := words(c.Command)
	if !ok {
		return true
	}
	left := p.list
	for _, word := range list {
		if len(left) > 0 && (word == left[0] || path.Base(word) == path.Base(left[0])) {
			left = left[1:]
		}
	}
	return len(left) == 0
}

// names reports whether the arguments contain all of the pattern.
func (p Pattern) names(args []string) bool {
	return !slices.ContainsFunc(p.list, func(field string) bool { return !slices.Contains(args, field) })
}

// arguments returns a call's arguments as name=value, sorted. Values that are not text are
// compact JSON. ok is false if two arguments have the same name, because programs disagree
// about which counts, or if a name or text has characters that a reader cannot see.
func arguments(raw json.RawMessage) (fields []string, ok bool) {
	if len(raw) == 0 {
		return nil, true
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, isText := token.(string)
		if err != nil || !isText || seen[strings.ToLower(name)] || name == "" || strings.Contains(name, "=") || !readable(name) {
			return nil, false
		}
		seen[strings.ToLower(name)] = true
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return nil, false
		}
		var text string
		if json.Unmarshal(value, &text) != nil || string(value) == "null" {
			var compact bytes.Buffer
			if json.Compact(&compact, value) != nil {
				return nil, false
			}
			text = compact.String()
		}
		if !readable(text) {
			return nil, false
		}
		fields = append(fields, name+"="+text)
	}
	if end, err := d.Token(); err != nil || end != json.Delim('}') || d.More() {
		return nil, false
	}
	slices.Sort(fields)
	return fields, true
}

// readable reports whether a reader sees all of a text.
func readable(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool {
		return c != '\n' && c != '\t' && !unicode.IsPrint(c) || c == unicode.ReplacementChar
	})
}

// Propose returns a pattern for calls like c, for a person to change, or "" if no rule can
// match c. For a command, it keeps the words that select what the command does, and its
// options.
func Propose(c Call) string {
	if c.Tool != Command {
		if args, ok := arguments(c.Arguments); ok && len(args) == 0 {
			return ""
		} else if p := (Pattern{star: true}); ok && p.Allows(c) && ValidTool(c.Tool) {
			return p.String()
		}
		return ""
	}
	list, ok := words(c.Command)
	if !ok {
		return ""
	}
	for n := 1; n < len(list); n++ {
		p := Pattern{command: true, list: list[:n], star: true}
		if n == 1 && len(list) > 2 && !strings.HasPrefix(list[1], "-") && !strings.ContainsAny(list[1], "./") {
			continue // the second word may select what the program does
		}
		if p.Allows(c) {
			return p.String()
		}
	}
	return Pattern{command: true, list: list}.String()
}

// Possible reports whether some rule could allow a call.
func Possible(c Call) bool {
	if c.Tool == Command {
		_, ok := words(c.Command)
		return ok
	}
	_, ok := arguments(c.Arguments)
	return ok && ValidTool(c.Tool) && !AlwaysAsked(c.Tool)
}
