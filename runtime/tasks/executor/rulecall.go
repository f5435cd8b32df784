package executor

import (
	"bytes"
	"encoding/json"
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/deskhand/deskhand/runtime/rules"
)

// callOf returns the call that a person's rule can match, or nil if no rule can: calls that
// change, read or fetch something by another way than a command or a named tool, and commands
// with arguments that could change what they do. It is read from the call's arguments only.
// The agent's title and description count for nothing.
func callOf(u acpUpdate, name, dir string) *rules.Call {
	kind := ""
	if u.Tool != nil {
		kind = *u.Tool
	}
	for _, part := range u.parts() {
		if part.Type == "diff" {
			return nil
		}
	}
	switch kind {
	case "execute":
		if command, ok := onlyCommand(u.Input, dir); ok {
			return &rules.Call{Tool: rules.Command, Command: command}
		}
	case "other", "":
		if rules.ValidTool(name) && rules.ToolNamed(name) == name && !rules.AlwaysAsked(name) && len(u.Input) > 0 { // without input, the arguments are not known
			return &rules.Call{Tool: name, Arguments: json.RawMessage(bytes.Clone(u.Input))}
		}
	}
	return nil
}

// unchanging lists arguments of shell tools that do not change what a command does: agents'
// descriptions, time limits and names of the call. An argument that is not listed, for
// example one that leaves the agent's own sandbox, is a person's to decide.
var unchanging = map[string]bool{
	"description": true, "explanation": true, "justification": true, "reason": true, "timeout": true, "timeout_ms": true,
	"call_id": true, "turn_id": true, "process_id": true, "approval_id": true, "started_at_ms": true, "parsed_cmd": true,
}

// onlyCommand returns the command of a shell tool's arguments. ok is false if the arguments
// say anything else that matters, or if the shell is one whose words we do not know.
func onlyCommand(input json.RawMessage, dir string) (command string, ok bool) {
	if runtime.GOOS == "windows" {
		return "", false
	}
	d := json.NewDecoder(bytes.NewReader(input))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return "", false
	}
	seen := map[string]bool{}
	for d.More() {
		token, err := d.Token()
		name, _ := token.(string)
		var value any
		if err != nil || d.Decode(&value) != nil || seen[strings.ToLower(name)] {
			return "", false
		}
		seen[strings.ToLower(name)] = true
		switch name {
		case "command", "cmd":
			if command != "" {
				return "", false
			}
			command = inShell(value)
		case "cwd", "workdir", "directory":
			if text, isText := value.(string); !isText || text != "" && text != "." && filepath.Clean(text) != filepath.Clean(dir) {
				return "", false
			}
		default:
			if !unchanging[name] && value != nil {
				return "", false
			}
		}
	}
	return command, command != ""
}

// inShell returns the command line of a shell tool. A list is a program's words; if the
// program is a shell with a script, it is the script.
func inShell(v any) string {
	list, ok := v.([]any)
	if !ok || len(list) != 3 {
		return shellWords(v)
	}
	program, _ := list[0].(string)
	option, _ := list[1].(string)
	script, _ := list[2].(string)
	switch path.Base(program) {
	case "bash", "sh", "zsh", "dash":
		if option == "-c" || option == "-lc" {
			return script
		}
	}
	return shellWords(v)
}

// withOption returns a call with the option that allows it once, or nil if there is none.
// An option with the ID of another one does not count, because its ID could mean either, and
// none that allows more than this call, because then the agent would not ask again after the
// rule has ended.
func withOption(c *rules.Call, options []Option) *rules.Call {
	if c == nil {
		return nil
	}
	count := map[string]int{}
	for _, o := range options {
		count[o.ID]++
	}
	for _, o := range options {
		if o.Kind == "allow_once" && o.ID != "" && count[o.ID] == 1 {
			with := *c
			with.Allow = o.ID
			return &with
		}
	}
	return nil
}
