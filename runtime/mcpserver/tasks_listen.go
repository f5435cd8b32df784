package mcpserver

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
)

// A client can be notified of its tasks instead of polling: subscriptions/listen
// with notifications.taskIds. The SDK serves that method, but it does not know this
// member and cannot send notifications/tasks. The member therefore passes the SDK
// in _meta (carryTasks), and is put back into the acknowledgement (acknowledging).
// A notification leaves the SDK under the name of a notification that 2026-07-28 no
// longer has. It is then renamed (rename).

const (
	// carriedTasks is the _meta key that carries taskIds.
	carriedTasks = "deskhand/taskIds"
	// borrowed is the name under which the SDK sends notifications/tasks.
	borrowed = "notifications/elicitation/complete"
	// maxListened is the maximum number of tasks in one subscription.
	maxListened = 100
	// lookAgain is the interval at which a task is checked without a notification.
	// For example, an attempt's question does not show up as a change of its run.
	lookAgain = 5 * time.Second
)

// carryTasks moves the taskIds of a subscriptions/listen to _meta, which the SDK
// keeps.
func (f *frame) carryTasks() *jsonrpc.Error {
	if f.method != "subscriptions/listen" || f.kind != call {
		return nil
	}
	var wanted struct {
		TaskIDs json.RawMessage `json:"taskIds"`
	}
	if json.Unmarshal(f.member("notifications"), &wanted) != nil || wanted.TaskIDs == nil {
		return nil // the SDK reports the error
	}
	var ids []string
	if json.Unmarshal(wanted.TaskIDs, &ids) != nil || len(ids) > maxListened {
		return invalidParams("notifications.taskIds must be a list of at most %d IDs", maxListened)
	}
	meta := map[string]json.RawMessage{}
	if raw := f.member("_meta"); raw != nil && json.Unmarshal(raw, &meta) != nil {
		return nil
	}
	meta[carriedTasks] = wanted.TaskIDs
	params, err := encode(map[string]any{"_meta": meta, "notifications": f.member("notifications")})
	if err != nil {
		return invalidParams("%v", err)
	}
	f.params = params
	f.raw = bytes.Join([][]byte{[]byte(`{"jsonrpc":"2.0","id":`), f.id, []byte(`,"method":"subscriptions/listen","params":`), params, []byte("}")}, nil)
	return nil
}

// listening is a subscription to tasks.
type listening struct {
	ids   []string      // the client's task IDs
	meta  mcp.Meta      // sent as the meta of every message for the subscription
	acked chan struct{} // closed when the client has the acknowledgement
	once  sync.Once
}

type listeningKey struct{}

