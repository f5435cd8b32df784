package box

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
)

// seatbelt returns a command line for macOS's sandbox-exec. If several of the
// sandbox's rules match, the last one applies.
func (p Policy) seatbelt(inner []string) []string {
	return append([]string{"/usr/bin/sandbox-exec", "-p", p.profile()}, inner...)
}

func (p Policy) profile() string {
	var b strings.Builder
	rule := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	rule("(version 1)")
	rule("(allow default)")
	rule("(deny file-write*)")
	rule(`(allow file-write* (literal "/dev/null") (literal "/dev/zero") (literal "/dev/tty") (literal "/dev/dtracehelper") (regex #"^/dev/fd/") (regex #"^/dev/ttys"))`)
	for _, one := range p.parts() {
		at := strconv.Quote(one.path)
		switch one.what {
		case hide, seal:
			rule("(deny file-read-data file-read-xattr file-write* (subpath %s))", at)
		case read:
			rule("(allow file-read* (subpath %s))", at)
			rule("(deny file-write* (subpath %s))", at)
		case write:
			rule("(allow file-read* file-write* (subpath %s))", at)
		}
	}
	rule("(allow file-read* (subpath %s))", strconv.Quote(p.Temp))
	for _, sub := range []string{"tmp", homeFolder} {
		rule("(allow file-write* (subpath %s))", strconv.Quote(filepath.Join(p.Temp, sub)))
	}
	rule("(deny signal)")
	rule("(allow signal (target same-sandbox))")
	rule("(deny process-info* (target others))")
	rule("(deny mach-priv-task-port)")
	if p.Network.Closed {
		rule("(deny network*)")
		ports := p.Network.Ports
		if p.Network.Proxy > 0 {
			ports = append([]int{p.Network.Proxy}, ports...)
		}
		for _, port := range ports {
			rule(`(allow network-outbound (remote ip "localhost:%d"))`, port)
		}
	}
	return b.String()
}
