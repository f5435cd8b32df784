package gateway

import (
	"bytes"
	"cmp"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/deskhand/deskhand/runtime/tasks/executor"
)

// An upstream knows its credential, and some repeat it: in an error, in a debugging
// tool that echoes headers, or in a log. Agents must not see it, so it is removed
// from every message. This protects against accidents only: an upstream that wants
// to leak the credential can do so in many ways, for example reversed.

// secrets holds the values that an upstream was given and that nobody else may
// see.
type secrets struct {
	mu  sync.Mutex
	all []string // longest first
}

const (
	// minSecret is the minimum length of a secret. Anything shorter may be an
	// ordinary word.
	minSecret = 8
	// maxSecrets is the maximum number of secrets. The shortest are dropped.
	maxSecrets = 64
	hidden     = "[secret]"
)

func (s *secrets) add(values ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, v := range values {
		if len(v) >= minSecret && !slices.Contains(s.all, v) {
			s.all = append(s.all, v)
		}
	}
	slices.SortStableFunc(s.all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	s.all = s.all[:min(len(s.all), maxSecrets)]
}

// list returns a copy of the secrets.
func (s *secrets) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// configured returns the secrets in an upstream's configuration.
func (u *Upstream) configured() (all []string) {
	for name, value := range u.Headers {
		if executor.SecretName(name) || strings.EqualFold(name, "Cookie") {
			all = append(all, value)
			if _, token, ok := strings.Cut(value, " "); ok {
				all = append(all, strings.TrimSpace(token))
			}
		}
	}
	if len(u.Command) > 0 {
		env, pass := os.Environ(), slices.Clone(u.Pass)
		for name, value := range u.Env {
			env, pass = append(env, name+"="+value), append(pass, name)
		}
		// Secrets are recognized by name. Other settings that an upstream repeats
		// are for the agent.
		passed, _ := executor.Environment(env, pass)
		for _, v := range passed {
			if name, value, _ := strings.Cut(v, "="); executor.SecretName(name) {
				all = append(all, value)
			}
		}
	}
	return append(all, u.Auth.ClientSecret)
}

// known returns a credential's secrets.
func (c *Credential) known() []string {
	if c == nil {
		return nil
	}
	return []string{c.Key, c.Access, c.Refresh, c.Client.Secret}
}

// redact removes the secrets from a JSON message.
func (s *secrets) redact(raw []byte) []byte {
	all := s.list()
	if len(all) == 0 {
		return raw
	}
	found := slices.ContainsFunc(all, func(one string) bool { return bytes.Contains(raw, []byte(one)) })
	if !found && !bytes.Contains(raw, []byte(`\`)) {
		return raw
	}
	return eachText(raw, func(text string) string { return without(text, all) })
}

func without(text string, all []string) string {
	for _, one := range all {
		text = strings.ReplaceAll(text, one, hidden)
	}
	return text
}

// eachText applies change to all strings in raw JSON, including member names. It
// copies nothing if no string changes.
func eachText(raw []byte, change func(string) string) []byte {
	var out []byte
	copied := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] != '"' {
			continue
		}
		end := i + 1
		escaped := false
		for end < len(raw) && raw[end] != '"' {
			if raw[end] == '\\' {
				escaped = true
				end++
			}
			end++
		}
		if end >= len(raw) {
			break
		}
		text := string(raw[i+1 : end])
		if escaped && json.Unmarshal(raw[i:end+1], &text) != nil {
			i = end
			continue
		}
		if changed := change(text); changed != text {
			said, _ := json.Marshal(changed) // a string always marshals
			out = append(append(out, raw[copied:i]...), said...)
			copied = end + 1
		}
		i = end
	}
	if out == nil {
		return raw
	}
	return append(out, raw[copied:]...)
}
