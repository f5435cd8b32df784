package inbox

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/rules"
)

func TestAnApprovalOffersARule(t *testing.T) {
	s := open(t)
	ask := func(command string) string {
		t.Helper()
		r, err := s.hub.Open(t.Context(), elicit.Request{Trigger: elicit.ACPPermission, Title: "Allow?", Message: "Allow?", Context: elicit.Context{ProjectID: "p"},
			Proposal:  &elicit.Proposal{Action: "command", Text: command, Call: &rules.Call{Tool: rules.Command, Command: command, Allow: "y"}},
			Questions: []elicit.Question{{ID: "answer", Kind: elicit.SingleSelect, Message: "Allow?", Required: true, Options: []elicit.Option{{ID: "y", Label: "Allow"}, {ID: "n", Label: "Reject"}}}}})
		if err != nil {
			t.Fatal(err)
		}
		return r.ID
	}
	if _, body := s.do(http.MethodGet, "/inbox/"+ask("a; b"), nil); strings.Contains(body, "Always allow") {
		t.Error("a rule is offered for a command that no rule can match")
	}
	id := ask("go test -race ./...")
	_, body := s.do(http.MethodGet, "/inbox/"+id, nil)
	for _, want := range []string{"Always allow…", `name="do.pattern"`, `value="go test *"`, `<option value="8h" selected>`} {
		if !strings.Contains(body, want) {
			t.Errorf("the page lacks %s", want)
		}
	}
	always := func(pattern, lasts string) (int, string) {
		return s.do(http.MethodPost, "/inbox/"+id, url.Values{"do.act": {"always"}, "do.pattern": {pattern}, "do.lasts": {lasts}})
	}
	for _, c := range [][3]string{{"go *", "8h", "could run any other program"}, {"go vet *", "8h", "does not allow this call"}, {"go test; rm *", "8h", "is not a pattern"}, {"go test *", "soon", "not a time"}} {
		if status, body := always(c[0], c[1]); status != http.StatusUnprocessableEntity || !strings.Contains(body, c[2]) || s.get(id).Status != elicit.Open {
			t.Errorf("always %q for %q: %d, want 422 and %q in\n%s", c[0], c[1], status, c[2], body)
		}
	}
	status, body := always("go test *", "1h")
	if now := s.get(id); status != http.StatusOK || !now.Accepted() {
		t.Fatalf("always: %d\n%s", status, body)
	}
	_, body = s.do(http.MethodGet, "/rules", nil)
	all, err := s.hub.Rules(t.Context(), false)
	if err != nil || len(all) != 1 || !strings.Contains(body, "command go test *") || !strings.Contains(body, all[0].ID) {
		t.Fatalf("the rules are %v, %v, and the page\n%s", all, err, body)
	}
	if status, _ := s.do(http.MethodPost, "/rules", url.Values{"do.rule": {"rul_other"}}); status != http.StatusConflict {
		t.Errorf("revoking a rule that does not exist: %d", status)
	}
	if status, _ := s.do(http.MethodPost, "/rules", url.Values{"do.rule": {all[0].ID}, "token": {"wrong"}}, "Authorization: "); status != http.StatusForbidden {
		t.Errorf("revoking without the page's token: %d", status)
	}
	s.do(http.MethodPost, "/rules", url.Values{"do.rule": {all[0].ID}})
	if all, err := s.hub.Rules(t.Context(), false); err != nil || len(all) != 0 {
		t.Errorf("after revoking, the rules are %v, %v", all, err)
	}
}
