package a2a

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/google/uuid"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
)

// push is a push notification config of a task.
type push struct {
	config a2a.PushConfig
	legacy bool
	sent   a2a.TaskState // the last state sent
}

const (
	mostPushes   = 8 // per task
	pushTime     = 10 * time.Second
	pushLease    = 15 * time.Second
	pushesAtOnce = 16
	pushTries    = 5
	pushRetry    = 2 * time.Second // maximum time between two checks for due notifications
	pushLeaseKey = "runtime/a2a-push"
)

func (s *Server) pushes(ctx context.Context, where string, args ...any) (all []push, err error) {
	err = s.db.View(ctx, func(tx *store.Tx) error {
		rows, err := tx.Query(ctx, "SELECT config, legacy, sent FROM a2a_pushes "+where+" ORDER BY task, id", args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var p push
			var config []byte
			if err := rows.Scan(&config, &p.legacy, &p.sent); err != nil {
				return err
			}
			if err := json.Unmarshal(config, &p.config); err != nil {
				return err
			}
			all = append(all, p)
		}
		return rows.Err()
	})
	if err != nil {
		return nil, fmt.Errorf("read push configurations: %w", err)
	}
	return all, nil
}

// CreateTaskPushConfig implements the protocol's method. Notifications start
// with the task's next state; the client already knows the current one.
func (c *calls) CreateTaskPushConfig(ctx context.Context, config *a2a.PushConfig) (*a2a.PushConfig, error) {
	if err := ownersPushes(ctx); err != nil {
		return nil, err
	}
	p := *config
	if err := c.mayPush(&p); err != nil {
		return nil, err
	}
	now, err := c.look(ctx, p.TaskID)
	if err != nil {
		return nil, c.failed(err)
	}
	if p.ID == "" {
		p.ID = uuid.NewString()
	}
	data, err := json.Marshal(p)
	if err != nil {
		return nil, c.failed(err)
	}
	legacy := 0
	if c.legacy {
		legacy = 1
	}
	err = c.db.Update(ctx, func(tx *store.Tx) error {
		var others int
		if err := tx.QueryRow(ctx, "SELECT COUNT(*) FROM a2a_pushes WHERE task = ? AND id <> ?", string(p.TaskID), p.ID).Scan(&others); err != nil {
			return err
		}
		if others >= mostPushes {
			return invalid("a task can have at most %d push notifications", mostPushes)
		}
		_, err := tx.Exec(ctx, `INSERT INTO a2a_pushes (task, id, config, legacy, sent) VALUES (?, ?, ?, ?, ?)
			ON CONFLICT (task, id) DO UPDATE SET config = excluded.config, legacy = excluded.legacy`,
			string(p.TaskID), p.ID, string(data), legacy, string(now.view.Status.State))
		return err
	})
	if err != nil {
		return nil, c.failed(err)
	}
	return &p, nil
}

// GetTaskPushConfig implements the protocol's method.
func (c *calls) GetTaskPushConfig(ctx context.Context, req *a2a.GetTaskPushConfigRequest) (*a2a.PushConfig, error) {
	if err := ownersPushes(ctx); err != nil {
		return nil, err
	}
	all, err := c.pushes(ctx, "WHERE task = ? AND (id = ? OR ? = '')", string(req.TaskID), req.ID, req.ID)
	if err != nil {
		return nil, c.failed(err)
	}
	if len(all) == 0 {
		return nil, a2a.NewError(a2a.ErrTaskNotFound, "no such push notification")
	}
	return &all[0].config, nil
}

// ListTaskPushConfigs implements the protocol's method. All
// configs fit on one page.
func (c *calls) ListTaskPushConfigs(ctx context.Context, req *a2a.ListTaskPushConfigRequest) (*a2a.ListTaskPushConfigResponse, error) {
	if err := ownersPushes(ctx); err != nil {
		return nil, err
	}
	if _, err := c.load(ctx, req.TaskID); err != nil {
		return nil, c.failed(err)
	}
	all, err := c.pushes(ctx, "WHERE task = ?", string(req.TaskID))
	if err != nil {
		return nil, c.failed(err)
	}
	response := &a2a.ListTaskPushConfigResponse{Configs: []*a2a.PushConfig{}}
	for i := range all {
		response.Configs = append(response.Configs, &all[i].config)
	}
	return response, nil
}

// DeleteTaskPushConfig implements the protocol's method.
func (c *calls) DeleteTaskPushConfig(ctx context.Context, req *a2a.DeleteTaskPushConfigRequest) error {
	if err := ownersPushes(ctx); err != nil {
		return err
	}
	err := c.db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "DELETE FROM a2a_pushes WHERE task = ? AND id = ?", string(req.TaskID), req.ID)
		return err
	})
	if err != nil {
		return c.failed(err)
	}
	return nil
}

