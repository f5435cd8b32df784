package settings

import (
	"fmt"
	"io"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/audit"
	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/tasks/box"
	"github.com/deskhand/deskhand/runtime/web"
)

// A check returns an error if the named setting has an invalid value. The error names the
// setting and its origin.
type check func(s *Settings, name string) error

// fits returns a check that ok accepts a string. In the error, why follows the value.
// hint may be empty.
func fits(why, hint string, ok func(text string) bool) check {
	return func(s *Settings, name string) error {
		if ok(s.get(name)) {
			return nil
		}
		return s.wrong(name, why, hint)
	}
}

// oneOf returns a check that a string is in all.
func oneOf(why, hint string, all ...string) check {
	return fits(why, hint, func(text string) bool { return slices.Contains(all, text) })
}

// either returns a check that a string is yes or no, the two given values.
func either(yes, no string) check { return oneOf("not "+no+" or "+yes, "", yes, no) }

// number returns a check that a string is an integer of at least least.
func number(least int) check {
	return fits(fmt.Sprintf("not a number of %d or more", least), "", func(text string) bool {
		n, err := strconv.Atoi(text)
		return err == nil && n >= least
	})
}

// between returns a check that a duration, parsed with parse, is between low and high.
func between(why, hint string, parse func(string) (time.Duration, error), low, high time.Duration) check {
	return fits(why, hint, func(text string) bool {
		d, err := parse(text)
		return err == nil && d >= low && d <= high
	})
}

// unless returns a check that accepts the values in all. For other values, it calls
// the check otherwise.
func unless(all []string, otherwise check) check {
	return func(s *Settings, name string) error {
		if slices.Contains(all, s.get(name)) {
			return nil
		}
		return otherwise(s, name)
	}
}

// longestEmbedTimeout is the time that clients wait for an answer. forever is the
// longest possible duration.
const (
	longestEmbedTimeout = 30 * time.Second
	forever             = time.Duration(1<<63 - 1)
)

// Checks for rows of [table].
var (
	embedTimeout = between("not a time between 1ms and "+longestEmbedTimeout.String(), "write, for example, 800ms or 2s",
		time.ParseDuration, time.Millisecond, longestEmbedTimeout)
	waitTime = between("not a time between 1ms and 30m", "write, for example, 90s or 10m",
		time.ParseDuration, time.Millisecond, elicit.MaxWait)
	holdTime = unless([]string{holdAuto}, between("not auto or a time between 1s and 30m", "write, for example, 45s or 4m",
		time.ParseDuration, time.Second, elicit.MaxWait))
	long = between("not a time of at least one second", "write, for example, 90s, 30m, 6h or 7d", Days, time.Second, forever)

	inboxAddress = unless([]string{app.InboxAuto, app.InboxOff}, fits("not auto, off or HOST:PORT", "", isAddress))

	connectAddress = unless([]string{""}, fits("not HOST:PORT", "write, for example, 127.0.0.1:20312", isAddress))
	connectURL     = unless([]string{""}, fits("not an address", "write, for example, https://desk.example.com", isURL))
	publicAddress  = unless([]string{""}, fits("not an address such as https://desk.example.org", "",
		func(text string) bool {
			return strings.TrimSuffix(text, "/") == "" || isURL(strings.TrimSuffix(text, "/"))
		}))

	baseAddress = unless([]string{""}, fits("not the address of a server", "write it as https://example.org/deskhand",
		func(text string) bool { return web.CheckBase(text) == nil }))

	syslogAddress = unless([]string{""}, fits("not the address of a syslog server", "write unixgram:///dev/log, udp://HOST:514 or tcp://HOST:601",
		func(text string) bool { _, err := audit.ParseTarget(text); return err == nil }))

	toolPrefix = fits("not a valid start of a tool name", fmt.Sprintf("use at most %d characters from a-z, A-Z, 0-9, _ and -", 64-len("_search_docs")),
		func(text string) bool { return text == "" || contract.ValidName(text+"_search_docs") })
	branchPrefix = fits("not a valid start of a git branch name", "use letters, digits and dashes, for example deskhand", func(text string) bool {
		return !strings.ContainsAny(text, " ~^:?*[\\") && !strings.HasPrefix(text, "-") && strings.Trim(text, "/") == text
	})
	sessionHost = unless([]string{""}, fits("not a host name of this machine",
		"use a name such as desk.localhost, or 127.0.0.1 if your browser does not resolve such names", ownName.MatchString))
	sessionTime = between("not a time between 1m and 400d", "write, for example, 12h or 30d", Days, time.Minute, app.MostSession)
	sandboxMode = fits("not "+box.ModeNames(), "", func(text string) bool { return slices.Contains(box.Modes, box.Mode(text)) })
)

// ownName matches a name of this machine.
var ownName = regexp.MustCompile(`^(localhost|127\.0\.0\.1|[a-z0-9-]+(\.[a-z0-9-]+)*\.localhost)$`)

func isAddress(text string) bool { return web.CheckAddr(text) == nil }

func isURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != ""
}

// fromRoot checks paths that a sandbox makes accessible.
func fromRoot(s *Settings, name string) error {
	for _, path := range s.list(name) {
		if !isFromRoot(path) {
			return s.wrong(name, "not an absolute path", "start it with /, ~/ or $NAME/")
		}
	}
	return nil
}

// sandboxNetwork checks the hosts that a sandbox may reach.
func sandboxNetwork(s *Settings, name string) error {
	if hosts := s.list(name); len(hosts) > 0 && box.CheckNetwork(hosts) != nil {
		return s.wrong(name, "not on, off, or hosts", "write a host as api.example.com, *.example.com or example.com:8443")
	}
	return nil
}

// checked returns a setting's value, and an error if it is invalid.
func (s *Settings) checked(name string) (string, error) {
	return s.get(name), s.check(name)
}

// check checks the settings with the given names and returns the first error.
func (s *Settings) check(names ...string) error {
	for _, name := range names {
		if one, _ := settingOf(name); one.check != nil {
			if err := one.check(s, name); err != nil {
				return err
			}
		}
	}
	return nil
}

// number and time return the values of settings that have been checked.
func (s *Settings) number(name string) int {
	n, _ := strconv.Atoi(s.get(name))
	return n
}

func (s *Settings) time(name string) time.Duration {
	d, _ := Days(s.get(name))
	return d
}

// Check returns an error for the first setting whose value would make a command
// fail.
func (s *Settings) Check() error {
	if _, err := s.Logger(io.Discard); err != nil {
		return err
	}
	if _, err := s.Groups(); err != nil {
		return err
	}
	for _, one := range table {
		if err := s.check(one.name); err != nil {
			return err
		}
	}
	c := s.Config(Run{Stderr: io.Discard})
	for _, err := range []error{c.Agents.Err, c.Tasks.Err, c.Surfaces.Err, c.Notices.Err, c.Upstreams.Err, c.Spans.Err, c.Docs.Err, c.SignIn.Err, c.Proxy.Err} {
		if err != nil {
			return err
		}
	}
	_, err := s.agentsSettings() // even if A2A is off
	return err
}
