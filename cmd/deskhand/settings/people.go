package settings

import (
	"cmp"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/audit"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/routing"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/surface"
	"github.com/deskhand/deskhand/runtime/surface/mail"
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
	if o.Routing, err = s.routing(); err != nil {
		return o, err
	}
	o.Inbox = s.get("inbox")
	o.Attended = Attended() && o.Inbox != app.InboxOff
	return o, nil
}

// routing returns the steps for questions that nobody answers, by project. The setting is a
// list of times and targets, each time with PROJECT= in front if the step is for one project.
// A variable separates the items of a list by spaces, so the items are read word by word.
func (s *Settings) routing() (all map[string]routing.Policy, err error) {
	words := routingWords(s.list("routing"))
	steps := map[string][]string{}
	for i := 0; i < len(words); i += 2 {
		project, when, found := strings.Cut(words[i], "=")
		if !found {
			project, when = "", words[i]
		}
		steps[project] = append(steps[project], strings.Join(append([]string{when}, words[i+1:min(i+2, len(words))]...), " "))
	}
	all = map[string]routing.Policy{}
	for project, parts := range steps {
		if all[project], err = routing.ParsePolicy(strings.Join(parts, ",")); err != nil {
			return nil, fault.Misuse("routing: "+err.Error(), "correct "+s.origin("routing")+"; for example 30m rota:ops, 2h role:lead")
		}
	}
	return all, nil
}

func routingWords(texts []string) []string {
	return strings.FieldsFunc(strings.Join(texts, " "), func(c rune) bool { return c == ',' || c == ' ' || c == '\n' || c == '\t' })
}

// listed returns the items of a list setting as text for people.
func (one setting) listed(texts []string) string {
	if one.name != "routing" {
		return strings.Join(texts, ",")
	}
	var steps []string
	for step := range slices.Chunk(routingWords(texts), 2) {
		steps = append(steps, strings.Join(step, " "))
	}
	return strings.Join(steps, ", ")
}

// routingValid checks the steps for questions that nobody answers.
func routingValid(s *Settings, _ string) error {
	_, err := s.routing()
	return err
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
		if address, ok := strings.CutPrefix(text, "mail:"); ok {
			if err := owner(&n, address); err != nil {
				return n, fault.Misuse("notify: "+err.Error(), "correct "+s.origin("notify"))
			}
			continue
		}
		h, err := notify.ParseHook(text)
		if err != nil {
			return n, fault.Misuse("notify: "+err.Error(), "correct "+s.origin("notify"))
		}
		n.Hooks = append(n.Hooks, h)
	}
	if n.Quiet, err = notify.ParseQuiet(s.get("quiet-hours")); err != nil {
		return n, fault.Misuse("quiet-hours: "+err.Error(), "correct "+s.origin("quiet-hours"))
	}
	if n.Mail, err = s.mail(); err != nil {
		return n, err
	}
	if n.Owner != "" && n.Mail == nil {
		return n, fault.Misuse("notify has a mail address, but there is no mail server", "set mail.server and mail.from")
	}
	n.FollowUp = s.get("notify-answered") == "on"
	n.Base, n.Ends = strings.TrimSuffix(cmp.Or(s.get("public-url"), s.get("base-url")), "/"), s.get("notify-ends")
	return n, s.check("public-url", "notify-ends", "notify-answered")
}

// owner sets the address of the installation's owner.
func owner(n *app.Notices, address string) error {
	a, err := mail.ParseAddress(address)
	if err != nil {
		return fmt.Errorf("mail needs an address, for example mail:you@example.org")
	}
	if n.Owner != "" {
		return fmt.Errorf("there are two mail addresses; others get mail with \"deskhand people set NAME --mail ADDRESS\"")
	}
	n.Owner = a.Address
	return nil
}

// mail returns the settings of the mail server, or nil if there is none. The password comes
// only from the environment.
func (s *Settings) mail() (*mail.Options, error) {
	server, from := s.get("mail.server"), s.get("mail.from")
	if server == "" {
		return nil, nil
	}
	o := &mail.Options{User: s.get("mail.user"), Password: Env("DESKHAND_MAIL_PASSWORD")}
	var err error
	if o.Server, err = mail.ParseServer(server); err != nil {
		return nil, fault.Misuse("mail.server: "+err.Error(), "use smtp://HOST, smtps://HOST or smtp-plain://HOST; set the name with mail.user and the password with DESKHAND_MAIL_PASSWORD")
	}
	if from == "" {
		return nil, fault.Misuse("mail.server is set, but mail.from is not", "set mail.from to the address that mails come from, for example deskhand@example.org")
	}
	if o.From, err = mail.ParseAddress(from); err != nil {
		return nil, fault.Misuse("mail.from: "+err.Error(), "set it to the address that mails come from, for example deskhand@example.org")
	}
	switch {
	case o.User != "" && o.Password == "":
		return nil, fault.Misuse("mail.user is set, but there is no password", "set DESKHAND_MAIL_PASSWORD")
	case o.User != "" && o.Server.Security == mail.Plain:
		return nil, fault.Misuse("mail.server uses no TLS, so the password would be readable by everyone in between", "use smtp:// or smtps://, or leave mail.user out")
	}
	return o, nil
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
