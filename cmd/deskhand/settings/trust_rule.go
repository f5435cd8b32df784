package settings

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer/embed"
)

// trustRule says under what conditions a setting is used if it comes from an
// untrusted project file. The zero value means never, because the setting can run a
// program, reach a network, move the store or weaken a check.
type trustRule struct {
	said bool // set in every rule, so that a test can find settings without a rule
	free bool // always used, because the setting only selects something
	// stricter compares the values from and to. from is the value without the project
	// file, and to is the value in the file. stricter reports whether to permits no
	// more than from. If it is nil, no value counts as stricter.
	stricter func(from, to string) bool
	when     string // text for the manual that describes stricter
}

// Trust rules for settings in [table].
var (
	needsTrust = trustRule{said: true}
	free       = trustRule{said: true, free: true}
)

// whenStricter returns the rule for a setting that is used if it permits no more than the
// current value. The manual describes this condition with the text when.
func whenStricter(when string, stricter func(from, to string) bool) trustRule {
	return trustRule{said: true, stricter: stricter, when: when}
}

// countsUntrusted reports whether a setting's value in an untrusted project file is
// used. texts is that value, and below is the value without the file.
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

// word returns a stricter function that accepts only the value least, which permits
// the least.
func word(least string) func(from, to string) bool {
	return func(_, to string) bool { return to == least }
}

// atMost parses from and to, and reports whether to is not greater than from.
func atMost[T int | time.Duration](parse func(string) (T, error), from, to string) bool {
	most, err := parse(from)
	if err != nil {
		return false
	}
	n, err := parse(to)
	return err == nil && n <= most
}

// near reports whether the model to is used without a network.
func near(_, to string) bool { return !embed.Far(to) }

func longer(from, to string) bool  { return atMost(time.ParseDuration, to, from) }
func shorter(from, to string) bool { return atMost(Days, from, to) }
func lower(from, to string) bool   { return atMost(strconv.Atoi, from, to) }

// leastRunning is the lowest limit that tasks.max-running = 0 can mean.
const leastRunning = 4

func fewerRunning(from, to string) bool {
	if from == "0" {
		from = strconv.Itoa(leastRunning)
	}
	return to != "0" && atMost(strconv.Atoi, from, to)
}

// saferGuards lists the values of tasks.diff-guard, strictest first.
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

// Always is the trust rule of a setting that requires no trust.
const Always = "always"

// Untrusted returns, for each setting and for upstreams, the condition under which an
// untrusted project file may set it. The condition is worded as in the manual:
// [Always], a condition, or "" for never.
func Untrusted() map[string]string {
	when := map[string]string{UpstreamsKey: ""}
	for _, one := range table {
		if when[one.name] = one.trust.when; one.trust.free {
			when[one.name] = Always
		}
	}
	return when
}
