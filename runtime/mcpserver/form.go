package mcpserver

import (
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/elicit"
	elicitform "github.com/deskhand/deskhand/runtime/elicit/form"
)

// A request of elicit is shown by an MCP client as a form, as a link, or both.
// The forms are those of elicit/form. The functions here are pure. What comes
// back is as the client says; the hub decides whether it is an answer.

// Revisions of the protocol that changed how a person is asked.
const (
	firstElicitation = "2025-06-18"
	richElicitation  = "2025-11-25" // titles of options, lists of choices, links
)

// elicitation is one thing for a client to show.
type elicitation struct {
	key    string // unique among those of a request
	params *mcp.ElicitParams
}

// elicitations are what to show for r. A link and a form cannot be in one.
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

// actionsOf are what a person has done, of the client's replies by key. None:
// not all of them are there, or one is not what the protocol allows. To have
// opened a link is not to be done with it: its page says when. Only an upstream
// that asked to have a link opened is told so at once.
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

// actionsOn are what the reply to one elicitation of r says.
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

// lists reports whether forms of a revision have lists of choices; see
// [elicitform.Schema].
func lists(revision string) bool { return revision >= richElicitation }
