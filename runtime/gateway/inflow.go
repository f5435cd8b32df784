package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// All data from an upstream passes through here, message by message, before it is
// decoded: from a command's stdout (command.go) and over HTTP (http_in.go).

// DefaultMaxBytes limits one message from an upstream: an answer, a stream
// event, or a page of a list.
const DefaultMaxBytes = 16 << 20

// inflow checks the data that an upstream sends.
type inflow struct {
	u     *upstream
	flood flood

	mu   sync.Mutex
	sent map[string]context.Context // contexts of a command's waiting calls, by ID
}

// most returns the maximum size of a message in bytes.
func (in *inflow) most() int {
	if in.u.MaxBytes > 0 {
		return in.u.MaxBytes
	}
	return DefaultMaxBytes
}

// maxSeen is the maximum size, in bytes, of a message whose field order is kept.
// Keeping the order takes several times as much memory.
const maxSeen = 4 << 20

// message checks one message. taken is the message without secrets, or nil if there
// were too many messages. message also returns the ID and whether the message is an
// answer.
func (in *inflow) message(raw []byte) (taken, id []byte, isAnswer bool) {
	var head struct {
		Method *string
		ID     json.RawMessage
	}
	if json.Unmarshal(raw, &head) != nil {
		return raw, nil, false // the reader of the message reports the error
	}
	if head.Method != nil {
		if !in.flood.lets(len(raw), time.Now()) {
			in.flood.tell(func() {
				in.u.g.log.Warn("dropping an upstream's messages because they exceed the size limit", "upstream", in.u.Name, "method", textutil.Shorten(*head.Method, 60))
			})
			return nil, head.ID, false
		}
	}
	raw = in.u.secrets.redact(raw)
	if len(raw) <= maxSeen {
		in.u.rawCache.see(raw)
	}
	return raw, head.ID, head.Method == nil
}

// instead returns the answer to send in place of one that is not forwarded, with
// the reason. It returns nil if the answer's call is unknown or has ended.
func (in *inflow) instead(id []byte, why error) []byte {
	switch {
	case errors.Is(why, errTooMuch):
		in.u.g.log.Warn("a message from an upstream was too long and was dropped", "upstream", in.u.Name, "most", in.most())
	case errors.Is(why, errNoPlace), errors.Is(why, errTooSlow):
		in.u.g.log.Warn("a large message from an upstream was dropped", "upstream", in.u.Name, "reason", why)
	default: // the call has ended
		return nil
	}
	if len(id) == 0 {
		return nil
	}
	data, _ := json.Marshal(in.notPassed(why)) // a string always marshals
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`, id, data)
}

// callOf returns the call for which a message with this ID was sent. The call is
// nil if there is none or it has ended.
func (in *inflow) callOf(id []byte) (context.Context, *call) {
	in.mu.Lock()
	defer in.mu.Unlock()
	ctx := in.sent[string(id)]
	if ctx == nil {
		return context.Background(), nil
	}
	c, _ := ctx.Value(callKey{}).(*call)
	return ctx, c
}

// notes records which call a message was sent for, until the call ends.
func (in *inflow) notes(ctx context.Context, message jsonrpc.Message) {
	r, ok := message.(*jsonrpc.Request)
	if !ok || !r.IsCall() || ctx.Value(callKey{}) == nil {
		return
	}
	id, err := json.Marshal(r.ID.Raw())
	if err != nil {
		return
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.sent == nil {
		in.sent = map[string]context.Context{}
	}
	in.sent[string(id)] = ctx
	context.AfterFunc(ctx, func() {
		in.mu.Lock()
		defer in.mu.Unlock()
		if in.sent[string(id)] == ctx { // not replaced by a call on a newer connection
			delete(in.sent, string(id))
		}
	})
}

// endBytes is how many bytes at each end of an oversized message are kept to find
// its ID.
const endBytes = 512

var idMember = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")`) })

// idIn finds the ID of a message from its first and last bytes. The ID comes before
// or after the result.
func idIn(head, tail []byte) []byte {
	if i := bytes.Index(head, []byte(`"result"`)); i >= 0 {
		head = head[:i]
	}
	if m := idMember().FindSubmatch(head); m != nil {
		return m[1]
	}
	if all := idMember().FindAllSubmatch(tail, -1); all != nil {
		return all[len(all)-1][1]
	}
	return nil
}

// Limits for messages other than answers. The SDK keeps these notifications and
// requests in memory until they are handled. Each costs floodCost in addition to
// its size.
const (
	floodBurst = 4 << 20
	floodRate  = 1 << 20 // bytes per second
	floodCost  = 4 << 10
)

// flood drops messages that exceed these limits.
type flood struct {
	mu     sync.Mutex
	used   float64
	last   time.Time
	toldAt time.Time
}

func (f *flood) lets(size int, now time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.used = max(0, f.used-now.Sub(f.last).Seconds()*floodRate)
	f.last = now
	if f.used+float64(size+floodCost) > floodBurst {
		return false
	}
	f.used += float64(size + floodCost)
	return true
}

// tell calls say, but at most once a minute.
func (f *flood) tell(say func()) {
	f.mu.Lock()
	due := time.Since(f.toldAt) > time.Minute
	if due {
		f.toldAt = time.Now()
	}
	f.mu.Unlock()
	if due {
		say()
	}
}