// listen serves subscriptions/listen. The parameter next is the SDK's handler.
func (s *Server) listen(ctx context.Context, req *mcp.SubscriptionsListenRequest, next func(context.Context) (mcp.Result, error)) (mcp.Result, error) {
	wanted, _ := req.Params.Meta[carriedTasks].([]any)
	if len(wanted) == 0 {
		return next(ctx)
	}
	version, can := req.ProtocolVersion(), req.ClientCapabilities()
	if !declaresTasks(version, can) {
		return nil, needsTasks()
	}
	caller := callerOf(req.ClientInfo())
	caller.Principal = s.calls.principal(keyOf(req.Extra))
	l := &listening{ids: []string{}, acked: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	var following sync.WaitGroup
	defer following.Wait()
	defer cancel()
	own := context.WithValue(ctx, listeningKey{}, l)
	for _, one := range wanted {
		task, _ := one.(string)
		calls, id, err := s.findTask(task, caller)
		if err != nil {
			continue // the acknowledgement does not list this task
		}
		watch, err := calls.Watch(ctx, id)
		if err != nil {
			continue
		}
		l.ids = append(l.ids, task)
		f := &follower{server: s, to: l, req: req, calls: calls, id: id, watch: watch,
			visit: func() *visitor { return newVisitor(caller, version, can) }}
		following.Go(func() { f.run(own) })
	}
	result, err := next(own)
	if err == nil && len(l.ids) > 0 {
		<-ctx.Done() // the SDK returns immediately if it has nothing to send itself
	}
	return result, err
}

// acknowledging adds the tasks to the acknowledgement of a subscription, and sends
// the followers' notifications.
func acknowledging(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		l, _ := ctx.Value(listeningKey{}).(*listening)
		if l == nil {
			return next(ctx, method, req)
		}
		session, _ := req.GetSession().(*mcp.ServerSession)
		switch p := req.GetParams().(type) {
		case *mcp.SubscriptionsAcknowledgedParams:
			l.meta = maps.Clone(p.Meta)
			own := &acknowledgement{ParamsBase: mcp.ParamsBase{Meta: p.Meta}}
			own.Notifications.NotificationSubscriptions, own.Notifications.TaskIDs = p.Notifications, l.ids
			result, err := next(ctx, method, &mcp.ServerRequest[*acknowledgement]{Session: session, Params: own})
			if err == nil {
				l.once.Do(func() { close(l.acked) })
			}
			return result, err
		case *mcp.ElicitationCompleteParams:
			if told, ok := p.Meta[taskKey].(*taskNote); ok {
				return next(ctx, method, &mcp.ServerRequest[*taskNote]{Session: session, Params: told})
			}
		}
		return next(ctx, method, req)
	}
}

type acknowledgement struct {
	mcp.ParamsBase
	Notifications struct {
		mcp.NotificationSubscriptions
		TaskIDs []string `json:"taskIds"`
	} `json:"notifications"`
}

// taskNote is notifications/tasks: a task as returned by tasks/get.
type taskNote struct {
	mcp.ParamsBase
	taskFields
}

// follower notifies one client of one task.
type follower struct {
	server *Server
	to     *listening
	req    *mcp.SubscriptionsListenRequest
	calls  contract.PendingCalls
	id     string
	watch  contract.Watcher
	visit  func() *visitor
	told   []byte // the last notification
}

// run sends the task's current state and each change, until the task has ended.
func (f *follower) run(ctx context.Context) {
	defer f.watch.Close()
	select {
	case <-f.to.acked:
	case <-ctx.Done():
		return
	}
	for {
		ended, err := f.tell(ctx)
		if err != nil && ctx.Err() == nil {
			f.server.opts.Logger.Warn("cannot notify the client of a task", slog.String("task", f.id), slog.Any("error", err))
		}
		if ended || err != nil {
			return
		}
		waiting, stop := context.WithTimeout(ctx, lookAgain)
		err = f.watch.Wait(waiting)
		stop()
		if ctx.Err() != nil || err != nil && waiting.Err() == nil {
			return // the client must subscribe again
		}
	}
}

func (f *follower) tell(ctx context.Context) (ended bool, err error) {
	v := f.visit()
	pending, err := f.calls.Look(ctx, v.caller, f.id)
	if err != nil {
		return false, err
	}
	t, err := f.server.detailed(v, pending)
	if err != nil {
		return false, err
	}
	ended = pending.State != contract.Working
	now, err := encode(t)
	if err != nil || bytes.Equal(now, f.told) {
		return ended, err
	}
	f.told = now
	note := &taskNote{taskFields: t.taskFields}
	note.Meta = maps.Clone(f.to.meta)
	err = f.req.Session.NotifyElicitationComplete(ctx, &mcp.ElicitationCompleteParams{
		ElicitationID: f.id, Meta: mcp.Meta{taskKey: note}})
	if t.delivered != nil {
		t.delivered(err == nil)
	}
	return ended, err
}

// rename restores the name of a notification that leaves the SDK.
func rename(message []byte) []byte {
	return bytes.Replace(message, []byte(`"method":"`+borrowed+`"`), []byte(`"method":"notifications/tasks"`), 1)
}
