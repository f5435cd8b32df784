package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/deskhand/deskhand/runtime/access"
	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/outbox"
	"github.com/deskhand/deskhand/runtime/people"
	"github.com/deskhand/deskhand/runtime/surface/mail"
	"github.com/deskhand/deskhand/runtime/surface/notify"
	"github.com/deskhand/deskhand/runtime/web"
	"github.com/deskhand/deskhand/runtime/web/inbox"
)

// mailBody is what the outbox keeps of a mail. The mail itself is made when it is sent, of
// the question as it is then, and only if its person may still see the question.
type mailBody struct {
	Page  string `json:"page"`  // the question's page
	Links string `json:"links"` // what links that answer begin with
	Lead  string `json:"lead,omitempty"`
}

// mailOf returns the mail that announces a question to a person.
func mailOf(r *elicit.Request, a notify.Announcement, b mailBody) ([]outbox.New, error) {
	b.Lead = a.Lead
	data, err := json.Marshal(b)
	if err != nil {
		return nil, err
	}
	return []outbox.New{{Once: "mail/" + a.Person + "/" + a.OnceFor(r), Way: mail.Way, To: a.Person, Request: r.ID, Reason: a.Reason(), Body: data}}, nil
}

// mailedFor returns the people who get a mail about a new question: those it is for, who see
// it, may answer it and have an address. Those whom a step has asked since have a mail already.
func (a *App) mailedFor(ctx context.Context, r *elicit.Request) (names []string, err error) {
	all, err := a.everybody(ctx)
	if err != nil {
		return nil, err
	}
	box, err := a.Outbox(ctx)
	if err != nil {
		return nil, err
	}
	have, err := box.Told(ctx, mail.Way, r.ID)
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if p.Mail != "" && mayAnswer(p, r) && !slices.Contains(have, p.Name) {
			names = append(names, p.Name)
		}
	}
	if a.mailsOwner(r) && !slices.Contains(have, elicit.Local) {
		names = append(names, elicit.Local)
	}
	return names, nil
}

// mailsOwner reports whether the owner has an address and may answer a question.
func (a *App) mailsOwner(r *elicit.Request) bool {
	n, err := a.config.Notices.Get()
	return err == nil && n.Owner != "" && r.MayAnswer(elicit.Local, nil)
}

// mayAnswer reports whether a person sees a question and may answer it in a browser.
func mayAnswer(p people.Person, r *elicit.Request) bool {
	sees := p.Boundary.Sees(r.Context.ProjectID) || r.Context.ProjectID == "" && r.Source.Person == p.Name
	return sees && slices.Contains(p.Scopes, access.Answer) && r.MayAnswer(p.Name, p.Roles)
}

// addressOf returns the address of a person who may answer a question now. Otherwise, the
// error says why not, as a fault.
func (a *App) addressOf(ctx context.Context, name string, r *elicit.Request) (address string, as context.Context, p people.Person, err error) {
	if name == elicit.Local {
		n, err := a.config.Notices.Get()
		if err == nil && n.Owner == "" {
			err = fault.New(inbox.NotYours, "the owner of this installation gets no mails any more", "answer in the inbox")
		}
		if err == nil && !r.MayAnswer(name, nil) {
			err = fault.New(inbox.NotYours, "this question is for somebody else now", "")
		}
		return n.Owner, access.With(ctx, access.Caller{Level: access.People, How: access.ByMail, Address: access.Of(ctx).Address}), p, err
	}
	register, err := a.Register(ctx)
	if err != nil {
		return "", nil, p, err
	}
	c, p, err := register.Caller(ctx, name, access.ByMail)
	switch {
	case fault.Of(err) != nil:
		return "", nil, p, fault.New(inbox.NotYours, "the person this mail was sent to was removed", "")
	case err != nil:
		return "", nil, p, err
	case !mayAnswer(p, r):
		return "", nil, p, fault.New(inbox.NotYours, p.Name+" may not answer this question any more", "")
	}
	c.Address = access.Of(ctx).Address
	return p.Mail, access.With(ctx, c), p, nil
}

