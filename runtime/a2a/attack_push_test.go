package a2a

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
)

// A client has deskhand post to what only this machine or its network reaches, or
// show there what the client wants shown. Nothing is ever sent.
func TestAttackDoorsPushAddresses(t *testing.T) {
	var reached atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer private.Close()
	_, port, _ := strings.Cut(strings.TrimPrefix(private.URL, "http://"), ":")
	d := at(t, t.TempDir(), true, Options{PushTo: []string{"127.0.0.1:1"}})
	task := d.taskOf(d.call(Path, "SendMessage", map[string]any{"message": message("", text("Which?"))}))
	basic := map[string]any{"scheme": "Basic", "credentials": "YWRtaW46YWRtaW4="}
	for what, config := range map[string]map[string]any{
		"loopback":             {"url": private.URL},
		"localhost":            {"url": "http://localhost:" + port},
		"a name of this host":  {"url": "http://a.localhost:" + port},
		"mapped":               {"url": "http://[::ffff:127.0.0.1]:" + port},
		"the old form":         {"url": "http://[::127.0.0.1]:" + port},
		"NAT64":                {"url": "http://[64:ff9b::7f00:1]:" + port},
		"6to4":                 {"url": "http://[2002:7f00:1::1]:" + port},
		"the network":          {"url": "http://10.0.0.5/"},
		"a provider's network": {"url": "http://100.64.0.1/"},
		"secrets of a cloud":   {"url": "http://169.254.169.254/latest/meta-data"},
		"an intranet":          {"url": "https://wiki/"},
		"an internal name":     {"url": "https://wiki.internal/"},
		"zero":                 {"url": "http://0.0.0.0:" + port},
		"another port":         {"url": "http://127.0.0.1:" + port, "authentication": basic},
		"a password":           {"url": "http://admin:admin@203.0.113.1/"},
		"a password, named":    {"url": "http://admin:admin@127.0.0.1:1/"},
		"authorization":        {"url": "https://203.0.113.1/", "authentication": basic},
		"a file":               {"url": "file:///etc/passwd"},
		"no host":              {"url": "http:///etc/passwd"},
	} {
		t.Run(what, func(t *testing.T) {
			config["taskId"] = task.ID
			r := d.call(Path, "CreateTaskPushNotificationConfig", config)
			if r.Error == nil {
				t.Errorf("%v is taken: %s", config, r.Result)
			}
			if r := d.call(Path, "SendMessage", map[string]any{"message": message("", text("Which?")), "configuration": map[string]any{"taskPushNotificationConfig": config}}); r.Error == nil {
				t.Errorf("%v is taken with a message: %s", config, r.Result)
			}
		})
	}
	if reached.Load() != 0 {
		t.Error("the server on this machine was reached")
	}
	if list, err := d.hub.List(t.Context(), elicit.Filter{}); err != nil || len(list.Requests) != 1 {
		t.Errorf("%d questions were asked, %v; want the first alone", len(list.Requests), err)
	}
}

// What an earlier version has taken is not sent either, and the log says so.
func TestAttackDoorsPushRemembered(t *testing.T) {
	var reached atomic.Int32
	private := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached.Add(1) }))
	defer private.Close()
	for what, config := range map[string]a2a.PushConfig{
		"loopback":           {URL: private.URL},
		"a decimal number":   {URL: strings.Replace(private.URL, "127.0.0.1", "2130706433", 1)},
		"with authorization": {URL: private.URL, Auth: &a2a.PushAuthInfo{Scheme: "Basic", Credentials: "eA=="}},
	} {
		t.Run(what, func(t *testing.T) {
			place := t.TempDir()
			d := at(t, place, true, Options{})
			task := d.taskOf(d.call(Path, "SendMessage", map[string]any{"message": message("", text("Which?"))}))
			config.TaskID, config.ID = a2a.TaskID(task.ID), "old"
			data, err := json.Marshal(config)
			if err != nil {
				t.Fatal(err)
			}
			db, err := store.Open(t.Context(), place, elicit.Schema(), Schema())
			if err != nil {
				t.Fatal(err)
			}
			defer db.Close()
			s := New(db, d.hub, Options{})
			defer s.Close()
			err = db.Update(t.Context(), func(tx *store.Tx) error {
				_, err := tx.Exec(t.Context(), "INSERT INTO a2a_pushes (task, id, config, legacy, sent) VALUES (?, 'old', ?, 0, '')", task.ID, string(data))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			for deadline := time.Now().Add(5 * time.Second); ; {
				all, err := s.pushes(t.Context(), "")
				if err == nil && len(all) == 1 {
					if err := s.tell(t.Context(), &all[0], &a2a.Task{ID: config.TaskID}); err == nil {
						t.Error("the notification is sent")
					}
					break
				}
				if time.Now().After(deadline) {
					t.Fatalf("%d notifications, %v", len(all), err)
				}
			}
			if reached.Load() != 0 {
				t.Error("the server on this machine was reached")
			}
		})
	}
}
