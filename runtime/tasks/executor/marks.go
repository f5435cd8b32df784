package executor

import (
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// mark is the name of a warning, and the pattern of text that the warning
// applies to. Compiling the patterns takes almost a millisecond, so they are
// compiled when a permission is first requested.
type mark struct {
	name string
	in   *regexp.Regexp
}

// marks returns the warnings that a person should notice before allowing a
// proposal. Each applies if its pattern matches the proposal's text. Warnings
// are only hints and block nothing, because a command can do any of these
// things without matching a pattern.
var marks = sync.OnceValue(func() []mark {
	return []mark{
		{"deletes", regexp.MustCompile(`(?im)(^|[\s;&|("'])(rm|rmdir|unlink|shred|truncate|del|erase|remove-item)([\s"'\\]|$)|\bgit\s+(clean|rm|branch\s+-d|stash\s+(drop|clear))\b|\s-delete\b|\bdrop\s+(table|database|schema)\b|\b(kubectl|docker|terraform)\s+(delete|destroy|rm)\b`)},
		{"force", regexp.MustCompile(`(?im)\s--(force|force-with-lease|hard|no-verify|no-preserve-root|dangerously\S*|yolo)\b|\bpush\s(.*\s)?(-f|\+\S+)(\s|$)|(^|[\s;&|("'])(sudo|doas|su|mkfs\S*|dd)\s|\bchmod\s+(-R\s+)?[0-7]*777\b|"dangerously\w*":\s*true`)},
		{"network", regexp.MustCompile(`(?im)\b[a-z][a-z0-9+.-]*://|(^|[\s;&|("'])(curl|wget|ssh|scp|sftp|rsync|nc|ncat|telnet|ftp|aria2c|http|https)\s|/dev/(tcp|udp)/|\bgit\s+(push|fetch|pull|clone|remote|ls-remote)\b|\b(npm|pnpm|yarn|pip|pip3|uv|cargo|gem|go|apt|apt-get|brew|docker|gh)\s+(i|install|add|get|update|publish|push|pull|login|api)\b|\bgit@`)},
		{"credentials", regexp.MustCompile(`(?i)(^|[\s/\\"'=:~])(\.ssh|\.aws|\.gnupg|\.netrc|\.npmrc|\.pypirc|\.kube|\.docker/config\.json|\.git-credentials|\.env(\.[\w-]+)?|id_(rsa|dsa|ecdsa|ed25519)|credentials(\.\w+)?|authorized_keys|[\w.-]+\.(pem|p12|pfx|keystore))($|[\s/\\"';:|)])|/etc/(shadow|sudoers)|\b(api[_-]?key|access[_-]?token|secret[_-]?key|passwo?r?d|keychain)\b|\bdeskhand/(token|credentials)`)},
	}
})

// outside is the warning for a path that is not below the attempt's folder.
const outside = "outside the folder"

// marksOf returns the warnings for a proposal. places lists the paths in the
// proposal, and dir is the agent's working folder.
func marksOf(p Proposal, places []string, dir string) []string {
	var found []string
	if p.Action == "delete" {
		found = append(found, "deletes")
	}
	if p.Action == "fetch" {
		found = append(found, "network")
	}
	for _, m := range marks() {
		if !slices.Contains(found, m.name) && m.in.MatchString(p.Text) {
			found = append(found, m.name)
		}
	}
	if p.Action == "command" {
		places = append(places, pathsIn(p.Text)...)
	}
	if slices.ContainsFunc(places, func(place string) bool { return leaves(place, dir) }) {
		found = append(found, outside)
	}
	return found
}

// paths matches text that looks like a path, if the path may be outside the
// folder.
var paths = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?:^|[\s"'=;&|(<>])(~[\w-]*(?:/[^\s"';&|)<>]*)?|\$\{?HOME\}?[^\s"';&|)<>]*|/[^\s"';&|)<>\]]*|(?:[^\s"';&|)<>/]+/)*\.\.(?:/[^\s"';&|)<>]*)?)(?:$|[\s"';&|)<>\]])`)
})

func pathsIn(command string) (found []string) {
	for _, m := range paths().FindAllStringSubmatch(command, -1) {
		found = append(found, m[1])
	}
	return found
}

// harmless lists paths outside the folder that many commands use.
var harmless = []string{"/dev/null", "/dev/stdout", "/dev/stderr", "/dev/stdin", "/bin/sh", "/bin/bash", "/usr/bin/env"}

// leaves reports whether place is outside dir. It compares only the paths.
func leaves(place, dir string) bool {
	if strings.HasPrefix(place, "~") || strings.HasPrefix(place, "$") {
		return true
	}
	if slices.Contains(harmless, place) {
		return false
	}
	if !filepath.IsAbs(place) && !strings.HasPrefix(place, "/") {
		place = filepath.Join(dir, place)
	}
	within, err := filepath.Rel(dir, filepath.Clean(place))
	return err != nil || within == ".." || strings.HasPrefix(within, ".."+string(filepath.Separator))
}