// Run sends push notifications until ctx is done, and deletes tasks whose request
// or attempt is gone. Only one process sends at a time; the next process
// continues where the last one stopped.
func (s *Server) Run(ctx context.Context) {
	lease := store.Lease{Name: pushLeaseKey, Holder: rand.Text()}
	tries := map[string]int{} // by task and config ID
	var swept time.Time
	after := a2a.TaskID("")
	for ctx.Err() == nil {
		if err := s.pushAll(ctx, lease, tries); err != nil && ctx.Err() == nil {
			s.o.Log.Warn("cannot send push notifications", "error", err)
		}
		if now := time.Now(); now.Sub(swept) > sweepEvery {
			swept, after = now, s.sweep(ctx, after)
		}
		s.untilChange(ctx, pushRetry)
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), pushTime)
	defer cancel()
	if err := s.db.Release(end, pushLeaseKey, lease.Holder); err != nil {
		s.o.Log.Warn("cannot release the lease", "error", err)
	}
}

// untilChange waits until an event arrives or the given duration has passed.
func (s *Server) untilChange(ctx context.Context, most time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	var seq int64
	err := s.db.View(ctx, func(tx *store.Tx) error {
		seq = tx.Seq
		return nil
	})
	if err == nil {
		if w, err := s.db.Watch(ctx, seq, store.Filter{}); err == nil {
			defer w.Close()
			if _, err = w.Next(ctx); err == nil {
				return
			}
		}
	}
	<-ctx.Done()
}

// pushAll sends the notifications that are due. It sends several concurrently, so
// a slow receiver delays few others. It returns early if there are no configs or
// another process holds the lease.
func (s *Server) pushAll(ctx context.Context, lease store.Lease, tries map[string]int) error {
	if wanted, err := s.pushes(ctx, ""); err != nil || len(wanted) == 0 {
		return err
	}
	if _, held, err := s.db.Claim(ctx, lease, pushLease); err != nil || !held {
		return err
	}
	due, err := s.due(ctx)
	if err != nil {
		return err
	}
	for some := range slices.Chunk(due, pushesAtOnce) {
		if _, held, err := s.db.Claim(ctx, lease, pushLease); err != nil || !held {
			return err
		}
		failed := make([]error, len(some))
		var telling sync.WaitGroup
		for i, n := range some {
			telling.Go(func() { failed[i] = s.tell(ctx, &n.push, n.view) })
		}
		telling.Wait()
		for i, n := range some {
			key := string(n.push.config.TaskID) + " " + n.push.config.ID
			if failed[i] != nil && ctx.Err() != nil {
				continue
			}
			if failed[i] != nil {
				if tries[key]++; tries[key] < pushTries {
					continue
				}
				s.o.Log.Warn("gave up on a push notification", "task", n.push.config.TaskID, "error", failed[i])
			}
			delete(tries, key)
			if err := s.told(context.WithoutCancel(ctx), &n.push, n.view.Status.State); err != nil {
				return err
			}
		}
	}
	return nil
}

// news is a notification to send.
type news struct {
	push push
	view *a2a.Task
}

// due returns the notifications for tasks whose state changed since the last
// notification.
func (s *Server) due(ctx context.Context) (due []news, err error) {
	all, err := s.pushes(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		now, err := s.look(ctx, p.config.TaskID)
		if errors.Is(err, a2a.ErrTaskNotFound) || fault.Of(err) != nil {
			continue // the task is gone or cannot be read now
		}
		if err != nil {
			return nil, err
		}
		if now.view.Status.State != p.sent {
			due = append(due, news{p, now.view})
		}
	}
	return due, nil
}

// told records the state that was sent, or deletes the config if the state is
// final.
func (s *Server) told(ctx context.Context, p *push, state a2a.TaskState) error {
	err := s.db.Update(ctx, func(tx *store.Tx) (err error) {
		if state.Terminal() {
			_, err = tx.Exec(ctx, "DELETE FROM a2a_pushes WHERE task = ? AND id = ?", string(p.config.TaskID), p.config.ID)
		} else {
			_, err = tx.Exec(ctx, "UPDATE a2a_pushes SET sent = ? WHERE task = ? AND id = ?", string(state), string(p.config.TaskID), p.config.ID)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("record push notification: %w", err)
	}
	return nil
}

// tell sends a task to a URL. It follows no redirects: the token is only for
// that URL.
func (s *Server) tell(ctx context.Context, p *push, v *a2a.Task) error {
	var body any = a2a.StreamResponse{Event: v}
	if p.legacy {
		body = a2av0.FromV1Task(v)
	}
	data, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode task: %w", err)
	}
	if err := s.mayPush(&p.config); err != nil { // an earlier version may have accepted it
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, p.config.URL, bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	if p.config.Token != "" {
		req.Header.Set("X-A2A-Notification-Token", p.config.Token)
		req.Header.Set("A2A-Notification-Token", p.config.Token)
	}
	if a := p.config.Auth; a != nil && a.Credentials != "" {
		req.Header.Set("Authorization", a.Scheme+" "+a.Credentials)
	}
	client := &http.Client{Timeout: pushTime, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	if !s.named(req.URL) {
		client.Transport = outside
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode < 200 || resp.StatusCode > 299 {
		return fmt.Errorf("the address answered %s", resp.Status)
	}
	return nil
}

// ownersPushes refuses push notifications to a caller with a name. They hold secrets of other
// callers, and would outlive the caller's token.
func ownersPushes(ctx context.Context) error {
	if access.Of(ctx).Name == "" {
		return nil
	}
	return a2a.NewError(a2a.ErrPushNotificationNotSupported, "push notifications are not open to named tokens; use SubscribeToTask or GetTask")
}
