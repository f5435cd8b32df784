package web

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// checkTime is the time limit for Check. Its callers, for example a container's
// health check, ask again soon.
const checkTime = 5 * time.Second

// Check requests /healthz, or /readyz if ready is true, from the server at
// base, for example http://127.0.0.1:20310. It returns the first 4 KiB of the
// answer. It fails with code unhealthy if the server does not answer with
// status 200 within 5 seconds.
func Check(ctx context.Context, base string, ready bool) (string, error) {
	path := "/healthz"
	if ready {
		path = "/readyz"
	}
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	url := strings.TrimSuffix(base, "/") + path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil || req.URL.Host == "" {
		return "", fault.New("bad_address", fmt.Sprintf("%q is not the address of a server", base), "write it, for example, as http://127.0.0.1:20310")
	}
	// Proxies in the environment are ignored, because the check concerns this
	// server only.
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return "", fault.New("unhealthy", fmt.Sprintf("no answer from %s: %v", url, err), "start the server: deskhand serve --http")
	}
	defer res.Body.Close()
	body, err := io.ReadAll(io.LimitReader(res.Body, 4<<10))
	if err != nil {
		return "", fault.New("unhealthy", fmt.Sprintf("the answer from %s was cut off: %v", url, err), "see the server's log")
	}
	text := strings.TrimSpace(string(body))
	if res.StatusCode != http.StatusOK {
		return "", fault.New("unhealthy", fmt.Sprintf("%s answered %s: %s", url, res.Status, text), "see the server's log")
	}
	return text, nil
}
