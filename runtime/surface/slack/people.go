package slack

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Person is a person in Slack who may answer, with the principal that the
// person is in deskhand.
type Person struct {
	User      string // Slack member ID, for example U012ABCDEF
	Principal string
	Roles     []string
}

// slackID matches Slack's IDs: a letter for the kind of ID, then capital
// letters and digits.
var slackID = regexp.MustCompile(`^[A-Z][A-Z0-9]{2,30}$`)

// ParsePerson parses USER=PRINCIPAL or USER=PRINCIPAL:ROLE:ROLE. Its errors are
// faults with code "bad_settings".
func ParsePerson(text string) (Person, error) {
	user, who, _ := strings.Cut(text, "=")
	words := strings.Split(who, ":")
	p := Person{User: strings.ToUpper(strings.TrimSpace(user)), Principal: words[0], Roles: words[1:]}
	if !slackID.MatchString(p.User) || slices.Contains(words, "") {
		return Person{}, bad(fmt.Sprintf("%q does not map a person in Slack to a principal", text), "write USER=PRINCIPAL, for example U012ABCDEF=local; copy the ID from the person's Slack profile with \"Copy member ID\"")
	}
	return p, nil
}

// Members returns people as members of a hub.
func Members(people []Person) []elicit.Member {
	members := []elicit.Member{}
	for _, p := range people {
		members = append(members, elicit.Member{Principal: p.Principal, Roles: p.Roles, Surface: "Slack"})
	}
	return members
}

func bad(message, hint string) error { return fault.New("bad_settings", message, hint) }

func (o *Options) check() error {
	switch {
	case !slackID.MatchString(o.Channel):
		return bad(fmt.Sprintf("slack.channel %q is not a Slack channel ID", o.Channel), "use the channel's ID, for example C012ABCDEF, not its name; Slack shows it at the end of the channel's details")
	case len(o.People) == 0:
		return bad("slack.people is empty, so no one could answer", "list who may answer, for example U012ABCDEF=local")
	case !strings.HasPrefix(o.BotToken, "xoxb-"):
		return bad("Slack's bot token is missing or does not start with xoxb-", "set DESKHAND_SLACK_BOT_TOKEN")
	case !strings.HasPrefix(o.AppToken, "xapp-"):
		return bad("Slack's app token is missing or does not start with xapp-", "set DESKHAND_SLACK_APP_TOKEN")
	case !strings.HasSuffix(o.API, "/"):
		return bad(fmt.Sprintf("slack.api %q does not end with /", o.API), "add the /, for example https://slack-gov.com/api/")
	}
	for i, p := range o.People {
		if slices.ContainsFunc(o.People[:i], func(q Person) bool { return q.User == p.User }) {
			return bad("slack.people has "+p.User+" twice", "map each person in Slack to one principal")
		}
	}
	return nil
}

// person returns the person with this Slack member ID.
func (o *Options) person(user string) (Person, bool) {
	i := slices.IndexFunc(o.People, func(p Person) bool { return p.User == user })
	if i < 0 {
		return Person{}, false
	}
	return o.People[i], true
}

// addressee returns the Slack ID of the person to whom a principal's request
// goes. If that person is not known in Slack, it returns the default channel.
func (o *Options) addressee(principal string) string {
	i := slices.IndexFunc(o.People, func(p Person) bool { return principal != "" && p.Principal == principal })
	if i < 0 {
		return o.Channel
	}
	return o.People[i].User
}

// roomFor returns where a question is posted: to its person, or in the channel, which all of its
// people read. It is empty if a person there does not know of the question's project: such a
// question is for the pages, for mail and for direct messages. sees reports whether a person
// knows of the project.
func (o *Options) roomFor(principal string, sees func(principal string) (bool, error)) (to string, err error) {
	if to = o.addressee(principal); to != o.Channel {
		ok, err := sees(principal)
		if !ok {
			to = ""
		}
		return to, err
	}
	for _, p := range o.People {
		if ok, err := sees(p.Principal); err != nil || !ok {
			return "", err
		}
	}
	return to, nil
}
