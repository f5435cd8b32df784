package gateway

import (
	"bytes"
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The SDK decodes schemas and structured answers into maps, which lose the order of
// fields; people and models see that order. So each message is also read here on
// its way to the SDK, and the original bytes of a value are found again by the
// value's canonical JSON.

// rawCache holds the original bytes of values, by their canonical JSON.
type rawCache struct {
	mu    sync.Mutex
	raw   map[string]json.RawMessage
	size  int
	tasks map[string]bool // tools that can only be called as a task
}

// maxRawCache is how many bytes are kept. Beyond that, only the order of fields is
// lost.
const maxRawCache = 8 << 20

// kept lists the members whose bytes are kept.
var kept = []string{`"inputSchema"`, `"outputSchema"`, `"requestedSchema"`, `"structuredContent"`}

// keptEntries lists the members whose entries are kept, with the type that the SDK
// decodes each entry into. The SDK drops unknown members and members that are
// false.
var keptEntries = map[string]func() any{
	"prompts":           func() any { return new(mcp.Prompt) },
	"resources":         func() any { return new(mcp.Resource) },
	"resourceTemplates": func() any { return new(mcp.ResourceTemplate) },
	"completion":        func() any { return new(mcp.CompletionResultDetails) },
}

// see reads one message.
func (o *rawCache) see(message []byte) {
	o.note(taskTools(message))
	for _, name := range kept {
		if bytes.Contains(message, []byte(name)) {
			o.walk(message, 0)
			return
		}
	}
	for name := range keptEntries {
		if bytes.Contains(message, []byte(`"`+name+`"`)) {
			o.walk(message, 0)
			return
		}
	}
}

// note records tools that can only be called as a task.
func (o *rawCache) note(names []string) {
	if len(names) == 0 {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tasks == nil || len(o.tasks) > maxTools {
		o.tasks = map[string]bool{}
	}
	for _, name := range names {
		o.tasks[name] = true
	}
}

func (o *rawCache) onlyTask(tool string) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.tasks[tool]
}

// maxNesting exceeds the nesting depth of all these members in a message.
const maxNesting = 8

func (o *rawCache) walk(raw json.RawMessage, depth int) {
	if depth > maxNesting {
		return
	}
	switch first(raw) {
	case '{':
		var members map[string]json.RawMessage
		if json.Unmarshal(raw, &members) != nil {
			return
		}
		for name, value := range members {
			if isKept(name) && first(value) == '{' {
				o.add(value)
			} else if keptEntries[name] != nil {
				o.keepEntries(name, value)
			} else {
				o.walk(value, depth+1)
			}
		}
	case '[':
		var items []json.RawMessage
		if json.Unmarshal(raw, &items) != nil {
			return
		}
		for _, item := range items {
			o.walk(item, depth+1)
		}
	}
}

func isKept(name string) bool {
	for _, one := range kept {
		if one[1:len(one)-1] == name {
			return true
		}
	}
	return false
}

func first(raw []byte) byte {
	if raw = bytes.TrimLeft(raw, " \t\r\n"); len(raw) == 0 {
		return 0
	}
	return raw[0]
}

func (o *rawCache) add(raw json.RawMessage) {
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return
	}
	says, err := json.Marshal(value)
	if err != nil {
		return
	}
	var line bytes.Buffer
	if json.Compact(&line, raw) != nil {
		return
	}
	o.store(string(says), line.Bytes())
}

func (o *rawCache) store(says string, raw json.RawMessage) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.raw == nil || o.size > maxRawCache {
		o.raw, o.size = map[string]json.RawMessage{}, 0
	}
	if _, known := o.raw[says]; !known {
		o.size += len(says) + len(raw)
	}
	o.raw[says] = raw
}

// keepEntries keeps one entry, or a list of them.
func (o *rawCache) keepEntries(kind string, raw json.RawMessage) {
	items := []json.RawMessage{raw}
	if first(raw) == '[' && json.Unmarshal(raw, &items) != nil {
		return
	}
	for _, item := range items {
		var line bytes.Buffer
		decoded := keptEntries[kind]()
		if json.Unmarshal(item, decoded) != nil || json.Compact(&line, item) != nil {
			continue
		}
		if says, err := json.Marshal(decoded); err == nil {
			o.store(kind+string(says), line.Bytes())
		}
	}
}

// entry returns the original bytes of an entry that the SDK has decoded.
func (o *rawCache) entry(kind string, decoded any) (json.RawMessage, error) {
	says, err := json.Marshal(decoded)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if raw, ok := o.raw[kind+string(says)]; ok {
		return raw, nil
	}
	return says, nil
}

// of returns the original bytes of a value. It returns nil for nil.
func (o *rawCache) of(value any) (json.RawMessage, error) {
	if value == nil {
		return nil, nil
	}
	says, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if raw, ok := o.raw[string(says)]; ok {
		return raw, nil
	}
	return says, nil
}
