package elicit

import (
	"encoding/json"
	"maps"
)

// named maps the context keys that have a field to their fields.
func (c *Context) named() map[string]*string {
	return map[string]*string{
		"projectId": &c.ProjectID, "project": &c.Project, "taskId": &c.TaskID, "attemptId": &c.AttemptID, "sessionId": &c.SessionID,
		"turnId": &c.TurnID, "toolCallId": &c.ToolCallID, "toolName": &c.ToolName, "cwd": &c.CWD,
		"branch": &c.Branch, "upstream": &c.Upstream, "conversationId": &c.ConversationID, "traceparent": &c.Traceparent,
	}
}

// text returns the string stored under another key, or "" if there is none.
func (c *Context) text(key string) (s string) {
	_ = json.Unmarshal(c.Other[key], &s) // "" if it is not a string
	return s
}

// IsZero reports whether c is empty.
func (c Context) IsZero() bool {
	for _, field := range c.named() {
		if *field != "" {
			return false
		}
	}
	return len(c.Other) == 0
}

// MarshalJSON implements [json.Marshaler].
func (c Context) MarshalJSON() ([]byte, error) {
	all := maps.Clone(c.Other)
	if all == nil {
		all = map[string]json.RawMessage{}
	}
	for key, field := range c.named() {
		if *field == "" {
			continue
		}
		b, err := json.Marshal(*field)
		if err != nil {
			return nil, err
		}
		all[key] = b
	}
	return json.Marshal(all)
}

// UnmarshalJSON implements [json.Unmarshaler]. A known key whose value is not a
// string is kept as an unknown key.
func (c *Context) UnmarshalJSON(b []byte) error {
	*c = Context{}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(b, &all); err != nil {
		return err
	}
	for key, field := range c.named() {
		var text *string
		if json.Unmarshal(all[key], &text) == nil && text != nil && *text != "" {
			*field = *text
			delete(all, key)
		}
	}
	if len(all) > 0 {
		c.Other = all
	}
	return nil
}
