package mcpserver

import (
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/contract"
)

// Most clients that we do not know end a call after a minute, even if they get
// progress. A client that has waited longer than that counts as patient until the
// server exits.

// patience exceeds the minute after which SDKs end a call by default.
const patience = 65 * time.Second

// mostPatient is far above the number of programs that a server ever sees.
const mostPatient = 1000

// patient holds the clients that have waited for a call longer than patience.
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

// watchPatience records a client that received the answer of a call after waiting
// that long.
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