// sendMail sends a mail of the outbox.
func (a *App) sendMail(ctx context.Context, m outbox.Message) (string, error) {
	var b mailBody
	if err := json.Unmarshal(m.Body, &b); err != nil {
		return "", outbox.Final(fmt.Errorf("read mail: %w", err))
	}
	hub, err := a.Hub(ctx)
	if err != nil {
		return "", err
	}
	r, err := hub.Get(ctx, m.Request)
	if fault.Of(err) != nil || err == nil && r.Status == elicit.Completed && m.Reason != outbox.Ended {
		return "", outbox.ErrOver
	}
	if err != nil {
		return "", err
	}
	address, _, person, err := a.addressOf(ctx, m.To, &r)
	if f := fault.Of(err); f != nil {
		return "", fmt.Errorf("%w: %s", outbox.ErrOver, f.Message)
	}
	if err != nil {
		return "", err
	}
	if address == "" {
		return "", fmt.Errorf("%w: %s has no address any more", outbox.ErrOver, m.To)
	}
	if err := a.awake(person, r.Priority); err != nil {
		return "", err
	}
	n, err := a.config.Notices.Get()
	if err != nil {
		return "", err
	}
	to, err := mail.ParseAddress(address)
	if err != nil {
		return "", outbox.Final(errors.New("the address is not valid"))
	}
	l := mail.Letter{To: to, Person: m.To, Reason: m.Reason, First: b.Lead == "" && m.Reason != outbox.Ended, Page: b.Page, Until: inbox.LinksUntil(&r), Date: time.Now()}
	make := mail.Question
	if m.Reason == outbox.Ended {
		make = mail.Ended
	} else if l.Choices, err = a.mailLinks(ctx, m, &r, address, b.Links); err != nil {
		return "", err
	}
	letter, err := make(&r, l)
	if err != nil {
		return "", err
	}
	return "", n.Mail.Send(ctx, letter)
}

// mailLinks creates the links of a mail.
func (a *App) mailLinks(ctx context.Context, m outbox.Message, r *elicit.Request, address, begin string) (choices []mail.Choice, err error) {
	options := inbox.Presses(r)
	if len(options) == 0 || r.WantsSecret() || !mail.Fits(r) {
		return nil, nil
	}
	in, err := a.Visitors()
	if err != nil {
		return nil, err
	}
	box, err := a.Outbox(ctx)
	if err != nil {
		return nil, err
	}
	var links []outbox.Link
	for _, o := range options {
		links = append(links, outbox.Link{Request: r.ID, Question: r.Questions[0].ID, Value: o.ID, Person: m.To, Address: address, Expires: inbox.LinksUntil(r)})
	}
	secrets, err := box.Links(ctx, web.Key(in.Key, "mail"), m.ID, links)
	for i, secret := range secrets {
		choices = append(choices, mail.Choice{Label: options[i].Label, URL: begin + secret})
	}
	return choices, err
}

// mails implements [inbox.Options.Mails].
func (a *App) mails() inbox.Mails {
	return inbox.Mails{
		Link: func(ctx context.Context, secret string) (l outbox.Link, as context.Context, err error) {
			ctx = access.With(ctx, access.Caller{Address: access.Of(ctx).Address}) // a link is valid for its person, whoever is signed in
			box, err := a.Outbox(ctx)
			if err != nil {
				return l, nil, err
			}
			if l, err = box.Link(ctx, secret); err != nil {
				return l, nil, err
			}
			hub, err := a.Hub(ctx)
			if err != nil {
				return l, nil, err
			}
			r, err := hub.Get(access.Itself(ctx), l.Request)
			if err != nil {
				return l, nil, err
			}
			address, as, p, err := a.addressOf(ctx, l.Person, &r)
			if err == nil && (!l.SentTo(address) || p.Added.After(l.Created)) { // a person who was added later may have the same name
				err = fault.New(inbox.NotYours, "this mail was sent to an address that its person does not have any more", "answer in the inbox")
			}
			return l, as, err
		},
		Used: func(ctx context.Context, secret string) error {
			box, err := a.Outbox(ctx)
			if err != nil {
				return err
			}
			return box.Use(ctx, secret)
		},
	}
}
