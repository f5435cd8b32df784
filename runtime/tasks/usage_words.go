package tasks

import (
	"fmt"
	"strings"

	textutil "github.com/deskhand/deskhand/runtime/text"
)

// Words describes usage in one line, for example "1200 tokens read (900 from the cache),
// 80 written, $0.42". It returns "" if there was no run.
func (u Usage) Words() string {
	if u.Runs == 0 {
		return ""
	}
	if u.Tokens() == 0 && u.Cost == 0 {
		return "the agent reported no tokens"
	}
	text := fmt.Sprintf("%d tokens read", u.TokensIn)
	if u.CacheRead > 0 {
		text += fmt.Sprintf(" (%d from the cache)", u.CacheRead)
	}
	text += fmt.Sprintf(", %d written, %s", u.TokensOut, u.Dollars())
	if gaps := u.gaps(); gaps != "" {
		text += " (" + gaps + ")"
	}
	return text
}

// Dollars returns the cost in words: "$0.42", "at least $0.42" or "cost unknown".
func (u Usage) Dollars() string {
	switch {
	case u.Known():
		return Dollars(u.Cost)
	case u.Cost == 0:
		return "cost unknown"
	}
	return "at least " + Dollars(u.Cost)
}

// Short returns the cost for a column: "-" without a run, "?" if it is unknown, and with
// a + if it is a minimum.
func (u Usage) Short() string {
	switch {
	case u.Runs == 0:
		return "-"
	case u.Known():
		return Dollars(u.Cost)
	case u.Cost == 0:
		return "?"
	}
	return Dollars(u.Cost) + "+"
}

// Dollars formats millionths of a US dollar. Amounts below a cent have more digits.
func Dollars(micros int64) string {
	if micros != 0 && micros < 10_000 {
		return "$" + strings.TrimRight(fmt.Sprintf("%.6f", float64(micros)/1e6), "0")
	}
	return fmt.Sprintf("$%.2f", float64(micros)/1e6)
}

// gaps describes what is missing from the figures.
func (u Usage) gaps() string {
	var parts []string
	for _, one := range []struct {
		n    int
		what string
	}{{u.Silent, "reported no tokens"}, {u.Partial, "reported only some"}, {u.Unpriced, "without a known price"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d of %s %s", one.n, textutil.Count(u.Runs, "run"), one.what))
		}
	}
	return strings.Join(parts, ", ")
}
