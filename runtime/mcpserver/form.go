package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
	elicitform "github.com/deskhand/deskhand/runtime/elicit/form"
)

// An MCP client shows a request of elicit as a form, as a link, or as both. Package
// elicit/form defines the forms. The functions in this file are pure. They return
// what the client claims, and the hub decides whether the claim is an answer.

// Protocol revisions that changed how a user is asked.
const (
	firstElicitation = "2025-06-18"
	richElicitation  = "2025-11-25" // titles of options, lists of choices, links
)

// elicitation is one thing for a client to show.
type elicitation struct {
	key    string // unique within a request
	params *mcp.ElicitParams
}

// elicitations returns what to show for r. One elicitation cannot contain both a
// link and a form.
func elicitations(r *elicit.Request, revision string) []elicitation {
	link := func(key string) elicitation {
		params := &mcp.ElicitParams{Mode: "url", Message: messageOf(r), URL: r.URL}
		if revision < modernVersion {
			params.ElicitationID = r.ID
		}
		return elicitation{key, params}
	}
	form := func(key string) elicitation {
		return elicitation{key, &mcp.ElicitParams{Mode: "form", Message: messageOf(r), RequestedSchema: elicitform.Schema(r, lists(revision))}}
	}
	switch {
	case r.Mode != elicit.URL:
		return []elicitation{form(r.ID)}
	case len(r.Questions) == 0:
		return []elicitation{link(r.ID)}
	}
	return []elicitation{link(r.ID + ".url"), form(r.ID + ".form")}
}

func messageOf(r *elicit.Request) string {
	if r.Title == "" || r.Title == r.Message {
		return r.Message
	}
	return r.Title + "\n\n" + r.Message
}

// actionsOf returns the user's actions that the client's replies report, by key. It
// returns none if replies are missing or violate the protocol. Opening a link does
// not complete it: the link's page reports that. Only an upstream that requested to
// have a link opened is answered immediately.
func actionsOf(r *elicit.Request, revision string, replies map[string]*mcp.ElicitResult) []elicit.Action {
	var actions []elicit.Action
	for _, e := range elicitations(r, revision) {
		reply := replies[e.key]
		if reply == nil {
			return nil
		}
		done := actionsOn(r, revision, e, reply)
		switch {
		case reply.Action == "decline" || reply.Action == "cancel":
			return done
		case reply.Action != "accept":
			return nil
		}
		actions = append(actions, done...)
	}
	return actions
}

// actionsOn returns the actions of the reply to one elicitation of r.
func actionsOn(r *elicit.Request, revision string, e elicitation, reply *mcp.ElicitResult) (actions []elicit.Action) {
	switch {
	case reply.Action == "decline" || reply.Action == "cancel":
		return []elicit.Action{{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Outcome(reply.Action)}}
	case reply.Action != "accept":
		return nil
	case e.params.Mode == "url" && r.Trigger == elicit.MCPElicitation && len(r.Questions) == 0:
		return []elicit.Action{{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept}}
	case e.params.Mode == "url":
		return []elicit.Action{{Type: elicit.PresentedTo, RequestID: r.ID}}
	case r.Mode == elicit.URL:
		for id, answer := range elicitform.Answers(r, lists(revision), reply.Content) {
			actions = append(actions, elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: id, Answer: &answer})
		}
		return actions
	}
	return []elicit.Action{{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: elicitform.Answers(r, lists(revision), reply.Content),
		Note: elicitform.Note(r, lists(revision), reply.Content)}}
}

// lists reports whether a revision supports lists of choices in forms; see
// [elicitform.Schema].
func lists(revision string) bool { return revision >= richElicitation }
