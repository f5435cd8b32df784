package settings

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
)

// trustRule says when a setting of a project's file counts that nobody agreed
// to. The zero value is never: the setting can run a program, reach a network,
// move the store or weaken a check.
type trustRule struct {
	said bool // somebody has thought about the setting
	free bool // always: it only chooses
	// stricter reports whether to, the file's value, permits no more than from,
	// the one that counts without the file. Nil: nothing is known to.
	stricter func(from, to string) bool
	when     string // stricter in the words of the manual
}

// Rules of settings in [table].
var (
	needsTrust = trustRule{said: true}
	free       = trustRule{said: true, free: true}
)

// whenStricter is the rule of a setting that counts if it permits no more; when
// says so in the words of the manual.
func whenStricter(when string, stricter func(from, to string) bool) trustRule {
	return trustRule{said: true, stricter: stricter, when: when}
}

// countsUntrusted reports whether texts, the value that a project's file has for
// a setting, counts though nobody agreed to the file. below is the value that
// counts without it.
func (one setting) countsUntrusted(texts, below []string) bool {
	rule := one.trust
	switch {
	case rule.free, slices.Equal(texts, below):
		return true
	case rule.stricter == nil || len(texts) != 1 || len(below) != 1:
		return false
	}
	return rule.stricter(below[0], texts[0])
}

// word is the rule of a setting with one value that permits the least.
func word(least string) func(from, to string) bool {
	return func(_, to string) bool { return to == least }
}

// atMost reports whether to is no more than from, as parse reads both.
func atMost[T int | time.Duration](parse func(string) (T, error), from, to string) bool {
	most, err := parse(from)
	if err != nil {
		return false
	}
	n, err := parse(to)
	return err == nil && n <= most
}

// near is a model that no network is asked for.
func near(_, to string) bool { return !embed.Far(to) }

func longer(from, to string) bool  { return atMost(time.ParseDuration, to, from) }
func shorter(from, to string) bool { return atMost(Days, from, to) }
func lower(from, to string) bool   { return atMost(strconv.Atoi, from, to) }

// leastRunning is what tasks.max-running means at least when it is 0.
const leastRunning = 4

func fewerRunning(from, to string) bool {
	if from == "0" {
		from = strconv.Itoa(leastRunning)
	}
	return to != "0" && atMost(strconv.Atoi, from, to)
}

// saferGuards are the values of tasks.diff-guard, the strictest first.
var saferGuards = []string{"safe", "balanced", "relaxed", "off"}

func saferGuard(from, to string) bool {
	i := slices.Index(saferGuards, to)
	return i >= 0 && i <= slices.Index(saferGuards, from)
}

func fewerGroups(from, to string) bool {
	allowed := strings.Split(strings.ReplaceAll(from, " ", ""), ",")
	for group := range strings.SplitSeq(to, ",") {
		if !slices.Contains(allowed, strings.TrimSpace(group)) {
			return false
		}
	}
	return true
}

// Always is the rule of a setting that needs no trust.
const Always = "always"

// Untrusted says of each setting, and of upstreams, when it counts in a project's
// file that nobody agreed to, in the words of the manual: [Always], if something
// holds, or never, which is empty.
func Untrusted() map[string]string {
	when := map[string]string{UpstreamsKey: ""}
	for _, one := range table {
		if when[one.name] = one.trust.when; one.trust.free {
			when[one.name] = Always
		}
	}
	return when
}
