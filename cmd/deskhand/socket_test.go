package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// bearer is the token of agents, and personKey the secret of the person, at the
// servers of these tests.
const (
	bearer    = "a-token-for-tests-alone"
	personKey = "the-key-of-the-person-in-tests"
)

// socket is deskhand serve on a free port of loopback.
type socket struct {
	t      testing.TB
	cmd    *exec.Cmd
	url    string // of MCP
	token  string
	key    string // of the person; empty: personKey
	stderr *waittest.Log
	quiet  chan struct{} // closed when stderr ends
	killed bool
}

var servingAt = regexp.MustCompile(`(?m)^deskhand: serving MCP at (https?://\S+)`)

// overSocket starts a server that asks for bearer.
func overSocket(t testing.TB, flags ...string) *socket {
	t.Helper()
	cmd := exec.Command("deskhand", append([]string{"serve", "--http", "127.0.0.1:0"}, flags...)...)
	cmd.Env = append(cmd.Environ(), "DESKHAND_TOKEN="+bearer, "DESKHAND_PERSON_KEY="+personKey)
	s := socketOf(t, cmd)
	s.token = bearer
	return s
}

// socketOf runs a server and returns once it says where it listens.
func socketOf(t testing.TB, cmd *exec.Cmd) *socket {
	t.Helper()
	s := &socket{t: t, cmd: cmd, stderr: &waittest.Log{}, quiet: make(chan struct{})}
	cmd.Dir = t.TempDir()
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(s.quiet)
		io.Copy(s.stderr, stderr)
	}()
	t.Cleanup(s.end)
	eventually(t, "serve --http", func() error {
		if at := servingAt.FindStringSubmatch(s.stderr.String()); at != nil {
			s.url = at[1]
			return nil
		}
		return fmt.Errorf("no address on stderr: %s", s.stderr)
	})
	return s
}

// kill ends the server without a word to it.
func (s *socket) kill() {
	s.t.Helper()
	s.killed = true
	if err := s.cmd.Process.Kill(); err != nil {
		s.t.Fatal(err)
	}
	<-s.quiet
	_ = s.cmd.Wait() // says that it was killed
}

// end stops the server as an operator does.
func (s *socket) end() {
	if s.killed {
		return
	}
	s.cmd.Process.Signal(syscall.SIGTERM)
	ended(s.t, s.cmd, s.quiet, s.stderr)
}

// era is a client of one protocol era on a socket, by hand. It may be used
// concurrently.
type era struct {
	socket  *socket
	session string // of the era with sessions; empty: the one without
	next    atomic.Int64
}

// withSession begins with initialize, as clients up to 2025-11-25 do.
func (s *socket) withSession() *era {
	s.t.Helper()
	e := &era{socket: s}
	response, err := e.post(`{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"byhand","version":"1"}}}`, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	io.Copy(io.Discard, response.Body)
	response.Body.Close()
	if e.session = response.Header.Get("Mcp-Session-Id"); e.session == "" {
		s.t.Fatalf("initialize: status %s and no session", response.Status)
	}
	response, err = e.post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	response.Body.Close()
	return e
}

// withoutSession says on each request who asks, as clients of 2026-07-28 do.
func (s *socket) withoutSession() *era { return &era{socket: s} }

func (e *era) post(body string, header map[string]string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(e.socket.t.Context(), http.MethodPost, e.socket.url, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	if e.socket.token != "" {
		request.Header.Set("Authorization", "Bearer "+e.socket.token)
	}
	if e.session != "" {
		request.Header.Set("Mcp-Session-Id", e.session)
		request.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	for k, v := range header {
		request.Header.Set(k, v)
	}
	client := http.Client{Timeout: 4 * patience}
	return client.Do(request)
}

// meta is what a request of the era without sessions says of its sender.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},` +
	`"io.modelcontextprotocol/clientInfo":{"name":"byhand","version":"1"}}`

func (e *era) ask(method, params string) (message, error) {
	var header map[string]string
	if e.session == "" {
		var named struct{ Name string }
		if err := json.Unmarshal([]byte(params), &named); err != nil {
			return message{}, err
		}
		header = map[string]string{"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": method}
		if named.Name != "" {
			header["Mcp-Name"] = named.Name
		}
		params = strings.TrimSuffix(strings.TrimSpace(params), "}")
		if !strings.HasSuffix(params, "{") {
			params += ","
		}
		params += meta + "}"
	}
	id := fmt.Sprint(e.next.Add(1))
	response, err := e.post(`{"jsonrpc":"2.0","id":`+id+`,"method":"`+method+`","params":`+params+`}`, header)
	if err != nil {
		return message{}, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return message{}, err
	}
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		body = lastEvent(body)
	}
	var m message
	if err := json.Unmarshal(body, &m); err != nil || string(m.ID) != id {
		return message{}, fmt.Errorf("status %s, body %.300q is not the answer to %s: %v", response.Status, body, id, err)
	}
	return m, nil
}

// lastEvent is the data of the last event of a stream.
func lastEvent(stream []byte) (data []byte) {
	lines := bufio.NewScanner(bytes.NewReader(stream))
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		if text, ok := bytes.CutPrefix(lines.Bytes(), []byte("data:")); ok && len(bytes.TrimSpace(text)) > 0 {
			data = bytes.Clone(text)
		}
	}
	return data
}

// get reads a path of the socket beside MCP.
func (s *socket) get(path string) (status int, body string) {
	s.t.Helper()
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Get(strings.TrimSuffix(s.url, "/mcp") + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	b, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return response.StatusCode, string(b)
}
