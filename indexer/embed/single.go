package embed

import (
	"cmp"
	"context"
	"net"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"

	"github.com/philippgille/chromem-go"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Providers that use chromem-go, which sends one text per request. If a response
// is an error, chromem-go returns only its status, so the reason and Retry-After
// are unknown.

// oneByOne returns the limits for these providers.
func oneByOne(requests int) limits { return limits{texts: 1, bytes: textBytes, requests: requests} }

// openOllama opens ollama:MODEL at OLLAMA_HOST. It interprets OLLAMA_HOST in the same
// way as ollama.
func openOllama(spec string, o Options) (Embedder, error) {
	model := strings.TrimPrefix(spec, "ollama:")
	if model == "" {
		return nil, noModel(spec, "ollama:nomic-embed-text")
	}
	base := ollamaAt(os.Getenv("OLLAMA_HOST"))
	return newRemote(spec, model, "", oneByOne(local.requests), o, single(chromem.NewEmbeddingFuncOllama(model, base), "")), nil
}

// OllamaAPI returns the address of ollama's API without a trailing slash. The
// address depends on OLLAMA_HOST.
func OllamaAPI() string {
	return cmp.Or(ollamaAt(os.Getenv("OLLAMA_HOST")), "http://localhost:11434/api")
}

// ollamaAt returns the address of ollama's API on host. host may lack the scheme and
// port, and may be the address that a server listens on. If host is empty or invalid,
// ollamaAt returns "".
func ollamaAt(host string) string {
	host = strings.TrimSpace(host)
	if host == "" {
		return "" // chromem-go uses its default address
	}
	if !strings.Contains(host, "://") {
		host = "http://" + host
	}
	u, err := url.Parse(host)
	if err != nil || u.Host == "" {
		return ""
	}
	name, port := u.Hostname(), u.Port()
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
	}
	if port == "" {
		port = map[string]string{"http": "11434", "https": "443"}[u.Scheme]
	}
	return u.Scheme + "://" + net.JoinHostPort(name, port) + strings.TrimRight(u.Path, "/") + "/api"
}

// openCohere opens cohere:MODEL. The request tells the model whether its text is
// a document or a question. chromem-go expects this information as prefixes.
func openCohere(spec string, o Options) (Embedder, error) {
	const key = "COHERE_API_KEY"
	model := strings.TrimPrefix(spec, "cohere:")
	if model == "" {
		return nil, noModel(spec, "cohere:embed-english-v3.0")
	}
	secret, err := secretOf(spec, key)
	if err != nil {
		return nil, err
	}
	m := newRemote(spec, model, key, oneByOne(hosted.requests), o, single(chromem.NewEmbeddingFuncCohere(secret, chromem.EmbeddingModelCohere(model)), secret))
	m.habit.document, m.habit.query = chromem.InputTypeCohereSearchDocumentPrefix, chromem.InputTypeCohereSearchQueryPrefix
	if strings.HasSuffix(model, "v3.0") || strings.HasSuffix(model, "v2.0") {
		m.habit.bytes = shortBytes
	}
	return m, nil
}

// openVertex opens vertex:MODEL in the project GOOGLE_CLOUD_PROJECT. The key is an
// access token that is valid for an hour.
func openVertex(spec string, o Options) (Embedder, error) {
	const key = "GOOGLE_ACCESS_TOKEN"
	model := strings.TrimPrefix(spec, "vertex:")
	if model == "" {
		return nil, noModel(spec, "vertex:text-embedding-004")
	}
	secret, err := secretOf(spec, key)
	if err != nil {
		return nil, err
	}
	project := strings.TrimSpace(os.Getenv("GOOGLE_CLOUD_PROJECT"))
	if project == "" {
		return nil, fault.New("no_key", spec+" needs your project's ID", "set it in the environment variable GOOGLE_CLOUD_PROJECT")
	}
	ask := single(chromem.NewEmbeddingFuncVertex(secret, project, chromem.EmbeddingModelVertex(model), chromem.WithVertexAutoTruncate(true)), secret)
	return newRemote(spec, model, key, oneByOne(hosted.requests), o, ask), nil
}

func noModel(spec, example string) error {
	return fault.New("bad_embedder", "the embedder "+spec+" has no model name", "write it, for example, as "+example)
}

// httpStatus matches the status in a chromem-go error.
var httpStatus = regexp.MustCompile(`embedding API: ([0-9]{3})\b`)

// single returns a request that calls f for each text.
func single(f chromem.EmbeddingFunc, secret string) request {
	return func(ctx context.Context, texts []string) (reply, error) {
		var r reply
		for _, text := range texts {
			v, err := f(ctx, text)
			if err != nil {
				return reply{}, worded(ctx, err, secret)
			}
			r.vectors = append(r.vectors, v)
		}
		return r, nil
	}
}

// worded converts a chromem-go error to a failure.
func worded(ctx context.Context, err error, secret string) error {
	if found := httpStatus.FindStringSubmatch(err.Error()); found != nil {
		status, _ := strconv.Atoi(found[1]) // cannot fail on three digits
		f := failed(status, "")
		f.long = f.long || status == 400 || status == 422 // the text may be too long; if it is not, halving soon ends with an error
		return f
	}
	f := unreached(ctx, err).(*failure)
	if secret != "" {
		f.reason = strings.ReplaceAll(f.reason, secret, "***")
	}
	// A response without a vector is otherwise valid, so a retry will not return
	// a vector either.
	f.again = !strings.Contains(f.reason, "no embeddings found")
	return f
}
