package settings

import (
	"strings"
	"testing"
)

func TestRoutingByProject(t *testing.T) {
	for name, texts := range map[string][]string{
		"a list":     {"30m rota:ops", "2h role:lead", "web=15m remind", "web=1h lea", "quiet next"},
		"a variable": {"30m", "rota:ops", "2h", "role:lead", "web=15m", "remind", "web=1h", "lea", "quiet", "next"},
		"one text":   {"30m rota:ops, 2h role:lead, web=15m remind, web=1h lea, quiet next"},
	} {
		s := &Settings{values: map[string]value{"routing": {texts: texts}}}
		all, err := s.routing()
		if err != nil || len(all) != 2 || all[""].String() != "30m rota:ops, 2h role:lead, quiet next" || all["web"].String() != "15m remind, 1h lea" {
			t.Errorf("%s: %v, %v", name, all, err)
		}
		one, _ := settingOf("routing")
		if got, err := s.shown(one); err != nil || got != "30m rota:ops, 2h role:lead, web=15m remind, web=1h lea, quiet next" {
			t.Errorf("%s: shown as %q, %v", name, got, err)
		}
	}
	for _, texts := range [][]string{{"30m"}, {"rota:ops 30m"}, {"web=30m"}, {"2h ada", "1h bob"}} {
		s := &Settings{values: map[string]value{"routing": {texts: texts}}}
		if all, err := s.routing(); err == nil {
			t.Errorf("routing %q = %v, want an error", texts, all)
		}
	}
}

// A mail server without a sender is named as what it is.
func TestAMailServerNeedsASender(t *testing.T) {
	s := &Settings{values: map[string]value{"mail.server": {texts: []string{"smtp://mail.example.org"}}, "mail.from": {texts: []string{""}}, "mail.user": {texts: []string{""}}}}
	if _, err := s.mail(); err == nil || !strings.Contains(err.Error(), "mail.from is not") {
		t.Errorf("without mail.from: %v", err)
	}
}
