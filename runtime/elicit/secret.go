package elicit

import (
	"cmp"
	"slices"
	"strings"
)

// A form is no place for a secret. Text typed into a form passes through clients
// and models, is shown to everyone who shares the inbox, and is stored. So a
// question that asks for a secret is refused unless the hub allows it. Only
// English words are recognized. A question about a secret, for example where it
// is stored, is allowed; what counts is that the secret itself is requested.

// AsksForSecret is the problem code of a question that asks for a secret.
const AsksForSecret = "asks_for_secret"

// strongSecrets lists phrases that are secrets in any question. The longest match
// counts.
var strongSecrets = phrases("password", "passwords", "passphrase", "passcode", "passwd",
	"api key", "api keys", "apikey", "secret key", "secret access key", "private key", "private ssh key",
	"access token", "api token", "auth token", "authentication token", "bearer token", "refresh token", "session token",
	"github token", "gitlab token", "npm token", "slack token", "bot token", "deploy token", "client secret",
	"credit card", "credit card number", "credit card details", "card number", "cvv", "cvc", "pin code", "social security number",
	"security code", "verification code", "one-time code", "2fa code", "mfa code", "otp", "recovery code", "recovery phrase", "seed phrase")

// weakSecrets lists words that also have other meanings. Such a word counts only if the
// text tells a person to provide the thing, or asks for "your" one.
var weakSecrets = phrases("token", "tokens", "secret", "secrets", "pin", "credentials", "access key", "encryption key", "signing key", "license key")

func phrases(list ...string) (all [][]string) {
	for _, p := range list {
		all = append(all, strings.Fields(p))
	}
	slices.SortStableFunc(all, func(a, b []string) int { return len(b) - len(a) })
	return all
}

var (
	gives = setOf("enter paste provide give type share send tell supply input insert submit set choose")
	// about lists words that show that a question is about something other than
	// the secret next to them, for example its name or location.
	about = setOf("where how which whether when why if who name names path file folder variable var env environment location place header " +
		"length format type kind field column policy scope id identifier lifetime expiry example uses use used using holds with without that no not of")
	// asking lists the opening words of questions about a secret, unlike "can you",
	// "what is" and imperatives.
	asking = setOf("should shall do does did is are may must have has which where how why when who")
	// follows lists words that may follow a secret. Any other word makes the secret
	// part of a compound, as in "password policy".
	follows = setOf("for of to from in on with that so please here below as and or when before if which you at into now again")
	whose   = setOf("your you")
)

func setOf(list string) map[string]bool {
	set := map[string]bool{}
	for _, w := range strings.Fields(list) {
		set[w] = true
	}
	return set
}

// secrets returns the questions that ask for a secret.
func (r *Request) secrets() (problems []Problem) {
	above := r.secretAbove()
	for i := range r.Questions {
		q := &r.Questions[i]
		if s := cmp.Or(q.secret(), above); s != "" && q.typed() {
			problems = append(problems, *q.wrong(AsksForSecret, "this asks for a secret ("+s+"), which must not be entered in a form"))
		}
	}
	return problems
}

// WantsSecret reports whether the request asks for a secret, so that its text should be shown
// only where a person answers it.
func (r *Request) WantsSecret() bool { return len(r.secrets()) > 0 }

// secretAbove returns the secret that the title or the message asks for, for any
// question.
func (r *Request) secretAbove() string {
	found := secretIn(r.Title, false)
	isQuestion := func(q Question) bool { return q.Message == r.Message }
	if found == "" && !slices.ContainsFunc(r.Questions, isQuestion) {
		found = secretIn(r.Message, false)
	}
	return found
}

// secret returns the secret that q asks for, or "" if there is none.
func (q *Question) secret() string {
	return cmp.Or(secretIn(q.Message, true), secretIn(q.Title, true))
}

// typed reports whether an answer is typed instead of selected.
func (q *Question) typed() bool { return q.Kind == Text || q.Kind == Number || q.Kind == Integer }

// secretIn returns the secret that text asks for. A label asks for a secret by
// naming it.
func secretIn(text string, label bool) string {
	all := clauses(text)
	label = label && len(all) == 1
	for _, clause := range all {
		for i := range clause {
			noun, strong := secretAt(clause[i:])
			after := clause[i+noun:]
			if noun == 0 || len(after) > 0 && !follows[after[0]] {
				continue
			}
			if wanted(clause[:i], strong) || label && len(after) == 0 && named(clause[:i], strong) {
				return strings.Join(clause[i:i+noun], " ")
			}
		}
	}
	return ""
}

// clauses splits text into the words between punctuation marks.
func clauses(text string) (all [][]string) {
	marks := func(r rune) bool { return strings.ContainsRune(".,;:?!()[]{}\n", r) }
	plain := strings.NewReplacer("’", "'", "_", " ", "*", " ", "`", " ", `"`, " ", "api-key", "api key")
	for clause := range strings.FieldsFuncSeq(plain.Replace(strings.ToLower(text)), marks) {
		if found := strings.Fields(clause); len(found) > 0 {
			all = append(all, found)
		}
	}
	return all
}

// secretAt returns how many words at the beginning name a secret.
func secretAt(clause []string) (n int, strong bool) {
	for _, list := range [][][]string{strongSecrets, weakSecrets} {
		for _, p := range list {
			if len(p) <= len(clause) && slices.Equal(p, clause[:len(p)]) {
				return len(p), &list[0] == &strongSecrets[0]
			}
		}
	}
	return 0, false
}

// wanted reports whether the words before a secret request it: "please enter the",
// "what is your", "I need a".
func wanted(before []string, strong bool) bool {
	const near = 6 // words
	if len(before) == 0 || asking[before[0]] {
		return false
	}
	own := false
	for i := len(before) - 1; i >= max(len(before)-near, 0); i-- {
		w := before[i]
		switch {
		case gives[w]:
			return true
		case w == "what's", (w == "is" || w == "are") && i > 0 && before[i-1] == "what":
			return strong || own
		case w == "need" && i > 0 && slices.Contains([]string{"i", "we", "will", "i'll", "we'll"}, before[i-1]):
			return strong || own
		case about[w]:
			return false
		}
		own = own || whose[w]
	}
	return false
}

// named reports whether the words before a secret only specify it: "Your GitHub",
// or no words.
func named(before []string, strong bool) bool {
	const most = 2
	if len(before) > most || slices.ContainsFunc(before, func(w string) bool { return about[w] || asking[w] || w == "what" }) {
		return false
	}
	return strong || len(before) > 0 && whose[before[0]]
}
