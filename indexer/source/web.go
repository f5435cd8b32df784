package source

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/deskhand/deskhand/indexer/formats"
	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
)

// Limits on pages that are downloaded from the web.
const (
	// pace is the minimum time between two requests.
	pace = 500 * time.Millisecond
	// maxPace is the maximum delay that a robots.txt can demand.
	maxPace     = 30 * time.Second
	maxWebPage  = 8 << 20
	maxWebPages = 5000
	maxWebTotal = 512 << 20
	maxTries    = 3
	// maxWait is the maximum delay before a retry that a server can demand.
	maxWait = time.Minute
	// maxFailures is the number of consecutive failures after which a visit ends.
	maxFailures = 10
	requestWait = time.Minute
	// maxRedirects is the maximum number of redirects of a page.
	maxRedirects = 10
	// maxHeader is the maximum length of a header that is sent back to the server.
	maxHeader = 1 << 10
)

// agent is the program's name in requests and in robots.txt.
const agent = "deskhand"

// guardedClient returns a client for the pages of a site. The client can access this
// machine or its network only if the address start is there, because in this case the
// user named it. Servers elsewhere cannot redirect to such addresses.
func guardedClient(start *url.URL) *http.Client {
	return clientFor(start, netguard.Guard{Inside: netguard.IsInside(start.String())})
}

func clientFor(start *url.URL, guard netguard.Guard) *http.Client {
	return &http.Client{Transport: guard.Transport(), CheckRedirect: func(r *http.Request, via []*http.Request) error {
		switch {
		case guard.Inside && r.URL.Host != start.Host:
			return redirectError("it redirects to " + r.URL.Host)
		case start.Scheme == "https" && r.URL.Scheme != "https":
			return redirectError("it redirects to an address without https")
		case len(via) >= maxRedirects:
			return redirectError(fmt.Sprintf("it redirects more than %d times", maxRedirects))
		}
		return nil
	}}
}

// redirectError is the error for a redirect that is not followed.
type redirectError string

func (e redirectError) Error() string { return string(e) }

// webAddress parses the address of a site. It returns fault "bad_source" if the address
// does not use https. Addresses on this machine or in its network may use http.
func webAddress(address string) (*url.URL, error) {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return nil, fault.New("bad_source", fmt.Sprintf("'%s' is not a valid address", WithoutPassword(address)), "write it, for example, as https://example.com/docs/")
	}
	if err := checkHTTPS(u); err != nil {
		return nil, err
	}
	u.Fragment, u.User = "", nil
	return u, nil
}

// checkHTTPS returns fault "bad_source" for an address that does not use https, unless it is
// on this machine or in its network.
func checkHTTPS(u *url.URL) error {
	if u.Scheme == "https" || u.Scheme == "http" && netguard.IsInside(u.String()) {
		return nil
	}
	return fault.New("bad_source", fmt.Sprintf("'%s' is refused: it is not https", WithoutPassword(u.String())), "use https")
}

// visitor downloads web pages one after another, at a limited rate.
type visitor struct {
	client *http.Client
	others *http.Client // for all hosts except that of start; has no access to the local network
	start  *url.URL
	pace   time.Duration
	now    func() time.Time
	sleep  func(context.Context, time.Duration) error
	last   time.Time
	total  int64
	left   leftOut
	failed int // number of consecutive failures
}

func newVisitor(start *url.URL, o Options) *visitor {
	v := &visitor{client: guardedClient(start), others: clientFor(start, netguard.Guard{}), start: start, pace: pace, now: time.Now, sleep: sleep, left: leftOut{}}
	if o.clock != nil {
		v.now, v.sleep = o.clock.Now, o.clock.Sleep
	}
	for _, client := range []*http.Client{v.client, v.others} {
		follows := client.CheckRedirect
		client.CheckRedirect = func(r *http.Request, via []*http.Request) error {
			if err := follows(r, via); err != nil {
				return err
			}
			return v.wait(r.Context()) // each redirect is a request
		}
	}
	return v
}

// clock is a clock that tests can replace.
type clock interface {
	Now() time.Time
	Sleep(context.Context, time.Duration) error
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}

// webPage is a server's response.
type webPage struct {
	at       *url.URL // address after redirects
	kind     string   // media type
	body     []byte
	etag     string
	modified string
	noIndex  bool // the server asks robots not to index the page
	// unchanged is true if the version of the page that the caller has is still
	// current.
	unchanged bool
}

