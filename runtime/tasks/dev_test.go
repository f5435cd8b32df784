package tasks_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/deskhand/deskhand/runtime/store"
	. "github.com/deskhand/deskhand/runtime/tasks"
)

// serveDev starts a dev server, and waits to be killed.
func serveDev(ctx context.Context, db *store.DB, place, data string) error {
	var job landJob
	if err := json.Unmarshal([]byte(data), &job); err != nil {
		return err
	}
	m := New(db, job.Settings.options(place))
	defer m.Close()
	_, done, err := m.StartDevServer(ctx, job.Attempt, nil)
	if err != nil {
		return err
	}
	fmt.Println("begins")
	<-done
	return nil
}
