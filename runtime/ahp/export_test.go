package ahp

import (
	"maps"
	"slices"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// Sessions is what a server that starts now says of requests, by channel.
func Sessions(s elicit.State) map[string]SessionState { return buildSessions(s) }

// ChannelOf is the session of a request.
func ChannelOf(r elicit.Request) string { return channelOf(&r) }

// ParseAction reads what a client dispatches.
func ParseAction(raw []byte) (elicit.Action, error) { return parseAction(raw) }

// Decode reads a message and says whether it can be answered.
func Decode(data []byte) (method string, id []byte, ok bool) {
	m, err := decodeMessage(data)
	return m.Method, m.ID, err == nil
}

// Applied is the state after an action.
func Applied(s SessionState, a Action) SessionState { return s.Apply(a) }

// Methods are the names of all methods.
func Methods() []string { return slices.Sorted(maps.Keys(methods)) }
