//go:build unix

package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// peerProcess is a server over stdio that stands by for the inbox at addr.
func peerProcess(t *testing.T, state, addr string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "deskhand", "serve", "--tools", "ask", "--state", state)
	cmd.Env = append(os.Environ(), "CI=", "DESKHAND_PERSON_KEY="+personKey, "DESKHAND_INBOX="+addr)
	in, err := cmd.StdinPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Wait() //nolint:errcheck // it may have been killed
	})
	return cmd
}

// freeAddr is an address where nothing listens.
func freeAddr(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// pageAt reads a page of the inbox as somebody who has signed in.
func pageAt(addr, path string) (string, error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+addr+path, nil)
	if err != nil {
		return "", err
	}
	r.Header.Set("Authorization", "Bearer "+personKey)
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("GET %s: %s", path, response.Status)
	}
	return string(body), err
}

func TestAnotherPeerTakesTheInboxOver(t *testing.T) {
	state, addr := filepath.Join(t.TempDir(), "state"), freeAddr(t)
	hub := inboxOf(t, state)
	r, err := hub.Open(t.Context(), elicit.Request{Trigger: elicit.CLI, Questions: []elicit.Question{{ID: "q", Message: "Which name?", Required: true}}})
	if err != nil {
		t.Fatal(err)
	}
	first := peerProcess(t, state, addr)
	has := func(want string) func() error {
		return func() error {
			page, err := pageAt(addr, "/inbox/"+r.ID)
			if err == nil && !strings.Contains(page, want) {
				err = fmt.Errorf("no %q in %s", want, page)
			}
			return err
		}
	}
	eventually(t, "the first peer serves", has("Which name?"))
	peerProcess(t, state, addr)
	_, err = hub.Dispatch(t.Context(), elicit.Action{Type: elicit.AnswerChanged, RequestID: r.ID, QuestionID: "q",
		Answer: &elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.TextValue, Text: "half a na"}}})
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(200 * time.Millisecond) // the second one has begun to stand by
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	died := time.Now()
	eventually(t, "the second peer serves", has("half a na"))
	if took := time.Since(died); took > waittest.Soon {
		t.Errorf("the inbox was away for %v, want it back in about a second", took)
	}
}
