package notify

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// kind is one kind of hook. A new kind is a file with its kind, and a line in kinds.
type kind struct {
	name string
	// parse reads what follows the name and a colon in the settings.
	parse func(h *Hook, rest string) error
	// send sends a message. remote is the receiver's ID of it, for edit, or "".
	send func(ctx context.Context, h Hook, m Message) (remote string, err error)
	// edit replaces a message after the end of its question. If nil, messages stay as they
	// are.
	edit func(ctx context.Context, h Hook, remote string, m Message) error
	// follows reports that a second message may say how a question ended.
	follows bool
	// outside reports that the address belongs to a service on the internet.
	outside bool
}

var kinds = []kind{toDesktop, toCommand, toNtfy, toWebhook, toTeams, toDiscord}

// forms lists the kinds for errors.
const forms = "desktop, command:PROGRAM, ntfy:URL, webhook:URL, teams:URL, discord:URL or mail:ADDRESS"

// Hook is one way to deliver messages to a person.
type Hook struct {
	kind
	id     string   // identifies the hook among all; not a secret
	path   string   // the program, for command
	target *url.URL // the address, for those that have one
	key    []byte   // signs webhook messages
	// project is the name of the only project that the hook is told of, in lower case.
	// Empty means all.
	project string
}

// tells reports whether the hook is told of what happens in a project, which has an ID and a
// name. Both may be empty.
func (h Hook) tells(id, name string) bool {
	return h.project == "" || h.project == strings.ToLower(name) || h.project == strings.ToLower(id)
}

// HookTo returns a hook that calls send. Its errors are those of [outbox.Way].
func HookTo(name string, send func(context.Context, Message) error) Hook {
	return Hook{kind: kind{name: name, send: func(ctx context.Context, _ Hook, m Message) (string, error) { return "", send(ctx, m) }}}
}

// Name returns the hook's name for logs, without its address, which may contain
// a secret.
func (h Hook) Name() string {
	if h.target != nil {
		return h.name + ":" + h.target.Host
	}
	return h.name
}

// receiver returns whom the hook tells, for lists.
func (h Hook) receiver() string {
	if h.target != nil {
		return h.target.Host
	}
	return h.path
}

// Signed returns h with the key that signs webhook messages.
func (h Hook) Signed(key []byte) Hook {
	h.key = key
	return h
}

// ofProject matches a project's name before a hook.
var ofProject = regexp.MustCompile(`^([^:=\s]+)=`)

// ParseHook parses a hook of the settings, for example ntfy:URL, or PROJECT=ntfy:URL for one
// project. The hook does not sign its messages; see [Hook.Signed].
func ParseHook(text string) (h Hook, err error) {
	way := text
	if m := ofProject.FindStringSubmatch(text); m != nil {
		h.project, way = strings.ToLower(m[1]), text[len(m[0]):]
	}
	name, rest, _ := strings.Cut(way, ":")
	for _, k := range kinds {
		if k.name == name {
			sum := sha256.Sum256([]byte(text))
			h.kind, h.id = k, hex.EncodeToString(sum[:6])
			return h, k.parse(&h, rest)
		}
	}
	return h, fmt.Errorf("%q is not %s", name, forms)
}

// address reads the hook's http or https address. Errors do not contain it.
func (h *Hook) address(rest, example string) error {
	u, err := url.Parse(rest)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return fmt.Errorf("%s needs an address, for example %s:%s", h.name, h.name, example)
	}
	h.target = u
	return nil
}

// deliver sends a message, or edits it if it is about the end of a question.
func (h Hook) deliver(ctx context.Context, m Message, remote string) (string, error) {
	if m.Event != OverEvent || remote == "" || h.edit == nil {
		return h.send(ctx, h, m)
	}
	return remote, h.edit(ctx, h, remote, m)
}
