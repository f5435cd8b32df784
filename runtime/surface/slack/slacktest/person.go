package slacktest

import (
	"encoding/json"
	"slices"
	"testing"
)

// Press presses a button in a message, or selects option in one of the
// message's menus. The test fails if there is no such button or menu.
func (s *Slack) Press(t testing.TB, user string, m Message, action, option string) {
	t.Helper()
	for _, b := range m.Blocks {
		for _, e := range list(b["elements"]) {
			if e["action_id"] != action {
				continue
			}
			a := map[string]any{"type": e["type"], "action_id": action, "block_id": b["block_id"], "value": e["value"], "action_ts": "1.1"}
			if option != "" {
				if !slices.Contains(Values(e), option) {
					t.Fatalf("the menu %s has no %q, but %q", action, option, Values(e))
				}
				a["selected_option"] = map[string]any{"value": option, "text": map[string]any{"type": "plain_text", "text": option}}
			}
			s.Interact(t, map[string]any{"type": "block_actions", "user": map[string]any{"id": user}, "trigger_id": "trigger." + user,
				"channel": map[string]any{"id": m.Channel}, "container": map[string]any{"type": "message", "message_ts": m.TS, "channel_id": m.Channel},
				"state": map[string]any{"values": map[string]any{}}, "actions": []any{a}})
			return
		}
	}
	t.Fatalf("there is nothing %q to press in %s", action, s)
}

// Values returns the values that Slack sends for an element's options.
func Values(element map[string]any) (values []string) {
	groups := append(list(element["option_groups"]), element)
	for _, g := range groups {
		for _, o := range list(g["options"]) {
			if v, ok := o["value"].(string); ok {
				values = append(values, v)
			}
		}
	}
	return values
}

// State is the content of a form. The first key is the block, and the second is
// the action.
type State map[string]map[string]map[string]any

// Type reports a change in a form before the form is submitted.
func (s *Slack) Type(t testing.TB, user string, v View, block string, state State) {
	t.Helper()
	for action := range state[block] {
		a := map[string]any{"type": "plain_text_input", "action_id": action, "block_id": block, "action_ts": "1.1"}
		s.Interact(t, map[string]any{"type": "block_actions", "user": map[string]any{"id": user}, "trigger_id": "trigger." + user,
			"view": withState(v, state), "container": map[string]any{"type": "view", "view_id": v.ID}, "actions": []any{a}})
	}
}

// Submit submits a form. It returns the response, which tells Slack what to
// show.
func (s *Slack) Submit(t testing.TB, user string, v View, state State) json.RawMessage {
	t.Helper()
	return s.Interact(t, map[string]any{"type": "view_submission", "user": map[string]any{"id": user}, "view": withState(v, state)})
}

func withState(v View, state State) map[string]any {
	return map[string]any{"id": v.ID, "type": "modal", "callback_id": v.CallbackID, "private_metadata": v.PrivateMetadata,
		"blocks": v.Blocks, "state": map[string]any{"values": state}}
}
