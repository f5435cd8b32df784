package embed

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Services and servers that accept the requests in batch.go. Keys come only from
// the environment, so that no key is in deskhand's files or on a command line.

// hosted holds the limits for a large service. They are well below OpenAI's limits of
// 2,048 texts and 300,000 tokens, and slow enough for a new account.
var hosted = limits{texts: 96, bytes: 256 << 10, requests: 8}

// mistral holds the limits for Mistral, which accepts 16,384 tokens per request.
var mistral = limits{texts: 96, bytes: 40 << 10, requests: 8}

// local holds the limits for a local server. Some servers accept at most 32 texts by
// default, and more than 4 concurrent requests would only wait for each other.
var local = limits{texts: 32, bytes: 128 << 10, requests: 4}

// urlKey is the environment variable with the key for an address that the user chose.
// The variable may be unset.
const urlKey = "DESKHAND_EMBED_KEY"

// service returns a function that opens PROVIDER:MODEL or PROVIDER:MODEL@DIMENSIONS at
// the address base. key is the environment variable with the key, or empty if no key
// is needed.
func service(base, key string, l limits) func(string, Options) (Embedder, error) {
	return func(spec string, o Options) (Embedder, error) {
		_, model, _ := strings.Cut(spec, ":")
		secret, err := secretOf(spec, key)
		if err != nil {
			return nil, err
		}
		return openEndpoint(spec, model, key, l, o, &endpoint{url: base + "/embeddings", header: "Authorization", prefix: "Bearer ", secret: secret})
	}
}

// openEndpoint returns the embedder for a model at e.
func openEndpoint(spec, model, key string, l limits, o Options, e *endpoint) (Embedder, error) {
	model, dimensions, err := asked(spec, model)
	if err != nil {
		return nil, err
	}
	e.client, e.model, e.dimensions = newClient(l.requests), model, dimensions
	m := newRemote(spec, model, key, l, o, e.request)
	m.asked = dimensions
	return m, nil
}

var withDimensions = regexp.MustCompile(`^(.+)@([0-9]+)$`)

// asked splits MODEL@DIMENSIONS. If there are no dimensions, it returns 0.
func asked(spec, model string) (string, int, error) {
	dimensions := 0
	if parts := withDimensions.FindStringSubmatch(model); parts != nil {
		n, err := strconv.Atoi(parts[2])
		if err != nil || n < 1 || n > longestVector {
			return "", 0, fault.New("bad_embedder", fmt.Sprintf("%s requests vectors with %s dimensions", spec, parts[2]), fmt.Sprintf("request 1 to %d", longestVector))
		}
		model, dimensions = parts[1], n
	}
	if strings.TrimSpace(model) == "" {
		return "", 0, fault.New("bad_embedder", "the embedder "+spec+" has no model name", "write it as PROVIDER:MODEL, for example openai:text-embedding-3-small")
	}
	return model, dimensions, nil
}

// secretOf returns the value of the environment variable named key.
func secretOf(spec, key string) (string, error) {
	if key == "" {
		return "", nil
	}
	secret := strings.TrimSpace(os.Getenv(key))
	if secret == "" {
		return "", fault.New("no_key", spec+" needs a key", "set it in the environment variable "+key)
	}
	return secret, nil
}

func isURL(spec string) bool {
	return strings.HasPrefix(spec, "http://") || strings.HasPrefix(spec, "https://")
}

// openURL opens URL#MODEL. It sends requests to URL/embeddings.
func openURL(spec string, o Options) (Embedder, error) {
	base, model, _ := strings.Cut(spec, "#")
	u, err := url.Parse(base)
	switch {
	case err != nil || u.Host == "":
		return nil, fault.New("bad_embedder", "the embedder's address is not valid", "write it as http://localhost:8080/v1#MODEL")
	case u.User != nil || u.RawQuery != "":
		// The URL is stored in the index and appears in every message.
		return nil, fault.New("bad_embedder", "the address of the embedder at "+u.Host+" contains a password or a query", "put the key in the environment variable "+urlKey)
	case model == "":
		return nil, fault.New("bad_embedder", "the embedder "+spec+" has no model name", "append the model's name, as in "+base+"#nomic-embed-text")
	}
	base = strings.TrimRight(base, "/")
	secret := strings.TrimSpace(os.Getenv(urlKey))
	return openEndpoint(nameOf(spec), model, urlKey, local, o, &endpoint{url: base + "/embeddings", header: "Authorization", prefix: "Bearer ", secret: secret})
}

// nameOf returns URL#MODEL in the form used for the embedder's name.
func nameOf(spec string) string {
	base, model, _ := strings.Cut(spec, "#")
	return strings.TrimRight(base, "/") + "#" + model
}

// Elsewhere reports whether name is an embedder at an untrusted address: not that of
// a known service, not on this machine, and not in chosen, the user's specification.
// An index may be untrusted, so its name alone must not make deskhand send questions
// to such an address.
func Elsewhere(name, chosen string) bool {
	if !isURL(name) || nameOf(name) == nameOf(chosen) {
		return false
	}
	base, _, _ := strings.Cut(name, "#")
	u, err := url.Parse(base)
	if err != nil {
		return true
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() != "localhost" && (ip == nil || !ip.IsLoopback())
}

// azureVersion is the API version used if AZURE_OPENAI_API_VERSION is not set.
const azureVersion = "2024-02-01"

// openAzure opens a deployment on Azure. The address of the resource is in
// AZURE_OPENAI_ENDPOINT, for example https://NAME.openai.azure.com.
func openAzure(spec string, o Options) (Embedder, error) {
	const key = "AZURE_OPENAI_API_KEY"
	secret, err := secretOf(spec, key)
	if err != nil {
		return nil, err
	}
	resource := strings.TrimRight(strings.TrimSpace(os.Getenv("AZURE_OPENAI_ENDPOINT")), "/")
	if resource == "" {
		return nil, fault.New("no_key", spec+" needs the address of your resource", "set it in the environment variable AZURE_OPENAI_ENDPOINT, as https://NAME.openai.azure.com")
	}
	_, deployment, _ := strings.Cut(spec, ":")
	version := cmp.Or(os.Getenv("AZURE_OPENAI_API_VERSION"), azureVersion)
	name, _, err := asked(spec, deployment)
	if err != nil {
		return nil, err
	}
	at := resource + "/openai/deployments/" + url.PathEscape(name) + "/embeddings?api-version=" + url.QueryEscape(version)
	return openEndpoint(spec, deployment, key, hosted, o, &endpoint{url: at, header: "api-key", secret: secret})
}
