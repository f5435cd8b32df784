package askdoor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/elicit"
	"github.com/deskhand/deskhand/runtime/fault"
)

// Client asks through an attempt's [Server]. Its methods may be called
// concurrently. They return the faults of the server's [elicit.Hub], or
// [Unreachable].
type Client struct {
	// Address is the attempt's server, for example http://127.0.0.1:20310/mcp.
	// Its path is ignored.
	Address string
	Token   string // the attempt's token
}

// Ask asks r and waits for its end, as [elicit.Hub.Ask] does. If told is not nil,
// it is called with the request as soon as the request is in the store. If an
// error comes with a request that has an ID, that request stays open. If Detach
// is set, Ask returns the open request.
func (c *Client) Ask(ctx context.Context, r elicit.Request, ways Ways, told func(elicit.Request)) (elicit.Request, error) {
	body, err := json.Marshal(asking{r, ways})
	if err != nil {
		return elicit.Request{}, fmt.Errorf("encode question: %w", err)
	}
	return c.follow(ctx, http.MethodPost, Path, body, ways.Detach, told)
}

// List returns up to limit requests of the attempt. If all is set, it includes
// requests that have ended.
func (c *Client) List(ctx context.Context, all bool, limit int) (elicit.List, error) {
	query := url.Values{"limit": {strconv.Itoa(limit)}}
	if all {
		query.Set("all", "1")
	}
	resp, err := c.send(ctx, http.MethodGet, Path+"?"+query.Encode(), nil)
	if err != nil {
		return elicit.List{}, err
	}
	defer resp.Body.Close()
	var e event
	err = json.NewDecoder(resp.Body).Decode(&e)
	switch {
	case ctx.Err() != nil:
		return elicit.List{}, ctx.Err()
	case e.Fault != nil:
		return elicit.List{}, e.Fault
	case err != nil || e.List == nil:
		return elicit.List{}, fault.New(Unreachable, "the attempt's server is no longer running", HintTool)
	}
	return *e.List, nil
}

// Settled returns a request of the attempt.
func (c *Client) Settled(ctx context.Context, id string) (elicit.Request, error) {
	return c.follow(ctx, http.MethodGet, Path+"/"+url.PathEscape(id)+"?look=1", nil, true, nil)
}

// Wait waits until a request ends or, if it has expired, for a late answer.
func (c *Client) Wait(ctx context.Context, id string) (elicit.Request, error) {
	return c.follow(ctx, http.MethodGet, Path+"/"+url.PathEscape(id), nil, false, nil)
}

// WaitLate is the same as Wait, because the server knows whether an answer is late.
func (c *Client) WaitLate(ctx context.Context, id string) (elicit.Request, error) {
	return c.Wait(ctx, id)
}

// deliverTime is the time limit for reporting that the outcome has arrived.
const deliverTime = 10 * time.Second

// Delivered records that the asker has received the outcome of r.
func (c *Client) Delivered(ctx context.Context, r elicit.Request) error {
	if !r.Undelivered() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, deliverTime)
	defer cancel()
	_, err := c.follow(ctx, http.MethodPost, Path+"/"+url.PathEscape(r.ID)+"/"+delivered, nil, true, nil)
	if f := fault.Of(err); f != nil && f.Code != Unreachable {
		return nil // the request was deleted, so there is nothing to deliver
	}
	return err
}

// transport uses no proxy, because the server is on this machine.
var transport = &http.Transport{}

// follow makes a call and reads its events until the last one.
func (c *Client) follow(ctx context.Context, method, path string, body []byte, brief bool, told func(elicit.Request)) (elicit.Request, error) {
	resp, err := c.send(ctx, method, path, body)
	if err != nil {
		return elicit.Request{}, err
	}
	defer resp.Body.Close()
	var asked elicit.Request
	for d := json.NewDecoder(resp.Body); ; {
		var e event
		err := d.Decode(&e)
		switch {
		case ctx.Err() != nil:
			return asked, ctx.Err()
		case errors.Is(err, io.EOF) && brief:
			return asked, nil
		case err != nil:
			return asked, fault.New(Unreachable, "the attempt's server is no longer running"+staysOpen(asked.ID), HintTool)
		case e.Fault != nil:
			return asked, e.Fault
		case e.Ended != nil:
			return *e.Ended, nil
		case e.Asked != nil:
			if asked = *e.Asked; told != nil {
				told(asked)
			}
		}
	}
}

func (c *Client) send(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	unreachable := func(why string) error {
		return fault.New(Unreachable, "the attempt's server at "+c.Address+" "+why, HintTool)
	}
	base, err := url.Parse(c.Address)
	if err != nil || base.Host == "" {
		return nil, unreachable("has no valid address")
	}
	req, err := http.NewRequestWithContext(ctx, method, base.Scheme+"://"+base.Host+path, bytes.NewReader(body))
	if err != nil {
		return nil, unreachable("has no valid address")
	}
	req.Header.Set("Authorization", "Bearer "+c.Token)
	req.Header.Set("Content-Type", "application/json")
	resp, err := (&http.Client{Transport: transport}).Do(req)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, unreachable("does not answer")
	}
	if resp.StatusCode != http.StatusOK {
		said, _ := io.ReadAll(io.LimitReader(resp.Body, 300))
		resp.Body.Close()
		return nil, unreachable(fmt.Sprintf("refuses: %s %s", resp.Status, strings.TrimSpace(string(said))))
	}
	return resp, nil
}
