//go:build unix

package main

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
)

const heldCalls = 10

// SIGTERM answers every held call with the id of its question before the
// connection closes, and the server ends soon.
func TestStoppingAnswersEachHeldCallWithItsID(t *testing.T) {
	t.Setenv("CI", "")
	// begin makes the calls in the background; each sends its result as JSON, or
	// why there is none.
	begin := map[string]func(t *testing.T, state string, results chan<- string) *exec.Cmd{
		"stdio": func(t *testing.T, state string, results chan<- string) *exec.Cmd {
			p := overPipe(t, "--tools", "ask", "--state", state)
			for i := range heldCalls {
				go func() {
					m, err := p.ask("tools/call", fmt.Sprintf(`{"name":"ask_user","arguments":{"questions":[{"question":"%d?"}]}}`, i))
					results <- fmt.Sprintf("%s %v", m.Result, err)
				}()
			}
			return p.cmd
		},
	}
	for name, open := range map[string]func(*socket) *era{"with a session": (*socket).withSession, "without a session": (*socket).withoutSession} {
		for how, progress := range map[string]bool{"told of progress": true, "in silence": false} {
			begin["HTTP "+name+" "+how] = func(t *testing.T, state string, results chan<- string) *exec.Cmd {
				s := overSocket(t, "--tools", "ask", "--state", state)
				s.killed = true // it is ended here
				e := open(s)
				for i := range heldCalls {
					go func() {
						var meta []string
						if progress {
							meta = append(meta, fmt.Sprintf(`"progressToken":"p%d"`, i))
						}
						response, err := e.postIn(t.Context(), i+1, "ask_user", fmt.Sprintf(`{"questions":[{"question":"%d?"}]}`, i), meta...)
						if err != nil {
							results <- err.Error()
							return
						}
						defer response.Body.Close()
						body, err := io.ReadAll(response.Body)
						results <- fmt.Sprintf("%s %v", lastEvent(body), err)
					}()
				}
				return s.cmd
			}
		}
	}
	for name, begin := range begin {
		t.Run(name, func(t *testing.T) {
			state := filepath.Join(t.TempDir(), "state")
			results := make(chan string, heldCalls)
			cmd := begin(t, state, results)
			hub := inboxOf(t, state)
			open := map[string]bool{}
			eventually(t, "ten questions", func() error {
				list, err := hub.List(t.Context(), elicit.Filter{})
				if err != nil || len(list.Requests) != heldCalls {
					return fmt.Errorf("%d questions, %v", len(list.Requests), err)
				}
				for _, r := range list.Requests {
					open[r.ID] = true
				}
				return nil
			})
			began := time.Now()
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			for range heldCalls {
				select {
				case text := <-results:
					if id := idIn(text); !open[id] || !strings.Contains(text, "stays open") || !strings.Contains(text, `\"answered\":false`) {
						t.Errorf("a held call ended with %s; want the id of an open question", text)
					} else {
						delete(open, id)
					}
				case <-time.After(patience):
					t.Fatal("a held call was not answered")
				}
			}
			if strings.HasPrefix(name, "HTTP") {
				if err := cmd.Wait(); err != nil {
					t.Errorf("the server ended with %v", err)
				}
			}
			if took := time.Since(began); took > 10*time.Second {
				t.Errorf("stopping took %v, want less than the 10 s after which requests are cut", took)
			}
		})
	}
}

// idIn is the request id in _meta of a result or of the reply that has it.
func idIn(text string) string {
	type result struct {
		Meta map[string]any `json:"_meta"`
	}
	var reply struct {
		result
		Result *result
	}
	if json.NewDecoder(strings.NewReader(text)).Decode(&reply) != nil {
		return ""
	}
	meta := reply.Meta
	if reply.Result != nil {
		meta = reply.Result.Meta
	}
	id, _ := meta["deskhand/request_id"].(string)
	return id
}
