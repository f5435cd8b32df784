package settings

import (
	"cmp"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/audit"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/surface/slack"
	"github.com/deskhand/deskhand/runtime/web"
)

// holdAuto is the value of elicitation.hold with which the type of client
// determines the behaviour.
const holdAuto = "auto"

// Values of the setting elicitation.secrets.
const (
	secretsRefuse = "refuse"
	secretsAllow  = "allow"
)

// Values of the setting elicitation.schema.
const (
	schemaRef    = "ref"
	schemaInline = "inline"
)

// Values of the setting views.
const (
	viewsOn  = "on"
	viewsOff = "off"
)

// place returns the location of the store: the value of the setting, or else the
// state folder.
func (s *Settings) place() (string, error) {
	if place := s.get("store"); place != "" {
		if strings.Contains(place, "://") && !store.IsPostgres(place) {
			return "", fault.Misuse("store is an address, and not one of PostgreSQL", "use a folder or postgres://USER@HOST/DATABASE")
		}
		return place, nil
	}
	return s.StateDir()
}

// People returns the settings for asking people. If a setting is invalid, the error
// is a usage error that names the setting.
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

// hasViews reports whether views are offered to clients that can show them. An
// attempt's agent never gets views, because the agent's client is a program, and it
// would answer the agent's questions itself.
func (s *Settings) hasViews() (bool, error) {
	on, err := s.checked("views")
	return on == viewsOn && OwnAttempt() == "", err
}

// syslog returns where servers send the audit log, or nil.
func (s *Settings) syslog() (*audit.Target, error) {
	if err := s.check("audit.syslog"); err != nil || s.get("audit.syslog") == "" {
		return nil, err
	}
	t, err := audit.ParseTarget(s.get("audit.syslog"))
	return &t, err
}

// notices returns the settings for notifying people of new questions.
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
	n.Base, n.Ends = strings.TrimSuffix(cmp.Or(s.get("public-url"), s.get("base-url")), "/"), s.get("notify-ends")
	return n, s.check("public-url", "notify-ends")
}

// surfaces returns the settings of all surfaces other than the server. If there are
// none, it returns the zero value. Tokens are read only from the environment.
func (s *Settings) surfaces(log *slog.Logger) (o surface.Options, err error) {
	if s.get("slack.channel") == "" {
		return o, nil
	}
	o.Slack = &slack.Options{Channel: s.get("slack.channel"), API: s.get("slack.api"), Log: log,
		AppToken: Env("DESKHAND_SLACK_APP_TOKEN"), BotToken: Env("DESKHAND_SLACK_BOT_TOKEN")}
	if o.Slack.People, err = s.slackPeople(); err != nil {
		return o, err
	}
	_, err = surface.New(nil, nil, o) // reports errors in the settings at startup
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

// members returns the people to whom questions can be addressed: this machine's user and
// the people named in the settings. Other processes announce their members through their
// own surfaces.
func (s *Settings) members() ([]elicit.Member, error) {
	members := []elicit.Member{{Principal: elicit.Local}}
	if s.get("slack.channel") == "" {
		return members, nil
	}
	people, err := s.slackPeople()
	return append(members, slack.Members(people)...), err
}

// visitors returns the settings for signing in to this installation's servers. The key is
// never given to agents. It is empty if no setting has one. It is always empty in an
// attempt, because the agent controls the environment there.
func (s *Settings) visitors() (in web.People, err error) {
	if key := s.get("person-key"); key != "" && OwnAttempt() == "" {
		if key == s.get("token") {
			return in, fault.Misuse("the person's key equals the agents' token, so agents could answer as a person",
				"set person-key or token to a different value, or omit one of them")
		}
		if err := s.checkSecret("person-key", key); err != nil {
			return in, err
		}
		in.Key = key
	}
	in.Host, in.Time = s.get("session.host"), s.time("session.time")
	return in, s.check("session.host", "session.time")
}

// checkSecret returns an error if a secret in the settings is easy to guess.
func (s *Settings) checkSecret(name, secret string) error {
	if f := fault.Of(web.CheckSecret(name, secret)); f != nil {
		return fault.Misuse(f.Message, f.Hint+"; it comes from "+s.origin(name))
	}
	return nil
}

// token returns the bearer token that agents must send, or "" if no setting has
// one.
func (s *Settings) token() (string, error) {
	token := s.get("token")
	// In an attempt, the variable holds the key to the attempt's tools. People do not
	// have that key, so they could not use it to sign in to a server that the agent
	// starts.
	if token == "" || OwnAttempt() != "" && token == Env("DESKHAND_TOKEN") {
		return "", nil
	}
	return token, s.checkSecret("token", token)
}

// TokenFor returns the token to send to a server. This is the configured token, or else
// the installation's token if the server is on this machine. It returns "" if there is
// no token.
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

// Surroundings fills the empty fields of c with information about this process,
// so that the person knows where a question comes from. In an attempt, the values
// come from the environment.
func Surroundings(c *elicit.Context) {
	for name, field := range map[string]*string{
		"DESKHAND_PROJECT_ID": &c.ProjectID, "DESKHAND_PROJECT": &c.Project, "DESKHAND_TASK_ID": &c.TaskID, "DESKHAND_ATTEMPT_ID": &c.AttemptID, "DESKHAND_BRANCH": &c.Branch,
	} {
		if *field == "" {
			*field = Env(name)
		}
	}
	if c.CWD == "" {
		c.CWD, _ = os.Getwd() // a deleted folder has no path
	}
}

// Attended reports whether a person may be available to answer. In a CI build, it
// returns false.
func Attended() bool { return Env("CI") == "" }

// OwnAttempt returns the ID of the attempt that this process runs in, or
// "" if there is none.
func OwnAttempt() string { return Env("DESKHAND_ATTEMPT_ID") }