// statusError is the error for an HTTP status other than success.
type statusError struct {
	code   int
	status string
}

func (e *statusError) Error() string { return "the server returned " + e.status }

// get downloads a page of at most limit bytes. header may be nil.
func (v *visitor) get(ctx context.Context, at *url.URL, limit int64, header http.Header) (webPage, error) {
	for try := 1; ; try++ {
		if err := v.wait(ctx); err != nil {
			return webPage{}, err
		}
		page, retry, err := v.once(ctx, at, limit, header)
		if err == nil || ctx.Err() != nil || retry < 0 || try == maxTries {
			return page, err
		}
		if err := v.sleep(ctx, retry); err != nil {
			return webPage{}, err
		}
	}
}

// wait waits until the next request is allowed.
func (v *visitor) wait(ctx context.Context) error {
	if d := v.last.Add(v.pace).Sub(v.now()); d > 0 && !v.last.IsZero() {
		if err := v.sleep(ctx, d); err != nil {
			return err
		}
	}
	v.last = v.now()
	return ctx.Err()
}

// once makes a single request. retry is the delay before the request may be retried, or
// negative if it must not be retried.
func (v *visitor) once(ctx context.Context, at *url.URL, limit int64, header http.Header) (page webPage, retry time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestWait+maxRedirects*v.pace)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, at.String(), nil)
	if err != nil {
		return page, -1, errors.New("it is not a valid address")
	}
	for key := range header {
		request.Header.Set(key, header.Get(key))
	}
	request.Header.Set("User-Agent", agent)
	request.Header.Set("Accept", "text/markdown, text/html;q=0.9, */*;q=0.5")
	client := v.client
	if at.Host != v.start.Host {
		client = v.others
	}
	response, err := client.Do(request)
	if err != nil {
		if response != nil || errors.As(err, new(*netguard.Refused)) { // there is a response if a redirect is not followed
			return page, -1, err
		}
		return page, v.pace, err
	}
	defer response.Body.Close()
	switch {
	case response.StatusCode == http.StatusNotModified:
		return webPage{unchanged: true}, -1, nil
	case response.StatusCode == http.StatusTooManyRequests, response.StatusCode >= 500:
		return page, retryAfter(response), &statusError{response.StatusCode, response.Status}
	case response.StatusCode != http.StatusOK:
		return page, -1, &statusError{response.StatusCode, response.Status}
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
	if err != nil {
		return page, v.pace, fmt.Errorf("the download ended early: %w", err)
	}
	if int64(len(body)) > limit {
		return page, -1, fmt.Errorf("it is larger than %d MB", limit>>20)
	}
	if v.total += int64(len(body)); v.total > maxWebTotal {
		return page, -1, errTotal
	}
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	return webPage{at: response.Request.URL, kind: kind, body: body, etag: shortHeader(response, "ETag"), modified: shortHeader(response, "Last-Modified"), noIndex: noIndexHeader(response.Header.Values("X-Robots-Tag"))}, -1, nil
}

// shortHeader returns a header of a response, or "" if it is too long to be sent back.
func shortHeader(r *http.Response, key string) string {
	if value := r.Header.Get(key); len(value) <= maxHeader {
		return value
	}
	return ""
}

var errTotal = fmt.Errorf("its pages exceed %d MB in total", maxWebTotal>>20)

func retryAfter(r *http.Response) time.Duration {
	seconds, err := strconv.Atoi(r.Header.Get("Retry-After"))
	if err != nil || seconds < 1 {
		return 2 * pace
	}
	return min(time.Duration(seconds)*time.Second, maxWait)
}

// miss records a page that cannot be downloaded. If there are too many consecutive
// failures or a limit is exceeded, it returns an error, which ends the visit.
func (v *visitor) miss(ctx context.Context, err error) error {
	var keep *keepError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, errTotal):
		return v.fault(err.Error())
	case errors.As(err, &keep):
		return fmt.Errorf("save pages of %s: %w", v.start, keep.error)
	}
	why := err.Error()
	var refused *netguard.Refused
	var status *statusError
	var elsewhere *outside
	var redirect redirectError
	switch {
	case errors.As(err, &elsewhere):
		why = "on another host"
	case errors.As(err, &redirect):
		why = string(redirect)
	case errors.As(err, &refused):
		why = "on this machine or its network"
	case errors.As(err, &status):
		why = status.status
	case errors.As(err, new(*url.Error)):
		why = "no answer"
	}
	v.leave(1, why)
	gone := status != nil && status.code < 500 && status.code != http.StatusTooManyRequests
	if v.failed++; gone || refused != nil || elsewhere != nil || redirect != "" {
		v.failed = 0
	}
	if v.failed >= maxFailures {
		return v.fault(fmt.Sprintf("%d consecutive pages failed; the last error: %s", v.failed, why))
	}
	return nil
}

