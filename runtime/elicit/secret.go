package elicit

import (
	"cmp"
	"slices"
	"strings"
)

// A form is no place for a secret: what is typed there goes through clients and
// models, is shown to everybody who shares the inbox, and is kept. So a question
// that asks for one is refused unless the hub was told otherwise. English words
// alone are known, and a question about secrets, such as where one is kept, is
// fine: what counts is that the secret itself is wanted.

// AsksForSecret is the problem code of a question that asks for a secret.
const AsksForSecret = "asks_for_secret"

// strongSecrets are secrets wherever they are asked for. The longest that fits
// counts.
var strongSecrets = phrases("password", "passwords", "passphrase", "passcode", "passwd",
	"api key", "api keys", "apikey", "secret key", "secret access key", "private key", "private ssh key",
	"access token", "api token", "auth token", "authentication token", "bearer token", "refresh token", "session token",
	"github token", "gitlab token", "npm token", "slack token", "bot token", "deploy token", "client secret",
	"credit card", "credit card number", "credit card details", "card number", "cvv", "cvc", "pin code", "social security number",
	"security code", "verification code", "one-time code", "2fa code", "mfa code", "otp", "recovery code", "recovery phrase", "seed phrase")

// weakSecrets are other things too: they count if a person is told to give one,
// or asked for their own.
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
	// about is what is asked for instead of the secret beside it.
	about = setOf("where how which whether when why if who name names path file folder variable var env environment location place header " +
		"length format type kind field column policy scope id identifier lifetime expiry example uses use used using holds with without that no not of")
	// opening words of questions about a secret; "can you", "what is" and orders are none.
	asking = setOf("should shall do does did is are may must have has which where how why when who")
	// follows what is a noun of its own, and not the beginning of "password policy".
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

// secrets are the questions that ask for one.
func (r *Request) secrets() (problems []Problem) {
	above := r.secretAbove()
	for i := range r.Questions {
		q := &r.Questions[i]
		if s := cmp.Or(q.secret(), above); s != "" && q.typed() {
			problems = append(problems, *q.wrong(AsksForSecret, "this asks for a secret ("+s+"), and a form is no place for one"))
		}
	}
	return problems
}

// secretAbove is what the title or the message asks for, for whatever question.
func (r *Request) secretAbove() string {
	found := secretIn(r.Title, false)
	isQuestion := func(q Question) bool { return q.Message == r.Message }
	if found == "" && !slices.ContainsFunc(r.Questions, isQuestion) {
		found = secretIn(r.Message, false)
	}
	return found
}

// secret is what q asks for that is one; empty: nothing.
func (q *Question) secret() string {
	return cmp.Or(secretIn(q.Message, true), secretIn(q.Title, true))
}

// typed says that an answer is written, and not chosen.
func (q *Question) typed() bool { return q.Kind == Text || q.Kind == Number || q.Kind == Integer }

// secretIn is the secret that a text asks for; a label does so by its name.
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

// clauses are the words between marks.
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

// secretAt is how many words at the beginning name a secret.
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

// wanted says that the words before a secret want it: "please enter the", "what
// is your", "I need a".
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

// named says that the words before a secret only say which: "Your GitHub", or
// nothing.
func named(before []string, strong bool) bool {
	const most = 2
	if len(before) > most || slices.ContainsFunc(before, func(w string) bool { return about[w] || asking[w] || w == "what" }) {
		return false
	}
	return strong || len(before) > 0 && whose[before[0]]
}
