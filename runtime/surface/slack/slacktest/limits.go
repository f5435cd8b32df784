package slacktest

import (
	"fmt"
	"unicode/utf16"
)

// CheckMessage returns the reasons why Slack would refuse a message.
func CheckMessage(text string, blocks []map[string]any) []string {
	c := &checker{}
	if text == "" {
		c.say("message: no text for notifications")
	}
	if n := size(text); n > 40000 {
		c.say("message: text of %d", n)
	}
	c.blocks(blocks, 50, false)
	return c.problems
}

// CheckView returns the reasons why Slack would refuse a form.
func CheckView(v map[string]any) []string {
	c := &checker{}
	if v["type"] != "modal" {
		c.say("view: type %v", v["type"])
	}
	c.text("view title", v["title"], 24, true)
	c.optional("view close", v["close"], 24)
	c.optional("view submit", v["submit"], 24)
	c.bound("private_metadata", v["private_metadata"], 0, 3000)
	c.bound("callback_id", v["callback_id"], 0, 255)
	blocks := list(v["blocks"])
	c.blocks(blocks, 100, true)
	for _, b := range blocks {
		if b["type"] == "input" && v["submit"] == nil {
			c.say("view: an input and nothing to submit it with")
		}
	}
	return c.problems
}

type checker struct{ problems []string }

func (c *checker) say(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

func list(v any) (all []map[string]any) {
	items, _ := v.([]any)
	for _, item := range items {
		if m, ok := item.(map[string]any); ok {
			all = append(all, m)
		}
	}
	if direct, ok := v.([]map[string]any); ok {
		return direct
	}
	return all
}

func size(text string) int { return len(utf16.Encode([]rune(text))) }

func (c *checker) bound(what string, v any, least, most int) {
	text, _ := v.(string)
	if n := size(text); n < least || n > most {
		c.say("%s has %d characters, want %d to %d", what, n, least, most)
	}
}

// text checks a text object.
func (c *checker) text(what string, v any, most int, plain bool) {
	o, ok := v.(map[string]any)
	if !ok {
		c.say("%s is missing", what)
		return
	}
	if o["type"] != "plain_text" && (plain || o["type"] != "mrkdwn") {
		c.say("%s is of type %v", what, o["type"])
	}
	if o["type"] == "mrkdwn" && o["emoji"] != nil || o["type"] == "plain_text" && o["verbatim"] != nil {
		c.say("%s has a field of the other type of text", what)
	}
	c.bound(what, o["text"], 1, most)
}

func (c *checker) optional(what string, v any, most int) {
	if v != nil {
		c.text(what, v, most, true)
	}
}

func (c *checker) blocks(blocks []map[string]any, most int, view bool) {
	if len(blocks) == 0 || len(blocks) > most {
		c.say("%d blocks, want 1 to %d", len(blocks), most)
	}
	seen := map[any]bool{}
	for _, b := range blocks {
		if id := b["block_id"]; id != nil {
			c.bound("block_id", id, 1, 255)
			if seen[id] {
				c.say("block_id %v is there twice", id)
			}
			seen[id] = true
		}
		switch b["type"] {
		case "header":
			c.text("header", b["text"], 150, true)
		case "section":
			c.text("section", b["text"], 3000, false)
		case "context":
			c.context(list(b["elements"]))
		case "actions":
			c.actions(list(b["elements"]))
		case "input":
			c.text("label", b["label"], 2000, true)
			c.optional("hint", b["hint"], 2000)
			if !view {
				c.say("an input in a message")
			}
			e, _ := b["element"].(map[string]any)
			c.element(e, true)
		default:
			c.say("block of type %v", b["type"])
		}
	}
}

func (c *checker) context(elements []map[string]any) {
	if len(elements) == 0 || len(elements) > 10 {
		c.say("context of %d elements", len(elements))
	}
	for _, e := range elements {
		c.text("context", e, 3000, false)
	}
}

func (c *checker) actions(elements []map[string]any) {
	if len(elements) == 0 || len(elements) > 25 {
		c.say("actions of %d elements", len(elements))
	}
	seen := map[any]bool{}
	for _, e := range elements {
		if seen[e["action_id"]] {
			c.say("action_id %v is there twice", e["action_id"])
		}
		seen[e["action_id"]] = true
		c.element(e, false)
	}
}

// known maps the elements that deskhand sends to where they may be: in an
// input, in actions, or in both.
var known = map[string]string{"button": "actions", "overflow": "actions", "static_select": "both", "multi_static_select": "input",
	"radio_buttons": "both", "checkboxes": "both", "plain_text_input": "input", "datepicker": "both"}

func (c *checker) element(e map[string]any, input bool) {
	kind, _ := e["type"].(string)
	if where, ok := known[kind]; !ok || input && where == "actions" || !input && where == "input" {
		c.say("element of type %q in the wrong place", kind)
		return
	}
	c.bound("action_id", e["action_id"], 1, 255)
	c.optional("placeholder", e["placeholder"], 150)
	c.confirm(e["confirm"])
	switch kind {
	case "button":
		c.text("button", e["text"], 75, true)
		c.bound("url", e["url"], 0, 3000)
		c.bound("value", e["value"], 0, 2000)
	case "overflow":
		c.options(list(e["options"]), 1, 5)
	case "radio_buttons", "checkboxes":
		c.options(list(e["options"]), 1, 10)
	case "static_select", "multi_static_select":
		c.menu(e)
	case "plain_text_input":
		c.bound("initial_value", e["initial_value"], 0, 3000)
		if n, ok := e["max_length"].(float64); ok && (n < 1 || n > 3000) {
			c.say("max_length %v", n)
		}
	}
	c.initial(e)
}

func (c *checker) menu(e map[string]any) {
	groups := list(e["option_groups"])
	if e["option_groups"] == nil {
		c.options(list(e["options"]), 1, 100)
		return
	}
	if e["options"] != nil || len(groups) == 0 || len(groups) > 100 {
		c.say("%d groups of options, want 1 to 100 and no options beside", len(groups))
	}
	for _, g := range groups {
		c.text("group", g["label"], 75, true)
		c.options(list(g["options"]), 1, 100)
	}
}

// initial checks that each initial option is exactly equal to an available
// option.
func (c *checker) initial(e map[string]any) {
	chosen := list(e["initial_options"])
	if one, ok := e["initial_option"].(map[string]any); ok {
		chosen = append(chosen, one)
	}
	if e["initial_options"] != nil && len(chosen) == 0 {
		c.say("initial_options is empty")
	}
	for _, o := range chosen {
		found := false
		for _, g := range append(list(e["option_groups"]), e) {
			for _, other := range list(g["options"]) {
				found = found || fmt.Sprint(o) == fmt.Sprint(other)
			}
		}
		if !found {
			c.say("initial option %v is none of the options", o)
		}
	}
}

func (c *checker) options(all []map[string]any, least, most int) {
	if len(all) < least || len(all) > most {
		c.say("%d options, want %d to %d", len(all), least, most)
	}
	seen := map[any]bool{}
	for _, o := range all {
		c.text("option", o["text"], 75, true)
		c.bound("option value", o["value"], 1, 150)
		c.optional("option description", o["description"], 75)
		if seen[o["value"]] {
			c.say("option value %v is there twice", o["value"])
		}
		seen[o["value"]] = true
	}
}

func (c *checker) confirm(v any) {
	o, ok := v.(map[string]any)
	if !ok {
		return
	}
	c.text("confirm title", o["title"], 100, true)
	c.text("confirm text", o["text"], 300, false)
	c.text("confirm", o["confirm"], 30, true)
	c.optional("deny", o["deny"], 30)
}
