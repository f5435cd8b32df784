package main

import (
	"context"
	"os"
	"strings"
	"time"

	installation "github.com/deskhand/deskhand/runtime/app"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/web"
)

// place is where questions and answers are kept: the setting, or else the state
// folder.
func (s *settings) place() (string, error) {
	if place := s.get("store"); place != "" {
		if strings.Contains(place, "://") && !store.IsPostgres(place) {
			return "", misuse("store is an address, and not one of PostgreSQL", "name a folder, or postgres://USER@HOST/DATABASE")
		}
		return place, nil
	}
	return s.stateFolder()
}

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

// people reads the settings; an error is a misuse that names the one to correct.
func (a *app) people() (o installation.People, err error) {
	o.Wait, err = time.ParseDuration(a.settings.get("elicitation.timeout"))
	if err != nil || o.Wait < time.Millisecond || o.Wait > elicit.MaxWait {
		return o, a.settings.wrong("elicitation.timeout", "not a time between 1ms and 30m", "write it as 90s or 10m")
	}
	if hold := a.settings.get("elicitation.hold"); hold != holdAuto {
		if o.Hold, err = time.ParseDuration(hold); err != nil || o.Hold < time.Second || o.Hold > elicit.MaxWait {
			return o, a.settings.wrong("elicitation.hold", "not auto or a time between 1s and 30m", "write it as 45s or 4m")
		}
	}
	if o.Secrets, err = a.settings.either("elicitation.secrets", secretsAllow, secretsRefuse); err != nil {
		return o, err
	}
	if o.Ref, err = a.settings.either("elicitation.schema", schemaRef, schemaInline); err != nil {
		return o, err
	}
	switch o.Inbox = a.settings.get("inbox"); o.Inbox {
	case installation.InboxAuto, installation.InboxOff:
	default:
		if err := web.CheckAddr(o.Inbox); err != nil {
			return o, a.settings.wrong("inbox", "not auto, off or HOST:PORT", "")
		}
	}
	o.WaitSet = a.settings.given("elicitation.timeout")
	o.Attended = attended() && o.Inbox != installation.InboxOff
	return o, nil
}

// attendedHub is hub, and keeps the inbox meanwhile if nobody else does.
func (a *app) attendedHub(ctx context.Context) (hub *elicit.Hub, stop func(), err error) {
	all := a.installation(nil)
	hub, err = all.Hub(ctx)
	if err != nil {
		return nil, nil, err
	}
	leave, err := all.KeepInbox(ctx, 0)
	if err != nil {
		all.Close()
		return nil, nil, err
	}
	return hub, func() { leave(); all.Close() }, nil
}

// hub opens the store and starts a hub over it; stop ends both.
func (a *app) hub(ctx context.Context) (hub *elicit.Hub, stop func(), err error) {
	all := a.installation(nil)
	hub, err = all.Hub(ctx)
	return hub, all.Close, err
}

// surroundings fills in where this process runs, for the person to know what a
// question is about; what is said already stays. An attempt has told its
// processes.
func surroundings(c *elicit.Context) {
	for name, field := range map[string]*string{
		"DESKHAND_PROJECT_ID": &c.ProjectID, "DESKHAND_PROJECT": &c.Project, "DESKHAND_TASK_ID": &c.TaskID, "DESKHAND_ATTEMPT_ID": &c.AttemptID, "DESKHAND_BRANCH": &c.Branch,
	} {
		if *field == "" {
			*field = env(name)
		}
	}
	if c.CWD == "" {
		c.CWD, _ = os.Getwd() // a folder that is gone has no name
	}
}

// attended says that a person may come and look: this is no build that runs on
// its own.
func attended() bool { return env("CI") == "" }
