package embed

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// endpoint is an address that answers POST /embeddings as OpenAI's does, which
// most services and local servers do. chromem-go has a function for it, but
// that sends one text a request and hides the answer's Retry-After: a corpus of
// 10,000 chunks would take 10,000 requests where this takes some hundred. That
// both give the same vectors is tested.
type endpoint struct {
	client *http.Client
	url    string // with /embeddings, and a query if need be
	model  string
	// dimensions to ask for; 0: those of the model.
	dimensions int
	// header has the secret, such as Authorization: Bearer. Empty: none is sent.
	header, prefix, secret string
}

// maxReply bounds what is read of an answer: 96 vectors of 3,072 numbers are
// some 6 MB of text.
const maxReply = 64 << 20

// newClient returns a client for so many requests at once. It follows no
// redirect: a key and the texts go where the user said, or nowhere.
func newClient(requests int) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = requests
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// request is the one of Remote.
func (e *endpoint) request(ctx context.Context, texts []string) (reply, error) {
	body, err := json.Marshal(struct {
		Model      string   `json:"model"`
		Input      []string `json:"input"`
		Dimensions int      `json:"dimensions,omitempty"`
	}{e.model, texts, e.dimensions})
	if err != nil {
		return reply{}, fmt.Errorf("encode request: %w", err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return reply{}, fmt.Errorf("make request: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if e.secret != "" {
		req.Header.Set(e.header, e.prefix+e.secret)
	}
	resp, err := e.client.Do(req)
	if err != nil {
		return reply{}, unreached(ctx, err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, maxReply))
	if resp.StatusCode != http.StatusOK {
		return reply{}, e.refused(resp, answer)
	}
	if err != nil {
		return reply{}, unreached(ctx, fmt.Errorf("the connection broke during the answer: %w", err))
	}
	return decodeReply(answer, len(texts))
}

// unreached is the failure of a request without an answer.
func unreached(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &failure{reason: plain(err.Error()), again: true}
}

// decodeReply reads the vectors of n texts. They say which text they are of, or
// come in order.
func decodeReply(answer []byte, n int) (reply, error) {
	var r struct {
		Data []struct {
			Index     *int      `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
		Usage struct {
			PromptTokens int `json:"prompt_tokens"`
			TotalTokens  int `json:"total_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(answer, &r); err != nil {
		// A number or text in the wrong place stays wrong; what is cut off does not.
		misfit := new(json.UnmarshalTypeError)
		return reply{}, &failure{reason: "cannot read its answer: " + plain(err.Error()), again: !errors.As(err, &misfit)}
	}
	if len(r.Data) != n {
		return reply{}, &failure{reason: fmt.Sprintf("it returned %d vectors for %d texts", len(r.Data), n)}
	}
	vectors := make([][]float32, n)
	for i, d := range r.Data {
		at := i
		if d.Index != nil {
			at = *d.Index
		}
		if at < 0 || at >= n || vectors[at] != nil {
			return reply{}, &failure{reason: fmt.Sprintf("it numbered a vector %d, a duplicate or not one of %d texts", at, n)}
		}
		if len(d.Embedding) == 0 {
			return reply{}, &failure{reason: fmt.Sprintf("it returned an empty vector for text %d of %d", at+1, n)}
		}
		vectors[at] = d.Embedding
	}
	return reply{vectors, max(r.Usage.TotalTokens, r.Usage.PromptTokens)}, nil
}

// refused reads an answer that is not 200.
func (e *endpoint) refused(resp *http.Response, answer []byte) *failure {
	reason, code := complaint(answer)
	if e.secret != "" {
		reason = strings.ReplaceAll(reason, e.secret, "***")
	}
	if to := resp.Header.Get("Location"); to != "" {
		reason = "it redirects to another address, " + plain(to)
	}
	f := failed(resp.StatusCode, reason)
	f.wait = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	f.again = f.again && code != "insufficient_quota" // OpenAI's 429 of an empty account
	return f
}

// tooMuch is how services say that a request has more text than they take.
var tooMuch = regexp.MustCompile(`(?i)too (long|large|many)|maximum|exceed|context (length|size|window)|batch size`)

// failed is the failure of a status, with what the provider says.
func failed(status int, reason string) *failure {
	f := &failure{status: status, reason: reason}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		f.reason = "" // it may repeat the key
	case http.StatusRequestEntityTooLarge:
		f.long = true
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		f.long = tooMuch.MatchString(reason)
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests:
		f.again = true
	default:
		f.again = status >= 500
		f.long = status == http.StatusInternalServerError && tooMuch.MatchString(reason)
	}
	return f
}

// complaint is what the body of a refusal says, in one of the usual shapes.
func complaint(answer []byte) (reason, code string) {
	var r struct {
		Error   json.RawMessage `json:"error"`
		Message json.RawMessage `json:"message"`
		Detail  json.RawMessage `json:"detail"`
	}
	if json.Unmarshal(answer, &r) != nil {
		return "", ""
	}
	var inner struct {
		Message string          `json:"message"`
		Code    json.RawMessage `json:"code"`
	}
	if json.Unmarshal(r.Error, &inner) == nil {
		json.Unmarshal(inner.Code, &code) // some have a number there
		return plain(inner.Message), code
	}
	for _, raw := range []json.RawMessage{r.Error, r.Message, r.Detail} {
		if json.Unmarshal(raw, &reason) == nil && reason != "" {
			break
		}
	}
	return plain(reason), ""
}

// plain is text from outside on one short line.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return cut(strings.Join(strings.Fields(text), " "), 300)
}

// retryAfter reads the header of that name, seconds or a date; 0: it says
// nothing of use.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
