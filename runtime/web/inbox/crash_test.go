package inbox

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store/storetest"
	"github.com/deskhand/deskhand/runtime/waittest"
)

// A crash of PostgreSQL loses the draft of its last second. A window that shows it is told to
// read the question again, although nothing changes afterwards.
func TestAWindowForgetsADraftThatACrashLost(t *testing.T) {
	server := storetest.NewServer(t, "-c", "wal_writer_delay=10s")
	place := server.Database()
	here, there := openOver(t, place, elicit.Options{}), openOver(t, place, elicit.Options{})
	asked := here.ask(elicit.Question{ID: "name", Message: "Who are you?"})
	list, err := there.hub.List(t.Context(), elicit.Filter{})
	if err != nil {
		t.Fatal(err)
	}
	last := fmt.Sprint(list.Seq)
	ctx, cancel := context.WithTimeout(t.Context(), waittest.Patience)
	defer cancel()
	// follow reads the stream until it ends, as a window does, or until a line has the text.
	follow := func(text string, connected func()) bool {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, there.url+"/inbox/events", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Last-Event-ID", last)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer response.Body.Close()
		connected()
		for lines := bufio.NewScanner(response.Body); lines.Scan(); {
			if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
				last = id
			}
			if strings.Contains(lines.Text(), text) {
				return true
			}
		}
		return false
	}
	seen := follow("Ada", func() {
		a := elicit.Action{Type: elicit.AnswerChanged, RequestID: asked.ID, QuestionID: "name", Channel: Channel,
			Answer: &elicit.Answer{State: elicit.Draft, Value: &elicit.Value{Kind: elicit.TextValue, Text: "Ada"}}}
		if _, err := here.hub.Dispatch(t.Context(), a); err != nil {
			t.Error(err)
		}
	})
	if !seen {
		t.Fatal("the window does not see the draft")
	}
	server.Crash()
	server.Start()
	waittest.Until(t, "the window is told to read the question again", func() (bool, any) {
		return follow("event: reset", func() {}), last
	})
	if r, err := there.hub.Get(t.Context(), asked.ID); err != nil || len(r.Answers) > 0 {
		t.Errorf("after the crash, the drafts are %v, %v; the test wants the draft lost", r.Answers, err)
	}
}
