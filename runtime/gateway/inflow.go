package gateway

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"sync"
	"time"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Everything that an upstream sends comes through here, message by message,
// before anybody decodes it: over the pipe of a command (command.go) and over
// HTTP (http_in.go).

// DefaultMaxBytes bounds one message of an upstream: an answer, an event of a
// stream, or a page of a list.
const DefaultMaxBytes = 16 << 20

// inflow is what an upstream sends.
type inflow struct {
	u     *upstream
	flood flood
}

// most is how long a message may be, in bytes.
func (in *inflow) most() int {
	if in.u.MaxBytes > 0 {
		return in.u.MaxBytes
	}
	return DefaultMaxBytes
}

// maxSeen bounds a message whose order of fields is kept: to keep it takes
// several times as much memory.
const maxSeen = 4 << 20

// message is one message as it is taken: without secrets, or nil if it is one of
// too many. It says whether it is an answer.
func (in *inflow) message(raw []byte) (taken []byte, isAnswer bool) {
	var head struct {
		Method *string
		ID     json.RawMessage
	}
	if json.Unmarshal(raw, &head) != nil {
		return raw, false // whoever reads it says what is wrong
	}
	if head.Method != nil {
		if !in.flood.lets(len(raw), time.Now()) {
			in.flood.tell(func() {
				in.u.g.log.Warn("upstream sends more than is taken: some of its messages are dropped", "upstream", in.u.Name, "method", textutil.Shorten(*head.Method, 60))
			})
			return nil, false
		}
	}
	raw = in.u.secrets.redact(raw)
	if len(raw) <= maxSeen {
		in.u.rawCache.see(raw)
	}
	return raw, head.Method == nil
}

// tooLong is the answer that stands for one that is too long; nil: nobody can
// tell to what it is one.
func (in *inflow) tooLong(id []byte) []byte {
	in.u.g.log.Warn("message of upstream is too long and was dropped", "upstream", in.u.Name, "most", in.most())
	if len(id) == 0 {
		return nil
	}
	data, _ := json.Marshal(fmt.Sprintf("the answer has more than the %d bytes that are passed on: ask for a part, or set max_bytes of upstream %s", in.most(), in.u.Name))
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":%s}}`, id, data)
}

// endBytes is how much of both ends of a message that is too long is kept, to
// find its id there.
const endBytes = 512

var idMember = regexp.MustCompile(`"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")`)

// idIn finds the id of a message of which both ends are known: it stands before or
// behind the result.
func idIn(head, tail []byte) []byte {
	if i := bytes.Index(head, []byte(`"result"`)); i >= 0 {
		head = head[:i]
	}
	if m := idMember.FindSubmatch(head); m != nil {
		return m[1]
	}
	if all := idMember.FindAllSubmatch(tail, -1); all != nil {
		return all[len(all)-1][1]
	}
	return nil
}

// What an upstream may send beside answers: notifications and requests, which the
// SDK keeps in memory until somebody has heard of them. floodCost is what one
// takes beside its bytes.
const (
	floodBurst = 4 << 20
	floodRate  = 1 << 20 // bytes a second
	floodCost  = 4 << 10
)

// flood lets through what comes no faster than that.
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

// tell calls say once a minute at most.
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
