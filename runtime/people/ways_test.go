package people

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// The address of a calendar leads to no metadata service, and the error does not name the path.
func TestACalendarIsFetchedThroughTheGuard(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://169.254.169.254/secret.ics", http.StatusFound)
			return
		}
		fmt.Fprint(w, "BEGIN:VCALENDAR\r\nEND:VCALENDAR\r\n")
	}))
	defer server.Close()
	if text, err := Fetch(t.Context(), server.URL+"/rota.ics"); err != nil || text == "" {
		t.Errorf("a calendar on this machine, whose address a person wrote: %q, %v", text, err)
	}
	for _, address := range []string{"http://169.254.169.254/secret.ics", server.URL + "/away"} {
		_, err := Fetch(t.Context(), address)
		if f := fault.Of(err); f == nil || f.Code != BadRota || !strings.Contains(f.Message, "never connects") || strings.Contains(f.Message, "secret") {
			t.Errorf("Fetch(%s) = %v", address, err)
		}
	}
}

// A mail address reaches a person only if mails are sent.
func TestAMailAddressIsAWayOnlyWithAServer(t *testing.T) {
	db, err := store.Open(t.Context(), t.TempDir(), Schema())
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	reg := In(db)
	if err := reg.Admit(t.Context(), Newcomer{Name: "ada", Mail: "ada@example.org"}); err != nil {
		t.Fatal(err)
	}
	for _, none := range []bool{false, true} {
		reg.NoMail = none
		all, err := reg.List(t.Context())
		if err != nil || len(all) != 1 || (all[0].Lacking != "") != none || none && !strings.Contains(all[0].Lacking, "mail.server is not set") {
			t.Errorf("with NoMail %v: %+v, %v", none, all, err)
		}
	}
}
