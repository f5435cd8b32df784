package tasks_test

import (
	"fmt"
	"testing"

	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// Tasks that are created in one millisecond are listed newest first too, page by page.
func TestTasksOfOneMillisecondAreListedNewestFirst(t *testing.T) {
	m, db := peerAndStore(t, t.TempDir(), Options{MaxRunning: -1})
	p, _ := project(t, m, Repo{})
	var want []string
	for i := range 40 {
		made, err := m.CreateTask(t.Context(), NewTask{ProjectID: p.ID, Title: fmt.Sprintf("task %d", i)})
		if err != nil {
			t.Fatal(err)
		}
		want = append([]string{made.ID}, want...)
	}
	err := db.Update(t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(t.Context(), "UPDATE tasks SET created_at = 1")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for q := (TaskQuery{ProjectID: p.ID, Page: Page{Limit: 7}}); ; {
		page, err := m.Tasks(t.Context(), q)
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range page.Tasks {
			got = append(got, one.ID)
		}
		if q.Cursor = page.Next; q.Cursor == "" {
			break
		}
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("listed %v\nwant   %v", got, want)
	}
}
