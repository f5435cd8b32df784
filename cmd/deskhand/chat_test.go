package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// session is a session of the scripted agent, whose first run has ended.
func (s *socket) session(state, repo string) string {
	s.t.Helper()
	done(s.t, repo, "tasks", "project", "add", ".", "--name", "shop", "--state", state)
	task := strings.TrimSpace(done(s.t, repo, "tasks", "add", "Talk", "--state", state))
	done(s.t, repo, "tasks", "start", task, "--executor", "fake", "--follow", "--prompt", "say hello", "--state", state)
	var out struct {
		Session string `json:"session_id"`
	}
	text := done(s.t, repo, "tasks", "messages", task, "--json", "--state", state)
	if err := json.Unmarshal([]byte(text), &out); err != nil || out.Session == "" {
		s.t.Fatalf("%v, no session in %s", err, text)
	}
	return out.Session
}

// chat posts to a path below the server's and returns the answer.
func (s *socket) chat(path, body string, headers ...string) *http.Response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, strings.TrimSuffix(s.url, "/mcp")+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+cmp.Or(s.key, personKey))
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// chatUntil reads a stream until it has seen all words, or its end if there are
// none, and returns what it read and the id of the last event.
func (s *socket) chatUntil(r *bufio.Reader, words ...string) (all, id string) {
	s.t.Helper()
	late := time.AfterFunc(patience, func() { _ = s.cmd.Process.Kill() }) // ends the read
	defer late.Stop()
	for {
		line, err := r.ReadString('\n')
		all += line
		if at, ok := strings.CutPrefix(strings.TrimSpace(line), "id: "); ok {
			id = at
		}
		seen := !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(all, w) })
		if seen && (err == io.EOF || len(words) > 0 && line == "\n") {
			return all, id
		}
		if err != nil {
			s.t.Fatalf("%v after\n%s\nwant %q", err, all, words)
		}
	}
}

