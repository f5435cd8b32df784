package executor

import (
	"runtime"
	"strings"
)

// usual are the variables that every program needs, and none of which is a
// secret: the path, where home and temporary files are, language, terminal, and
// proxies.
var usual = []string{
	"PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LANGUAGE", "LC_*", "TZ", "TERM", "COLORTERM", "NO_COLOR", "TMPDIR", "TMP", "TEMP",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "no_proxy", "all_proxy",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "NODE_EXTRA_CA_CERTS", "XDG_*", "SSH_AUTH_SOCK", "GOPATH", "GOCACHE", "GOMODCACHE", "GOPROXY", "GOFLAGS",
	"JAVA_HOME", "NVM_DIR", "VIRTUAL_ENV", "CARGO_HOME", "RUSTUP_HOME", "DOCKER_HOST",
}

var usualOnWindows = []string{
	"SYSTEMROOT", "SYSTEMDRIVE", "WINDIR", "COMSPEC", "PATHEXT", "APPDATA", "LOCALAPPDATA", "PROGRAMDATA", "PROGRAMFILES", "PROGRAMFILES(X86)",
	"USERPROFILE", "USERNAME", "HOMEDRIVE", "HOMEPATH", "NUMBER_OF_PROCESSORS", "PROCESSOR_ARCHITECTURE", "OS", "PSMODULEPATH",
}

// Environment is what is left of an environment for a process of an attempt:
// the usual variables and those that pass names, each with a * at its end for
// any rest. Secrets are the values among them that look like one by their name,
// and of those that pass names also every value that is none of the [ordinary].
// deskhand's own variables are never in it.
func Environment(all, pass []string) (env, secrets []string) {
	names := append(append([]string{}, usual...), pass...)
	if runtime.GOOS == "windows" {
		names = append(names, usualOnWindows...)
	}
	for _, v := range all {
		name, value, ok := strings.Cut(v, "=")
		if !ok || name == "" || strings.HasPrefix(strings.ToUpper(name), "DESKHAND_") || !named(name, names) {
			continue
		}
		env = append(env, v)
		if SecretName(name) || named(name, pass) && !ordinary(name, value) {
			secrets = append(secrets, value)
		}
	}
	return env, secrets
}

func named(name string, names []string) bool {
	for _, n := range names {
		start, any := strings.CutSuffix(n, "*")
		if runtime.GOOS == "windows" {
			name, start = strings.ToUpper(name), strings.ToUpper(start)
		}
		if name == start || any && strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}
