package mcpserver

import (
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
)

// Most clients that we do not know end a call after a minute, whatever progress
// they are told of. One that has stayed longer is known not to, until the server
// ends.

// patience is longer than the minute after which SDKs end a call by default.
const patience = 65 * time.Second

// mostPatient is far above the number of programs that a server meets.
const mostPatient = 1000

// patient are the clients that have stayed with a call for longer than patience.
type patient struct {
	mu    sync.Mutex
	known map[patientClient]bool
}

type patientClient struct{ name, version, principal string }

func patientOf(c contract.Caller) patientClient { return patientClient{c.Name, c.Version, c.Principal} }

func (p *patient) has(c contract.Caller) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.known[patientOf(c)]
}

func (p *patient) add(c contract.Caller) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known == nil || len(p.known) >= mostPatient {
		p.known = map[patientClient]bool{}
	}
	p.known[patientOf(c)] = true
}

// watchPatience remembers a client that took the answer of a call which was held
// for so long.
func (s *Server) watchPatience(key string, c contract.Caller, held time.Duration) {
	if held < patience || c.Progress == nil || c.Waits {
		return
	}
	s.calls.whenWritten(key, func(ok bool) {
		if ok {
			s.patient.add(c)
		}
	})
}
