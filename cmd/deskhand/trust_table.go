package main

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
	free bool // always: it only chooses
	// stricter reports whether to, the file's value, permits no more than from,
	// the one that counts without the file. Nil: nothing is known to.
	stricter func(from, to string) bool
	when     string // stricter in the words of the manual
}

var (
	needsTrust = trustRule{}
	free       = trustRule{free: true}
)

// trustTable has every setting. One that is not here needs trust, and a test
// fails.
var trustTable = map[string]trustRule{
	"index":         free, // what reads; mayBuildInto guards what writes
	"embed":         {stricter: func(_, to string) bool { return !embed.Far(to) }, when: "it is `builtin`, `none` or a file"},
	"embed-timeout": free,
	"cache":         needsTrust,
	"vectors":       free,
	"state":         needsTrust,
	"store":         needsTrust,
	// A question that ends at once is asked of nobody.
	"elicitation.timeout":   {stricter: func(from, to string) bool { return atMost(time.ParseDuration, to, from) }, when: "it is longer"},
	"elicitation.hold":      free,
	"elicitation.secrets":   {stricter: word(secretsRefuse), when: "it is `refuse`"},
	"elicitation.schema":    free,
	"views":                 free,
	"inbox":                 needsTrust, // off asks nobody, an address opens a port
	"tasks.executors":       needsTrust,
	"tasks.max-running":     {stricter: fewerRunning, when: "it is lower"},
	"tasks.time-limit":      {stricter: func(from, to string) bool { return atMost(days, from, to) }, when: "it is shorter"},
	"tasks.idle-limit":      {stricter: func(from, to string) bool { return atMost(days, from, to) }, when: "it is shorter"},
	"tasks.diff-guard":      {stricter: saferGuard, when: "it lists less"},
	"tasks.branch-prefix":   free,
	"tasks.retain":          needsTrust, // what is kept for a shorter time is deleted sooner
	"tasks.env":             needsTrust,
	"tasks.sandbox":         needsTrust,
	"tasks.sandbox-network": needsTrust,
	"tasks.sandbox-read":    needsTrust,
	"tasks.sandbox-write":   needsTrust,
	"tasks.sandbox-image":   needsTrust,
	"tasks.wrap":            needsTrust,
	"slack.channel":         needsTrust,
	"slack.people":          needsTrust,
	"slack.api":             needsTrust,
	"notify":                needsTrust,
	"quiet-hours":           needsTrust,
	"public-url":            needsTrust,
	"connect.address":       needsTrust,
	"connect.url":           needsTrust,
	"gateway.disclosure":    free,
	"gateway.people":        {stricter: word("many"), when: "it is `many`"},
	"otlp.endpoint":         needsTrust,
	"a2a.enabled":           {stricter: word(agentsOff), when: "it is `false`"},
	"a2a.default-skill":     needsTrust,
	"a2a.project":           needsTrust,
	"a2a.push-to":           needsTrust,
	"a2a.executor":          needsTrust,
	"log-level":             free,
	"log-format":            free,
	"token":                 needsTrust,
	"tools":                 {stricter: fewerGroups, when: "it names fewer groups"},
	"tool-prefix":           free,
	"name":                  free,
	"max-answer-bytes":      {stricter: func(from, to string) bool { return atMost(strconv.Atoi, from, to) }, when: "it is lower"},
	"allow-host":            needsTrust,
	"allow-origin":          needsTrust,
	upstreamsKey:            needsTrust,
	"person-key":            needsTrust,
	"session.host":          needsTrust,
	"session.time":          needsTrust,
}

// countsUntrusted reports whether texts, the value that a project's file has for
// a setting, counts though nobody agreed to the file. below is the value that
// counts without it.
func countsUntrusted(name string, texts, below []string) bool {
	rule := trustTable[name]
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
