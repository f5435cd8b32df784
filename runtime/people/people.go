// Package people keeps the people of an installation, their tokens and their
// invitations in the store.
//
// An installation without added people has one, its owner, and works as if this
// package did not exist. A person's browsers may do what the person's scopes say;
// each token has scopes of its own, because it is given to a program. Tokens and
// invitations are stored as hashes only.
package people

import (
	"fmt"
	"net/mail"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Codes of faults.
const (
	BadName    = "bad_name"      // a name that no person can have
	BadMail    = "bad_mail"      // a text that is no e-mail address
	BadScope   = "bad_scope"     // a scope that does not exist
	BadTime    = "bad_time"      // an expiry that is no time, or in the past
	NoPerson   = "no_person"     // no person has this name
	Exists     = "person_exists" // a person already has this name
	NoToken    = "no_token"      // no token has this ID
	Unknown    = "unauthorized"  // a token or an invitation that was never created
	Expired    = "token_expired" // a token whose time is over
	Revoked    = "token_revoked" // a token that was revoked, or whose person was removed
	InviteUsed = "invite_used"   // an invitation that was used, is too old, or ended with its person
)

// Person is one person. Its JSON is the output of deskhand people list.
type Person struct {
	Name string `json:"name"`
	// Scopes are what the person's browsers may do.
	Scopes []access.Scope `json:"scopes"`
	Added  time.Time      `json:"added"`
	// Tokens is the number of tokens that are valid.
	Tokens int `json:"tokens"`
	// Reachable reports whether the person may answer: with a browser, or with a
	// token that is valid.
	Reachable bool `json:"reachable"`
	// Lacking says why a question for the person would reach nobody: the person may not
	// answer, or no browser has signed in and nothing else waits for one.
	Lacking string `json:"lacking,omitempty"`
	// Quiet, Zone and QuietExcept are the person's quiet hours, as [routing.ParseQuiet]
	// reads them.
	Quiet       string `json:"quiet,omitempty"`
	Zone        string `json:"zone,omitempty"`
	QuietExcept string `json:"quietExcept,omitempty"`
	// Roles are names by which the person can be asked with others.
	Roles []string `json:"roles,omitempty"`
	// Mail is the e-mail address that questions for the person are sent to.
	Mail string `json:"mail,omitempty"`
	// Guest reports whether the person knows only of Projects.
	Guest bool `json:"guest"`
	// Projects lists the projects that the person is a member of: their IDs, and on
	// the command line their names.
	Projects []string `json:"projects"`
	// Boundary is which projects the person knows of.
	Boundary access.Boundary `json:"-"`
	mailOnly bool            // nothing but Mail reaches the person
}

// Token is a token without its secret. Its JSON is the output of deskhand token list.
type Token struct {
	ID      string         `json:"id"`
	For     string         `json:"for"` // the person's name
	Scopes  []access.Scope `json:"scopes"`
	Created time.Time      `json:"created"`
	Expires time.Time      `json:"expires,omitzero"` // zero: never
	Used    time.Time      `json:"used,omitzero"`    // to the minute; zero: not yet
	Revoked time.Time      `json:"revoked,omitzero"` // zero: not revoked
	// Projects lists the projects that the token is for, as in [Person]. If empty, it
	// is for all that its person knows of.
	Projects []string `json:"projects,omitempty"`
}

// Ended returns why the token is refused at the given time, or "" if it is valid.
func (t Token) Ended(now time.Time) string {
	switch {
	case !t.Revoked.IsZero():
		return Revoked
	case !t.Expires.IsZero() && !now.Before(t.Expires):
		return Expired
	}
	return ""
}

// Standard lists the scopes of a person who is added without any: to answer, and to
// read. It starts no agent, because an agent runs code.
var Standard = []access.Scope{access.Answer, access.Docs, access.WorkRead}

// reserved lists names that mean something else in the history or in an audience.
var reserved = []string{"local", "assumed", "link", "rule", "anyone", "everyone", "nobody", "agents", "role"}

var nameForm = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$`) })

// CheckName refuses a name that no person can have, with code [BadName].
func CheckName(name string) error {
	if !nameForm().MatchString(name) {
		return fault.New(BadName, fmt.Sprintf("%.80q is not a name for a person", name), "use 1 to 64 letters, digits, dots, hyphens, underscores and @, beginning with a letter or digit")
	}
	if slices.Contains(reserved, strings.ToLower(name)) {
		return fault.New(BadName, fmt.Sprintf("the name %s has a meaning of its own", name), "choose another name")
	}
	return nil
}

// checkMail refuses a text that is no e-mail address, with code [BadMail]. Empty means none.
func checkMail(address string) error {
	if address == "" {
		return nil
	}
	a, err := mail.ParseAddress(address)
	if err != nil || a.Address != address || len(address) > 254 || strings.ContainsFunc(address, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' }) {
		return fault.New(BadMail, fmt.Sprintf("%.100q is not an e-mail address", address), "write only the address, for example ada@example.org, in ASCII")
	}
	return nil
}

// ParseScopes reads scopes separated by commas. It drops repetitions, keeps the order
// of [access.Scopes], and refuses an unknown or empty scope with code [BadScope].
func ParseScopes(text string) ([]access.Scope, error) {
	var given []access.Scope
	for _, one := range strings.Split(text, ",") {
		scope := access.Scope(strings.TrimSpace(one))
		if !slices.Contains(access.Scopes, scope) {
			return nil, fault.New(BadScope, fmt.Sprintf("%.80q is not a scope", string(scope)), "use one or more of "+Words(access.Scopes)+", separated by commas")
		}
		given = append(given, scope)
	}
	return inOrder(given), nil
}

func inOrder(given []access.Scope) (all []access.Scope) {
	for _, one := range access.Scopes {
		if slices.Contains(given, one) {
			all = append(all, one)
		}
	}
	return all
}

// Words lists scopes for people.
func Words(scopes []access.Scope) string { return join(scopes, ", ") }

func join(scopes []access.Scope, by string) string {
	var all []string
	for _, one := range scopes {
		all = append(all, string(one))
	}
	return strings.Join(all, by)
}

// splitScopes reads scopes from the store. A scope that this release does not know is
// kept, and opens nothing.
func splitScopes(text string) []access.Scope {
	all := []access.Scope{}
	for _, one := range strings.Fields(text) {
		all = append(all, access.Scope(one))
	}
	return all
}

// longest is the longest time until a token expires.
const longest = 100 * 365 * 24 * time.Hour

// ParseExpiry reads when a token expires: a duration such as 12h or 90d, a date, which
// means its end in now's location, or an RFC 3339 time. Empty means never, which is the
// zero time. Its errors have code [BadTime].
func ParseExpiry(text string, now time.Time) (time.Time, error) {
	var at time.Time
	days := 0
	if text == "" {
		return at, nil
	}
	if d, err := time.ParseDuration(text); err == nil {
		at = now.Add(min(d, 2*longest))
	} else if n, err := fmt.Sscanf(text, "%dd", &days); err == nil && n == 1 && text == fmt.Sprintf("%dd", days) && days >= 0 && days < 100*365 {
		at = now.AddDate(0, 0, days)
	} else if day, err := time.ParseInLocation(time.DateOnly, text, now.Location()); err == nil {
		at = day.AddDate(0, 0, 1)
	} else if at, err = time.Parse(time.RFC3339, text); err != nil {
		return time.Time{}, fault.New(BadTime, fmt.Sprintf("%.80q is not a time", text), "write a duration such as 12h or 90d, a date such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z")
	}
	switch {
	case !at.After(now):
		return time.Time{}, fault.New(BadTime, fmt.Sprintf("%.80q is in the past", text), "choose a later time")
	case at.After(now.Add(longest)):
		return time.Time{}, fault.New(BadTime, fmt.Sprintf("%.80q is more than 100 years away", text), "leave it out for a token that does not expire")
	}
	return at, nil
}