func (s *socket) chatBody(resp *http.Response) string {
	s.t.Helper()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// A message goes to a session, what the agent asks comes on the stream, the
// answer lets it go on, and a client that was cut off goes on where it was.
func TestAChatIsASession(t *testing.T) { // I-005 I-012 I-014 I-015 I-016 I-017 I-018 I-019 I-020 I-021 I-031 I-032 I-033 I-051 I-064
	t.Setenv("CI", "")
	state := lingering(t)
	cmd := exec.Command("deskhand", "serve", "--tools", "ask", "--http", "127.0.0.1:0", "--state", state)
	cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey, "CI=")
	s := socketOf(t, cmd)
	s.token = bearer
	session := s.session(state, gitRepo(t, map[string]string{"README.md": "# Shop\n"}))
	hub := inboxOf(t, state)
	body := func(format, prompt, more string) string {
		return fmt.Sprintf(`{"conversationId":%q,"format":%q,"messages":[{"role":"user","content":%q}]%s}`, session, format, prompt, more)
	}
	const prompt = "say before\nthink hm\nrun true\nask Which colour?\nsay after"

	resp := s.chat("/run/api/chat", body("vercel", prompt, ""), "x-supports-elicitation", "true")
	stream := bufio.NewReader(resp.Body)
	_, at := s.chatUntil(stream, `"type":"start"`, `"delta":"before"`, `"type":"reasoning-delta"`, `"type":"tool-output-available"`,
		`"type":"data-elicitation-request"`, `"requestedSchema":{`, `"trigger":"acp_elicitation"`)
	if got := s.chat("/run/api/chat", body("vercel", "say no", "")); got.StatusCode != http.StatusConflict {
		t.Errorf("a message while it runs: %d, want 409", got.StatusCode)
	}
	r := oneOpen(t, hub)
	resp.Body.Close() // the client is cut off

	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"no conversation":    {`{"elicitationId":"` + r.ID + `","action":"accept"}`, 400},
		"no elicitation":     {`{"conversationId":"` + session + `","action":"accept"}`, 400},
		"no action":          {`{"conversationId":"` + session + `","elicitationId":"` + r.ID + `"}`, 400},
		"another action":     {`{"conversationId":"` + session + `","elicitationId":"` + r.ID + `","action":"completed"}`, 400},
		"unknown":            {`{"conversationId":"` + session + `","elicitationId":"elc_none","action":"decline"}`, 404},
		"other conversation": {`{"conversationId":"other","elicitationId":"` + r.ID + `","action":"decline"}`, 403},
		"mismatch":           {`{"conversationId":"` + session + `","elicitationId":"` + r.ID + `","action":"accept","content":{"nothing":"x"}}`, 400},
		"no content":         {`{"conversationId":"` + session + `","elicitationId":"` + r.ID + `","action":"accept"}`, 400},
	} {
		if got := s.chat("/run/api/elicitation-responses", c.body); got.StatusCode != c.status {
			t.Errorf("%s: %d %s, want %d", name, got.StatusCode, s.chatBody(got), c.status)
		}
	}

	resp = s.chat("/run/api/chat", `{"conversationId":"`+session+`","resume":true}`, "x-supports-elicitation", "true", "Last-Event-ID", at)
	stream = bufio.NewReader(resp.Body)
	again, _ := s.chatUntil(stream, "data-elicitation-request")
	if strings.Contains(again, "before") || !strings.Contains(again, r.ID) {
		t.Errorf("resumed at %s:\n%s\nwant the question alone", at, again)
	}
	answer := `{"conversationId":"` + session + `","responses":[{"elicitationId":"elc_none","action":"accept"},5,{"elicitationId":"elc_odd","action":"accept","content":[1]},{"elicitationId":"` + r.ID + `","action":"accept","note":"or navy","content":{"` + r.Questions[0].ID + `":"blue"}}]}`
	got := s.chat("/run/api/elicitation-responses", answer)
	if text := s.chatBody(got); got.StatusCode != 200 || !strings.Contains(text, `"status":404`) || !strings.Contains(text, `"status":200`) {
		t.Errorf("a batch: %d %s, want one of each", got.StatusCode, text)
	} else if !strings.Contains(text, `"elicitationId":"elc_odd","status":400`) {
		t.Errorf("a batch: %s, want what is no response refused alone", text)
	}
	if now, err := hub.Get(t.Context(), r.ID); err != nil || now.Completion == nil || now.Completion.Note != "or navy" {
		t.Errorf("the request is %+v, %v; want the note", now.Completion, err)
	}
	if got := s.chat("/run/api/elicitation-responses", answer); !strings.Contains(s.chatBody(got), `"status":409`) {
		t.Error("the second answer is no conflict")
	}
	rest, _ := s.chatUntil(stream)
	for _, want := range []string{"answer: blue", `"delta":"after"`, `"outcome":"accept"`, `"type":"finish"`, "data: [DONE]"} {
		if !strings.Contains(rest, want) {
			t.Errorf("the rest has no %s:\n%s", want, rest)
		}
	}

	// Buffered, and answered as a part of a message.
	resp = s.chat("/run/api/chat", body("openai", "say one\nask Which size?\nsay two", `,"stream":false`), "x-supports-elicitation", "true")
	var buffered struct {
		Status      string
		LastEventID string
		Choices     []struct{ Message struct{ Content string } }
		Pending     []struct{ ElicitationID string } `json:"pendingElicitations"`
	}
	text := s.chatBody(resp)
	if err := json.Unmarshal([]byte(text), &buffered); err != nil || buffered.Status != "waiting" || len(buffered.Pending) != 1 {
		t.Fatalf("buffered: %v in %s, want one that waits", err, text)
	}
	r = oneOpen(t, hub)
	part := fmt.Sprintf(`{"conversationId":%q,"format":"openai","lastEventId":%q,"messages":[{"role":"user","parts":[{"type":"elicitation-response","state":"elicitation-responded","elicitationId":%q,"action":"accept","content":{%q:"large"}}]}]}`,
		session, buffered.LastEventID, r.ID, r.Questions[0].ID)
	rest, _ = s.chatUntil(bufio.NewReader(s.chat("/run/api/chat", part, "x-supports-elicitation", "true").Body))
	for _, want := range []string{"answer: large", `\n\ntwo`, `"finish_reason":"stop"`, "data: [DONE]"} {
		if !strings.Contains(rest, want) {
			t.Errorf("after the part the stream has no %s:\n%s", want, rest)
		}
	}

	// Without the header nothing is said of questions, and a person
	// answers elsewhere.
	resp = s.chat("/run/api/chat", body("inkeep", "ask Which shape?", ""))
	r = oneOpen(t, hub)
	answers, err := r.Fields(map[string][]string{r.Questions[0].ID: {"round"}})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := hub.Dispatch(t.Context(), elicit.Action{Type: elicit.CompletedBy, RequestID: r.ID, Response: elicit.Accept, Answers: answers, By: "ann"}); err != nil {
		t.Fatal(err)
	}
	rest, _ = s.chatUntil(bufio.NewReader(resp.Body))
	if strings.Contains(rest, "elicitation") || !strings.Contains(rest, "answer: round") {
		t.Errorf("without the header:\n%s\nwant no question and the answer", rest)
	}
	if got := s.chatBody(s.chat("/run/api/chat", body("vercel", "fail no luck", ""))); !strings.Contains(got, `"errorText":"failed (exit_code=1): no luck"`) {
		t.Errorf("the stream does not say why the run failed:\n%s", got)
	}
}

func TestChatsAreWhereQuestionsOrTasksAre(t *testing.T) {
	index := indexed(t, acme(t, nil))
	for tools, want := range map[string]int{"docs": http.StatusNotFound, "docs,ask": http.StatusBadRequest, "docs,work": http.StatusBadRequest} {
		s := overSocket(t, "--index", index, "--tools", tools, "--state", t.TempDir())
		if got := s.chat("/run/api/chat", "no JSON").StatusCode; got != want {
			t.Errorf("with --tools %s a chat has the status %d, want %d", tools, got, want)
		}
	}
}
