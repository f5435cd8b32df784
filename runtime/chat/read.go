package chat

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
	textutil "github.com/deskhand/deskhand/runtime/text"
)

// maxBody is the maximum size of a request body in bytes. Libraries send the
// whole conversation in each call.
const maxBody = 4 << 20

// format is the format of a stream.
type format string

const (
	openAI format = "openai" // chat.completions chunks
	vercel format = "vercel" // UI messages of the AI SDK
	inkeep format = "inkeep" // same as vercel, but questions have the type elicitation-request
)

// optIn is the header that a client sends if it shows questions to a person.
const optIn = "X-Supports-Elicitation"

// call is the body of a chat call and the data read from the call's last message.
type call struct {
	ConversationID string            `json:"conversationId"`
	Messages       []json.RawMessage `json:"messages"`
	Format         format            `json:"format"`
	Model          string            `json:"model"`
	Stream         *bool             `json:"stream"`
	Resume         bool              `json:"resume"`
	LastEventID    string            `json:"lastEventId"`

	elicits bool       // whether the client shows questions
	prompt  string     // from the last message; empty if it has no text
	key     string     // idempotency key: the header's, or the last message's ID
	answers []response // from the last message
}

// message is a message in OpenAI's format, with content, or in the AI SDK's,
// with parts.
type message struct {
	ID      string            `json:"id"`
	Role    string            `json:"role"`
	Content json.RawMessage   `json:"content"`
	Parts   []json.RawMessage `json:"parts"`
}

// read sets the call's fields from the last message.
func (c *call) read(data json.RawMessage) error {
	var m message
	if err := json.Unmarshal(data, &m); err != nil {
		return fault.New(badRequest, "the last message is not an object with role and content: "+textutil.Shorten(err.Error(), 200), "")
	}
	c.key = m.ID
	var texts []string
	say := func(text string) {
		if m.Role == "user" && strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
	}
	var text string
	var parts []json.RawMessage
	switch {
	case len(m.Content) == 0:
	case json.Unmarshal(m.Content, &text) == nil:
		say(text)
	case json.Unmarshal(m.Content, &parts) != nil:
		return fault.New(badRequest, "content of the last message is neither a string nor a list of parts", "")
	}
	for _, data := range append(parts, m.Parts...) {
		var p struct {
			Type, Text string
			Data       json.RawMessage
		}
		if json.Unmarshal(data, &p) != nil {
			continue // a part of an unknown form
		}
		switch p.Type {
		case "text", "input_text":
			say(p.Text)
		case "elicitation-response", "data-elicitation-response":
			if len(p.Data) > 0 {
				data = p.Data
			}
			var one response
			if err := json.Unmarshal(data, &one); err != nil {
				return fault.New(badRequest, "cannot read an elicitation-response: "+textutil.Shorten(err.Error(), 200), "send elicitationId, action and, with action accept, content")
			}
			c.answers = append(c.answers, one)
		}
	}
	c.prompt = strings.Join(texts, "\n\n")
	return nil
}

// readCall reads the body of a chat call. It uses only the last message,
// because the session already has the earlier ones.
func readCall(w http.ResponseWriter, r *http.Request) (c call, err error) {
	if err := readBody(w, r, &c); err != nil {
		return c, err
	}
	if c.ConversationID == "" {
		return c, fault.New(missing, "conversationId is missing", "send a session's ID as conversationId; get_attempt_status returns it as latest_session_id")
	}
	switch c.Format {
	case "":
		c.Format = vercel
	case openAI, vercel, inkeep:
	default:
		return c, fault.New(badRequest, fmt.Sprintf("unknown format %q", textutil.Shorten(string(c.Format), 200)), "send format openai, vercel or inkeep")
	}
	c.elicits = strings.EqualFold(r.Header.Get(optIn), "true")
	if id := r.Header.Get("Last-Event-ID"); id != "" {
		c.LastEventID = id
	}
	if c.Resume {
		return c, nil
	}
	if len(c.Messages) == 0 {
		return c, fault.New(missing, "messages are missing", "send at least one message with role user, or resume true")
	}
	if err := c.read(c.Messages[len(c.Messages)-1]); err != nil {
		return c, err
	}
	if key := r.Header.Get("Idempotency-Key"); key != "" {
		c.key = key
	}
	switch {
	case c.prompt == "" && len(c.answers) == 0:
		return c, fault.New(missing, "the last message has no text from a user", "send the text with role user, as content or as a part of type text")
	case len(c.answers) > maxResponses:
		return c, fault.New(badRequest, fmt.Sprintf("the last message has %d answers", len(c.answers)), fmt.Sprintf("send at most %d in one call", maxResponses))
	case c.prompt != "" && len(c.answers) > 0:
		return c, fault.New(badRequest, "the last message has both a text and an answer", "send the answer first, and send the text after the run has ended")
	}
	return c, nil
}

func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if errors.As(err, new(*http.MaxBytesError)) {
		return fault.New(tooLarge, fmt.Sprintf("the body is longer than %d bytes", maxBody), "send less text per call")
	}
	if err != nil {
		return fault.New(badRequest, fmt.Sprintf("cannot read the body: %v", err), fmt.Sprintf("send at most %d bytes of JSON", maxBody))
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fault.New(badRequest, "the body has the wrong form: "+textutil.Shorten(err.Error(), 200), "send a JSON object with conversationId")
	}
	return nil
}