func (v *visitor) fault(why string) error {
	return fault.New("source_failed", fmt.Sprintf("cannot download %s: %s", v.start, why), "check the address, then run the command again to continue")
}

// leave counts pages that could not be downloaded, by reason.
func (v *visitor) leave(n int, reason string) {
	v.left.add("page", reason, n)
}

var notInName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^\pL\pN._~+@=,-]+`) })

// maxPageName is the maximum length of a page's path in bytes. Systems limit it to 1,024 or
// more, together with the folder.
const maxPageName = 500

// pageNames are the names of pages that are written. Case is ignored.
type pageNames map[string]bool // whether the name is that of a folder

// take reports whether a page may have the name: no other page has it, no page is a folder in
// it, and it is no folder. It then belongs to this page.
func (p pageNames) take(name string) bool {
	name = strings.ToLower(name)
	if _, taken := p[name]; taken {
		return false
	}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if folder, taken := p[dir]; taken && !folder {
			return false
		}
	}
	p[name] = false
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		p[dir] = true
	}
	return true
}

// fileOf returns the path of the file for a page. It is the path in the page's
// address, with an extension that depends on the content. Pages from another host are
// in a folder named after the host.
func fileOf(start, at *url.URL, kind string) string {
	var parts []string
	if at.Host != start.Host {
		parts = append(parts, at.Hostname())
	}
	for _, part := range strings.Split(at.Path, "/") {
		part = strings.TrimLeft(notInName().ReplaceAllString(part, "-"), ".-")
		if part != "" {
			parts = append(parts, part[:min(len(part), 100)])
		}
	}
	name := strings.ToValidUTF8(strings.Join(parts, "/"), "")
	if len(name) > maxPageName {
		sum := sha256.Sum256([]byte(name))
		name = strings.ToValidUTF8(name[:maxPageName/2], "") + "-" + hex.EncodeToString(sum[:8])
	}
	if strings.HasSuffix(at.Path, "/") || name == "" {
		name = path.Join(name, "index")
	}
	if at.RawQuery != "" {
		sum := sha256.Sum256([]byte(at.RawQuery))
		name += "-" + hex.EncodeToString(sum[:4])
	}
	name = strings.ReplaceAll(name, ".template.", "-template.")
	ending := endingOf(at, kind)
	return strings.TrimSuffix(name, ending) + ending
}

// endingOf returns the extension for a page's file, which depends on the media type.
// If the media type is not that of a page, endingOf returns "", whatever the address.
func endingOf(at *url.URL, kind string) string {
	ending := strings.ToLower(path.Ext(at.Path))
	switch kind {
	case "text/html", "application/xhtml+xml":
		return ".html"
	case "text/markdown", "text/x-markdown":
		return ".md"
	case "application/json", "application/yaml", "application/x-yaml", "text/yaml", "application/vnd.oai.openapi", "application/vnd.oai.openapi+json":
		if strings.Contains(kind, "json") {
			return ".json"
		}
		return ".yaml"
	case "text/plain", "application/octet-stream", "":
		if IsPage(ending) || formats.Wants("x"+ending) {
			return ending
		}
		if kind == "text/plain" {
			return ".txt"
		}
	}
	return ""
}

// put writes a page to the folder of the source.
func put(root, name string, body []byte) error {
	to := filepath.Join(root, filepath.FromSlash(name))
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("write page: %q is outside the folder", name)
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	if err := os.WriteFile(to, body, 0o600); err != nil {
		return fmt.Errorf("write page: %w", err)
	}
	return nil
}

// onWeb creates a source for docs whose pages are downloaded one by one.
func onWeb(start *url.URL, address string, o Options) (*Source, error) {
	s := &Source{Name: strings.TrimPrefix(start.Hostname(), "www."), Address: address, whole: true}
	if err := s.copied(); err != nil {
		return nil, err
	}
	if err := os.Mkdir(s.Root, 0o700); err != nil {
		s.Close()
		return nil, fmt.Errorf("create a folder for %s: %w", s.Address, err)
	}
	return s, nil
}
