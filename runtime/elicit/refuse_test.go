package elicit_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	. "github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store/storetest"
)

func TestSecretsAreForOtherWaysUnlessTheHubTakesThem(t *testing.T) {
	r := Request{Trigger: MCPElicitation, Message: "Set up", Questions: []Question{
		{ID: "user", Message: "User name"}, {ID: "pass", Message: "Password"}, {ID: "card", Kind: Integer, Message: "What is your credit card number?"},
	}}
	h := peer(t, t.TempDir(), attended)
	for name, ask := range map[string]func() error{
		"Open": func() error { _, err := h.Open(t.Context(), r); return err },
		"Ask":  func() error { _, err := h.Ask(t.Context(), r); return err },
	} {
		err := ask()
		var rejected *Rejection
		if !errors.As(err, &rejected) || rejected.Code != InvalidRequest || len(rejected.Problems) != 2 ||
			rejected.Problems[0].QuestionID != "pass" || rejected.Problems[1].Code != AsksForSecret || rejected.Hint == "" {
			t.Errorf("%s = %v, want a refusal that names pass and card", name, err)
		}
	}
	if list := opens(t, h); len(list) != 0 {
		t.Errorf("open are %+v, want nothing", list)
	}
	mustOpen(t, peer(t, t.TempDir(), Options{AllowSecrets: true}), r)
}

func TestASourceThatAsksWithoutEndIsStopped(t *testing.T) {
	storetest.Each(t, func(t *testing.T, place string) {
		h, other := peer(t, place, Options{Rate: 3}), peer(t, place, Options{Rate: 3})
		r := greeting()
		r.Key = "first"
		for _, one := range []*Hub{h, other, h} {
			mustOpen(t, one, r)
			r.Key += "+"
		}
		_, err := other.Open(t.Context(), r)
		if f := fault.Of(err); f == nil || f.Code != TooMany || !f.Retryable || !strings.Contains(f.Message, "claude") {
			t.Errorf("the fourth = %v, want too_many_requests of claude", err)
		}
		r.Key = "first"
		if _, err := h.Open(t.Context(), r); err != nil {
			t.Errorf("a question that is there = %v, want it found", err)
		}
		r.Key, r.Source.Name = "", "another"
		mustOpen(t, h, r)
	})
	t.Run("for a while", func(t *testing.T) {
		bubble(t, func(t *testing.T, open func(Options) *Hub) {
			h := open(Options{Rate: 1})
			mustOpen(t, h, greeting())
			time.Sleep(9 * time.Minute)
			if _, err := h.Open(t.Context(), greeting()); fault.Of(err) == nil {
				t.Errorf("after nine minutes = %v, want a refusal", err)
			}
			time.Sleep(2 * time.Minute)
			mustOpen(t, h, greeting())
		})
	})
}
