package executor

import (
	"runtime"
	"strings"
)

// usual lists the variables that every program needs: the search path, home and
// temporary folders, language, terminal, and proxies. None of them is a secret.
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

// Environment filters an environment for a process of an attempt. It returns
// the usual variables and those named in pass. A name that ends with * matches
// every variable with that prefix. secrets holds the returned values whose
// variable has a secret's name. For variables named in pass, it also holds
// every value that is not [ordinary]. Environment removes deskhand's own
// variables.
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
