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

// endpoint is an address that implements OpenAI's POST /embeddings, as most services
// and local servers do. chromem-go also implements such requests, but with only one
// text per request and without access to the Retry-After header. With it, a corpus of
// 10,000 chunks would need 10,000 requests instead of about a hundred. A test checks
// that endpoint and chromem-go return the same vectors.
type endpoint struct {
	client *http.Client
	url    string // the full address, with /embeddings and any query
	model  string
	// dimensions is the number of dimensions to request, or 0 for the model's default.
	dimensions int
	// header is the name of the header with the secret, for example Authorization.
	// prefix is the text before the secret in the header, for example "Bearer ". If
	// secret is empty, the header is not sent.
	header, prefix, secret string
}

// maxReply is the maximum number of bytes read from a response. A response with 96
// vectors of 3,072 numbers is about 6 MB of text.
const maxReply = 64 << 20

// newClient returns a client for the given number of concurrent requests. It follows no
// redirects, so that keys and documents are sent only to the address that the user
// configured.
func newClient(requests int) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConnsPerHost = requests
	return &http.Client{Transport: transport, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// request has the function type request.
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
		return reply{}, fmt.Errorf("create request: %w", err)
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
		return reply{}, unreached(ctx, fmt.Errorf("the connection was lost during the response: %w", err))
	}
	return decodeReply(answer, len(texts))
}

// unreached returns the failure for a request that got no response.
func unreached(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	return &failure{reason: plain(err.Error()), again: true}
}

// decodeReply decodes the vectors for n texts. If the vectors have no index fields,
// they are in the order of the texts.
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
		// If a value has the wrong type, a retry will not help. If the response
		// was truncated, a retry may succeed.
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
			return reply{}, &failure{reason: fmt.Sprintf("it returned a vector with the number %d, which is a duplicate or not one of %d texts", at, n)}
		}
		if len(d.Embedding) == 0 {
			return reply{}, &failure{reason: fmt.Sprintf("it returned an empty vector for text %d of %d", at+1, n)}
		}
		vectors[at] = d.Embedding
	}
	return reply{vectors, max(r.Usage.TotalTokens, r.Usage.PromptTokens)}, nil
}

// refused converts a response with a status other than 200 to a failure.
func (e *endpoint) refused(resp *http.Response, answer []byte) *failure {
	reason, code := complaint(answer)
	if e.secret != "" {
		reason = strings.ReplaceAll(reason, e.secret, "***")
	}
	if to := resp.Header.Get("Location"); to != "" {
		reason = "it redirects to another address: " + plain(to)
	}
	f := failed(resp.StatusCode, reason)
	f.wait = retryAfter(resp.Header.Get("Retry-After"), time.Now())
	f.again = f.again && code != "insufficient_quota" // OpenAI sends 429 if the account has no credit
	return f
}

// tooMuch matches the messages of services that reject a request with too much text.
var tooMuch = regexp.MustCompile(`(?i)too (long|large|many)|maximum|exceed|context (length|size|window)|batch size`)

// failed returns the failure for an HTTP status and the provider's message.
func failed(status int, reason string) *failure {
	f := &failure{status: status, reason: reason}
	switch status {
	case http.StatusUnauthorized, http.StatusForbidden:
		f.reason = "" // the message may contain the key
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

// complaint returns the message and code in the body of an error response, in one of
// the common formats.
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
		json.Unmarshal(inner.Code, &code) // some services use a number
		return plain(inner.Message), code
	}
	for _, raw := range []json.RawMessage{r.Error, r.Message, r.Detail} {
		if json.Unmarshal(raw, &reason) == nil && reason != "" {
			break
		}
	}
	return plain(reason), ""
}

// plain returns untrusted text on one short line.
func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	return cut(strings.Join(strings.Fields(text), " "), 300)
}

// retryAfter parses the Retry-After header, which contains seconds or a date. It
// returns 0 if the value is not usable.
func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 1e6) * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}
