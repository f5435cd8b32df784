package rules

import (
	"path"
	"slices"
	"strings"
)

// wrappers lists programs, and commands of programs, that run other programs or code which
// later words name. A rule for one of these cannot end in a star.
var wrappers = set(
	"sh bash dash zsh ksh mksh csh tcsh fish pwsh powershell cmd busybox",
	"eval exec command builtin source . trap alias env xargs parallel sudo doas su runuser setpriv",
	"nohup time timeout nice ionice chrt taskset stdbuf setsid unshare nsenter chroot script expect watch entr strace ltrace gdb lldb",
	"find fd awk gawk mawk sed vi vim nvim emacs ed less more man tar ssh scp sftp rsync tmux screen at batch crontab systemd-run bwrap flatpak open xdg-open start osascript",
	"npx bunx uvx pipx corepack nix nix-shell",
	"git+bisect git+config git+difftool git+filter-branch git+for-each-repo git+hook git+mergetool git+rebase git+submodule git+send-email git+help git+instaweb",
	"go+run go+tool go+generate go+env go+install go+get cargo+run cargo+install rustup+run dotnet+run bazel+run",
	"npm+exec npm+x npm+init npm+create npm+config pnpm+exec pnpm+dlx yarn+exec yarn+dlx bun+x deno+run uv+run uv+tool poetry+run",
	"docker+run docker+exec docker+build docker+compose podman+run podman+exec podman+build kubectl+exec kubectl+run kubectl+debug gh+alias gh+extension",
)

// families lists programs whose next word selects what they do. A rule cannot end in a star
// directly behind one of these, or behind one and an option.
var families = set(
	"git go cargo rustup dotnet mvn gradle gradlew just task bazel cmake rake mix sbt stack cabal swift",
	"npm pnpm yarn bun deno uv poetry pip pip3 conda mamba python python2 python3 python+-m python3+-m perl ruby node nodejs php lua R Rscript java tclsh",
	"docker podman kubectl helm terraform ansible vagrant gh glab claude codex gemini opencode deskhand",
)

// set returns the words of lines, with spaces for plus signs.
func set(lines ...string) map[string]bool {
	all := map[string]bool{}
	for _, line := range lines {
		for word := range strings.FieldsSeq(line) {
			all[strings.ReplaceAll(word, "+", " ")] = true
		}
	}
	return all
}

// namesPrograms reports whether words behind these could name a program to run.
func namesPrograms(before []string) bool {
	line, open := path.Base(before[0]), false
	for i := range before {
		if i > 0 {
			line += " " + before[i]
		}
		if wrappers[line] {
			return true
		}
		if families[line] {
			open = true
		} else if open {
			open = strings.HasPrefix(before[i], "-")
			if open {
				return true
			}
		}
	}
	return open
}

// harmless lists options that only change what a command selects or prints, by the
// beginning of the command: letters of short options, then the names of long ones. A star
// covers no other option, because options such as --upload-pack, -exec, --output and -c run
// programs or write files, and no list of those is ever complete.
var harmless = map[string]struct{ letters, names string }{
	"git status":  {"sbvu", "short branch verbose porcelain long show-stash untracked-files ignored"},
	"git diff":    {"pw", "stat shortstat numstat name-only name-status cached staged summary check unified ignore-all-space"},
	"git log":     {"pn", "oneline stat graph all decorate max-count name-only name-status shortstat numstat reverse since until author grep merges no-merges first-parent"},
	"git show":    {"pw", "stat shortstat numstat name-only name-status oneline"},
	"git branch":  {"avr", "all verbose remotes list show-current"},
	"ls":          {"lahtrRSF1d", "all human-readable recursive"},
	"cat":         {"nbA", "number"},
	"wc":          {"lwcm", "lines words bytes"},
	"head":        {"nc", "lines bytes"},
	"tail":        {"nc", "lines bytes"},
	"grep":        {"nrilEFwcvohqsABC", "recursive ignore-case line-number count files-with-matches"},
	"rg":          {"nilFwcvoABC", "files hidden line-number no-heading count files-with-matches ignore-case"},
	"go test":     {"v", "v race count run short timeout cover bench benchmem failfast parallel shuffle json list"},
	"go vet":      {"", "json"},
	"go build":    {"v", "v race"},
	"go list":     {"m", "m json"},
	"npm test":    {"s", "silent"},
	"cargo test":  {"qvp", "release workspace lib quiet verbose locked offline all-features no-default-features"},
	"cargo check": {"qvp", "release workspace lib quiet verbose locked offline all-features no-default-features"},
	"cargo build": {"qvp", "release workspace lib quiet verbose locked offline all-features no-default-features"},
	"pytest":      {"qvxskm", "maxfail tb lf ff durations"},
}

// covered reports whether a star after the words before it stands for a word.
func covered(before []string, word string) bool {
	switch {
	case strings.HasPrefix(word, "-"):
		return harmlessOption(before, word) && staysInside(word)
	case strings.HasPrefix(word, "+"), strings.HasPrefix(word, ":"), strings.HasPrefix(word, "@"), strings.Contains(word, "="): // +refspec, :branch to delete, @file with more options, VARIABLE=value
		return false
	case path.Base(before[0]) == "git" && (strings.Contains(word, "::") || strings.Contains(word, ":") && transfers(before)): // the address of a program that transports, or of a host
		return false
	}
	return staysInside(word)
}

// transfers reports whether words begin a command of git whose next word names a repository,
// which may be on another host, as in host:path.
func transfers(before []string) bool {
	return len(before) == 2 && slices.Contains([]string{"push", "fetch", "pull", "clone", "ls-remote", "archive"}, before[1]) ||
		len(before) > 1 && before[1] == "remote"
}

func harmlessOption(before []string, word string) bool {
	options, ok := harmless[before[0]]
	if len(before) > 1 && !ok {
		options, ok = harmless[before[0]+" "+before[1]]
	}
	if !ok {
		return false
	}
	name, _, valued := strings.Cut(strings.TrimPrefix(word[1:], "-"), "=")
	if name != "" && slices.Contains(strings.Fields(options.names), name) {
		return true
	}
	if strings.HasPrefix(word, "--") || valued {
		return false
	}
	letters := strings.TrimRight(name, "0123456789") // -n5
	return name != "" && strings.Trim(letters, options.letters) == "" && (letters != "" || strings.Contains(options.letters, "n"))
}

// staysInside reports whether a word names nothing outside the working folder: no absolute
// path, no parent folder, no home, no address.
func staysInside(word string) bool {
	for part := range strings.FieldsFuncSeq(word, func(c rune) bool { return strings.ContainsRune("=:,@ ", c) }) {
		if strings.HasPrefix(part, "/") || strings.HasPrefix(part, "~") || slices.Contains(strings.Split(part, "/"), "..") {
			return false
		}
	}
	return true
}
