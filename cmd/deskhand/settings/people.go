package settings

import (
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/surface/slack"
	"github.com/deskhand/deskhand/runtime/web"
)

// holdAuto is the setting elicitation.hold that leaves it to what is known of
// the client.
const holdAuto = "auto"

// What the setting elicitation.secrets may be.
const (
	secretsRefuse = "refuse"
	secretsAllow  = "allow"
)

// What the setting elicitation.schema may be.
const (
	schemaRef    = "ref"
	schemaInline = "inline"
)

// What the setting views may be.
const (
	viewsOn  = "on"
	viewsOff = "off"
)

// place is where questions and answers are kept: the setting, or else the state
// folder.
func (s *Settings) place() (string, error) {
	if place := s.get("store"); place != "" {
		if strings.Contains(place, "://") && !store.IsPostgres(place) {
			return "", fault.Misuse("store is an address, and not one of PostgreSQL", "name a folder, or postgres://USER@HOST/DATABASE")
		}
		return place, nil
	}
	return s.StateDir()
}

// People says how people are asked; an error is a misuse that names the setting
// to correct.
func (s *Settings) People() (o app.People, err error) {
	err = s.check("elicitation.timeout", "elicitation.hold", "elicitation.secrets", "elicitation.schema", "inbox")
	if err != nil {
		return o, err
	}
	o.Wait, o.WaitSet = s.time("elicitation.timeout"), s.given("elicitation.timeout")
	if s.get("elicitation.hold") != holdAuto {
		o.Hold = s.time("elicitation.hold")
	}
	o.Secrets, o.Ref = s.get("elicitation.secrets") == secretsAllow, s.get("elicitation.schema") == schemaRef
	o.Inbox = s.get("inbox")
	o.Attended = Attended() && o.Inbox != app.InboxOff
	return o, nil
}

// hasViews reports whether clients that show views get them. The agent of an
// attempt never does: its client is a program, which would answer its own
// questions.
func (s *Settings) hasViews() (bool, error) {
	on, err := s.checked("views")
	return on == viewsOn && OwnAttempt() == "", err
}

// notices are how people are told of new questions.
func (s *Settings) notices() (n app.Notices, err error) {
	for _, text := range s.list("notify") {
		h, err := notify.ParseHook(text)
		if err != nil {
			return n, fault.Misuse("notify: "+err.Error(), "correct "+s.origin("notify"))
		}
		n.Hooks = append(n.Hooks, h)
	}
	if n.Quiet, err = notify.ParseQuiet(s.get("quiet-hours")); err != nil {
		return n, fault.Misuse("quiet-hours: "+err.Error(), "correct "+s.origin("quiet-hours"))
	}
	n.Base = strings.TrimSuffix(s.get("public-url"), "/")
	return n, s.check("public-url")
}

// surfaces are the settings of what reaches people beside a server; the zero
// value is none. Tokens come from the environment alone.
func (s *Settings) surfaces(log *slog.Logger) (o surface.Options, err error) {
	if s.get("slack.channel") == "" {
		return o, nil
	}
	o.Slack = &slack.Options{Channel: s.get("slack.channel"), API: s.get("slack.api"), Log: log,
		AppToken: Env("DESKHAND_SLACK_APP_TOKEN"), BotToken: Env("DESKHAND_SLACK_BOT_TOKEN")}
	if o.Slack.People, err = s.slackPeople(); err != nil {
		return o, err
	}
	_, err = surface.New(nil, nil, o) // what is wrong with the settings is said at the start
	return o, err
}

func (s *Settings) slackPeople() (people []slack.Person, err error) {
	for _, text := range s.list("slack.people") {
		p, err := slack.ParsePerson(text)
		if err != nil {
			return nil, err
		}
		people = append(people, p)
	}
	return people, nil
}

// members are whom questions can be for: whoever uses this machine, and whom the
// settings name. Those of other processes are announced by their surfaces.
func (s *Settings) members() ([]elicit.Member, error) {
	members := []elicit.Member{{Principal: elicit.Local}}
	if s.get("slack.channel") == "" {
		return members, nil
	}
	people, err := s.slackPeople()
	return append(members, slack.Members(people)...), err
}

// visitors is how people come in at every server of this installation. Its key is
// what no agent is given, and is left empty if no setting has it. In an attempt
// the environment is the agent's.
func (s *Settings) visitors() (in web.People, err error) {
	if key := s.get("person-key"); key != "" && OwnAttempt() == "" {
		if key == s.get("token") {
			return in, fault.Misuse("the person's key is the same as the agents' token, so agents could answer as a person",
				"set person-key or token to another text, or leave one out")
		}
		if err := s.checkSecret("person-key", key); err != nil {
			return in, err
		}
		in.Key = key
	}
	in.Host, in.Time = s.get("session.host"), s.time("session.time")
	return in, s.check("session.host", "session.time")
}

// checkSecret refuses a secret of the settings that can be guessed.
func (s *Settings) checkSecret(name, secret string) error {
	if f := fault.Of(web.CheckSecret(name, secret)); f != nil {
		return fault.Misuse(f.Message, f.Hint+"; it is from "+s.origin(name))
	}
	return nil
}

// token is the bearer token to ask agents for; empty: no setting has it.
func (s *Settings) token() (string, error) {
	token := s.get("token")
	// In an attempt the variable is the key to deskhand's tools there, which no
	// person has who signs in at a server of the agent's own.
	if token == "" || OwnAttempt() != "" && token == Env("DESKHAND_TOKEN") {
		return "", nil
	}
	return token, s.checkSecret("token", token)
}

// TokenFor is what to send to a server: the token that is set, else for a server
// on this machine the one of this installation, if it has one.
func (s *Settings) TokenFor(u *url.URL) string {
	if token := s.get("token"); token != "" {
		return token
	}
	if ip := net.ParseIP(u.Hostname()); u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return ""
	}
	dir, err := s.StateDir()
	if err != nil {
		return ""
	}
	token, _ := os.ReadFile(filepath.Join(dir, "token"))
	return strings.TrimSpace(string(token))
}

// Surroundings fills in where this process runs, for the person to know what a
// question is about; what is said already stays. An attempt has told its
// processes.
func Surroundings(c *elicit.Context) {
	for name, field := range map[string]*string{
		"DESKHAND_PROJECT_ID": &c.ProjectID, "DESKHAND_PROJECT": &c.Project, "DESKHAND_TASK_ID": &c.TaskID, "DESKHAND_ATTEMPT_ID": &c.AttemptID, "DESKHAND_BRANCH": &c.Branch,
	} {
		if *field == "" {
			*field = Env(name)
		}
	}
	if c.CWD == "" {
		c.CWD, _ = os.Getwd() // a folder that is gone has no name
	}
}

// Attended says that a person may come and look: this is no build that runs on
// its own.
func Attended() bool { return Env("CI") == "" }

// OwnAttempt returns the id of the attempt that this process belongs to; empty:
// none.
func OwnAttempt() string { return Env("DESKHAND_ATTEMPT_ID") }
