package elicit

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/access"
)

// Origin is where an answer came from: the process that accepted it, and how the
// caller had proved to be the person. It is kept as evidence and has no other
// effect.
type Origin struct {
	// SignedIn is the proof, as in [access.Caller]. "token" means a client that has
	// the agents' token and answers in its own dialog, and [Local] means a process
	// on this machine, which needs no proof.
	SignedIn string `json:"signedIn"`
	// Address is the other end of the connection, or "" if there is none.
	Address string `json:"address,omitempty"`
	// Session is the browser's session ID.
	Session string `json:"session,omitempty"`
	// Token is the ID of the named token that was sent.
	Token   string  `json:"token,omitempty"`
	Process Process `json:"process"` // the process that accepted the answer
}

// Process is a process that accepts answers.
type Process struct {
	Host   string `json:"host,omitempty"`
	PID    int    `json:"pid"`
	Parent int    `json:"ppid,omitempty"`
	// UID is the user ID; empty on systems without one.
	UID string `json:"uid,omitempty"`
	// Command is the command line, for example "deskhand ask answer".
	Command string `json:"command,omitempty"`
	// Attempt is the attempt that the process belongs to, according to its
	// environment.
	Attempt string `json:"attempt,omitempty"`
}

// here returns this process, without its command.
var here = sync.OnceValue(func() Process {
	p := Process{PID: os.Getpid(), Parent: os.Getppid()}
	p.Host, _ = os.Hostname() // empty if unknown
	if uid := os.Getuid(); uid >= 0 {
		p.UID = fmt.Sprint(uid)
	}
	return p
})

// origin returns the origin of an action that this hub receives.
func (h *Hub) origin(ctx context.Context) *Origin {
	o := &Origin{SignedIn: Local, Process: here()}
	o.Process.Command, o.Process.Attempt = h.options.Command, h.options.Attempt
	if access.Known(ctx) {
		c := access.Of(ctx)
		o.SignedIn, o.Address, o.Session, o.Token = c.How, c.Address, c.Session, c.Token
		if c.Level == access.Anyone {
			o.SignedIn = access.ByAnswer // only this lets an unauthenticated caller answer
		}
	}
	return o
}

// elsewhere reports whether another process accepted the action and logged it only
// in its own log. For nil, which means that the origin is unknown, it returns
// false.
func (o *Origin) elsewhere() bool {
	return o != nil && (o.Process.PID != here().PID || o.Process.Host != here().Host)
}

// shown describes each proof.
var shown = map[string]string{
	access.ByLink:   "a browser signed in with a link",
	access.ByKey:    "a browser signed in with the person's key",
	access.ByBearer: "a program with the person's key",
	access.ByToken:  "a client with the agents' token, in its own dialog",
	access.ByInvite: "a browser signed in with an invitation",
	access.ByNamed:  "a program with a token of that person",
	access.ByOIDC:   "a browser signed in with the identity provider",
	access.ByProxy:  "a browser behind the proxy that signs people in",
	access.ByMail:   "a link in a mail to that person, valid only for this answer",
	access.ByAnswer: "a notification's link, valid only for this answer",
	ByRule:          "a rule, without asking a person",
	"":              "anyone who can reach the server, which requires no token",
}

// Words describes where an answer came from, for the history.
func (o *Origin) Words() string {
	var parts []string
	if o.SignedIn != Local {
		what, ok := shown[o.SignedIn]
		if !ok {
			what = o.SignedIn
		}
		if o.Token != "" {
			what += ", " + o.Token
		}
		if o.Address != "" {
			what += " at " + o.Address
		}
		parts = append(parts, what)
	}
	p := o.Process
	process := fmt.Sprintf("pid %d", p.PID)
	if p.Command != "" {
		process = p.Command + ", " + process
	}
	if p.Parent != 0 && o.SignedIn == Local {
		process += fmt.Sprintf(", child of pid %d", p.Parent)
	}
	if p.UID != "" {
		process += ", uid " + p.UID
	}
	if p.Host != "" {
		process += " on " + p.Host
	}
	if p.Attempt != "" {
		process += ", inside attempt " + p.Attempt
	}
	return strings.Join(append(parts, process), "; ")
}
