package embed

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/philippgille/chromem-go"
)

func TestRemoteGivesTheVectorsThatChromemGives(t *testing.T) {
	d := newDouble(t)
	m := d.remote(t, "")
	docs := numbered(100)
	vectors, err := m.Documents(t.Context(), docs)
	if err != nil {
		t.Fatal(err)
	}
	if d.requests != 4 {
		t.Errorf("%d requests for 100 texts, want 4", d.requests)
	}
	reference := chromem.NewEmbeddingFuncOpenAICompat(d.URL+"/v1", "", "model", nil)
	for i, doc := range docs {
		want, err := reference(t.Context(), m.habit.text(doc))
		if err != nil {
			t.Fatal(err)
		}
		for j := range want {
			if math.Abs(float64(want[j]-vectors[i][j])) > 1e-6 {
				t.Fatalf("vector of %+v = %v, chromem has %v", doc, vectors[i], want)
			}
		}
	}
	if u := m.Usage(); u.Made != 100 || u.Requests != 4 || u.Tokens != 1000 || u.Estimated || u.CostUSD != nil {
		t.Errorf("Usage() = %+v, want 100 made in 4 requests, 1000 tokens, no price", u)
	}
}

func TestRemoteTriesAgain(t *testing.T) {
	for name, c := range map[string]struct {
		script   []http.HandlerFunc
		requests int
	}{
		"after 429":               {repeated(2, says(429, `{"error":{"message":"slow down"}}`)), 3},
		"after 500":               {repeated(3, says(500, "oh")), 4},
		"after 503":               {repeated(6, says(503, "")), 7},
		"after a cut answer":      {repeated(1, says(200, `{"data":[{"index":0,"embedding":[1,`)), 2},
		"after a cut connection":  {repeated(1, hangUp), 2},
		"after a short body":      {repeated(1, says(200, `{}`, "Content-Length", "1000")), 2},
		"less, after too many":    {repeated(1, says(422, `{"detail":"batch size 3 > maximum allowed batch size 2"}`)), 3},
		"less, after 413":         {repeated(1, says(413, "")), 3},
		"less, after a long text": {append(repeated(1, says(400, `{"error":{"message":"maximum context length is 512"}}`)), says(500, `{"error":"input is too large to process"}`)), 4},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDouble(t, c.script...)
			vectors, err := d.remote(t, "").Documents(t.Context(), numbered(3))
			if err != nil || len(vectors) != 3 || d.requests != c.requests {
				t.Errorf("Documents = %d vectors, %v after %d requests; want 3 after %d", len(vectors), err, d.requests, c.requests)
			}
		})
	}
}

func hangUp(w http.ResponseWriter, _ *http.Request) {
	conn, _, _ := w.(http.Hijacker).Hijack()
	conn.Close()
}

func TestRemoteSaysWhatIsWrong(t *testing.T) {
	three := `{"data":[{"embedding":[1,2]},{"embedding":[1,2]},{"embedding":[1,2]}]}`
	for name, c := range map[string]struct {
		answer   http.HandlerFunc
		requests int
		code     string
		says     []string
	}{
		"always 500":          {says(500, `{"error":"boom"}`), tries, "embedder_down", []string{"in 7 tries", "500 Internal Server Error: boom", "/v1#model"}},
		"always 429":          {says(429, ``), tries, "embedder_down", []string{"429 Too Many Requests"}},
		"429 for an hour":     {says(429, ``, "Retry-After", "3600"), 1, "embedder_down", []string{"429", "again in 1h0m0s"}},
		"an empty account":    {says(429, `{"error":{"message":"no credit","code":"insufficient_quota"}}`), 1, "embedder_refused", []string{"429 Too Many Requests: no credit"}},
		"a wrong key":         {says(401, `{"error":{"message":"bad key sk-1"}}`), 1, "embedder_refused", []string{"401 Unauthorized", urlKey}},
		"a model not there":   {says(404, `{"error":{"message":"no model"}}`), 1, "embedder_refused", []string{"404 Not Found: no model"}},
		"refused":             {says(400, `{"message":"no such\u001b[31m field"}`), 1, "embedder_refused", []string{"400 Bad Request: no such [31m field"}},
		"redirects":           {says(307, ``, "Location", "https://elsewhere.example/v1"), 1, "embedder_refused", []string{"307", "elsewhere.example"}},
		"too few":             {says(200, `{"data":[{"embedding":[1,2]}]}`), 1, "embedder_refused", []string{"1 vectors for 3 texts"}},
		"too many":            {says(200, strings.Replace(three, "[{", `[{"embedding":[1,2]},{`, 1)), 1, "embedder_refused", []string{"4 vectors for 3 texts"}},
		"empty ones":          {says(200, strings.ReplaceAll(three, "[1,2]", "[]")), 1, "embedder_refused", []string{"empty vector"}},
		"null ones":           {says(200, strings.ReplaceAll(three, "[1,2]", "null")), 1, "embedder_refused", []string{"empty vector"}},
		"one twice":           {says(200, strings.ReplaceAll(three, `{"e`, `{"index":1,"e`)), 1, "embedder_refused", []string{"a vector with the number 1"}},
		"of different length": {says(200, strings.Replace(three, "[1,2]", "[1,2,3]", 1)), 1, "bad_vectors", []string{"2 numbers; want 3"}},
		"NaN":                 {says(200, strings.Replace(three, "[1,2]", "[1,NaN]", 1)), tries, "embedder_down", []string{"cannot read its answer"}},
		"beyond 32 bits":      {says(200, strings.Replace(three, "[1,2]", "[1,1e99]", 1)), 1, "embedder_refused", []string{"cannot read its answer"}},
		"words":               {says(200, strings.Replace(three, "[1,2]", `["a"]`, 1)), 1, "embedder_refused", []string{"cannot read its answer"}},
		"a web page":          {says(200, `<html>`), tries, "embedder_down", []string{"cannot read its answer"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(urlKey, "sk-1")
			d := newDouble(t, repeated(20, c.answer)...)
			m := d.remote(t, t.TempDir())
			_, err := m.Documents(t.Context(), numbered(3))
			wantFault(t, "Documents", err, c.code, c.says...)
			if d.requests != c.requests {
				t.Errorf("%d requests, want %d", d.requests, c.requests)
			}
			if strings.Contains(err.Error(), "sk-1") {
				t.Errorf("the error has the key: %v", err)
			}
			if vectors, err := d.remote(t, "").Query(t.Context(), "q"); err == nil && len(vectors) != 2 {
				t.Errorf("Query = %v, %v; want an error", vectors, err)
			}
		})
	}
}

// canned is a network that answers as told, without one.
type canned func(n int, r *http.Request) (*http.Response, error)

type cannedTransport struct {
	answer canned
	n      atomic.Int32
}

func (c *cannedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	return c.answer(int(c.n.Add(1)), r)
}

func answers(status int, body string, header http.Header) *http.Response {
	return &http.Response{StatusCode: status, Header: header, Body: io.NopCloser(strings.NewReader(body))}
}

// without is a Remote over canned answers.
func without(answer canned) *Remote {
	e := &endpoint{client: &http.Client{Transport: &cannedTransport{answer: answer}}, url: "http://double/v1/embeddings", model: "model"}
	return newRemote("http://double/v1#model", "model", "", local, Options{}, e.request)
}

const oneVector = `{"data":[{"embedding":[3,4]}]}`

func TestRemoteWaitsAsLongAsItIsTold(t *testing.T) {
	for name, c := range map[string]struct {
		after    string
		from, to time.Duration
	}{
		"seconds":  {"17", 17 * time.Second, 18 * time.Second},
		"a date":   {"", 60 * time.Second, 62 * time.Second},
		"nonsense": {"soon", firstPause / 2, firstPause},
		"the past": {"Fri, 01 Jan 1999 00:00:00 GMT", 0, firstPause},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				if c.after == "" {
					c.after = time.Now().Add(61 * time.Second).UTC().Format(http.TimeFormat)
				}
				m := without(func(n int, _ *http.Request) (*http.Response, error) {
					if n == 1 {
						return answers(429, "", http.Header{"Retry-After": {c.after}}), nil
					}
					return answers(200, oneVector, nil), nil
				})
				start := time.Now()
				if _, err := m.Documents(t.Context(), numbered(1)); err != nil {
					t.Fatal(err)
				}
				if took := time.Since(start); took < c.from || took > c.to {
					t.Errorf("Retry-After %q: tried again after %v, want %v to %v", c.after, took, c.from, c.to)
				}
			})
		})
	}
}

func TestRemoteGivesUpOnSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := without(func(_ int, r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})
		start := time.Now()
		_, err := m.Documents(t.Context(), numbered(1))
		wantFault(t, "Documents", err, "embedder_down", "no answer within 2m0s")
		if took := time.Since(start); took > tries*answerWithin+time.Minute {
			t.Errorf("it took %v, want at most %d times %v and the pauses", took, tries, answerWithin)
		}
	})
}

func TestRemoteEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := without(func(int, *http.Request) (*http.Response, error) { return answers(503, "", nil), nil })
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		start := time.Now()
		_, err := m.Documents(ctx, numbered(200))
		if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took != time.Second {
			t.Errorf("Documents = %v after %v, want ctx's error after 1s", err, took)
		}
	})
}

func TestQueryIsAskedOnce(t *testing.T) {
	d := newDouble(t, says(500, ""))
	m := d.remote(t, "")
	_, err := m.Query(t.Context(), "q")
	wantFault(t, "Query", err, "embedder_down", "500")
	if d.requests != 1 {
		t.Errorf("%d requests, want 1", d.requests)
	}
	v, err := m.Query(t.Context(), "q")
	if err != nil || len(v) != 4 {
		t.Fatalf("Query = %v, %v; want 4 numbers", v, err)
	}
	square := 0.0
	for _, x := range v {
		square += float64(x) * float64(x)
	}
	if math.Abs(square-1) > 1e-6 {
		t.Errorf("Query = %v, of length %v; want 1", v, math.Sqrt(square))
	}
}

func TestQuestionDoesNotSayWhatOthersMustBe(t *testing.T) {
	d := newDouble(t, says(200, `{"data":[{"embedding":[1,2]}]}`))
	m := d.remote(t, "")
	if v, err := m.Query(t.Context(), "q"); err != nil || len(v) != 2 {
		t.Fatalf("Query = %v, %v; want the 2 numbers that came", v, err)
	}
	if v, err := m.Query(t.Context(), "q"); err != nil || len(v) != 4 {
		t.Errorf("Query after one with 2 numbers = %v, %v; want 4 numbers", v, err)
	}
}

func TestRemoteIsAskedForFewAtOnce(t *testing.T) {
	d := newDouble(t)
	m := d.remote(t, "")
	done := make(chan error)
	for i := range 4 {
		go func() {
			_, err := m.Documents(t.Context(), numbered(64+64*i))
			done <- err
		}()
	}
	for range 4 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if d.most > local.requests {
		t.Errorf("%d requests at once, want at most %d", d.most, local.requests)
	}
}

func TestRemoteLetsRequestsEndThatArePaidFor(t *testing.T) {
	failed := make(chan struct{})
	d := newDouble(t)
	d.script = []http.HandlerFunc{
		func(w http.ResponseWriter, r *http.Request) {
			<-failed
			time.Sleep(20 * time.Millisecond) // so that the other failure is known
			d.vectors(w, r)
		},
		func(w http.ResponseWriter, r *http.Request) {
			says(400, `{"message":"no"}`)(w, r)
			close(failed)
		},
	}
	cache := t.TempDir()
	if _, err := d.remote(t, cache).Documents(t.Context(), numbered(64)); err == nil {
		t.Fatal("Documents succeeded, want the failure of one request")
	}
	m := d.remote(t, cache)
	if _, err := m.Documents(t.Context(), numbered(64)); err != nil || m.Usage().Cached != 32 || m.Usage().Requests != 1 {
		t.Errorf("the second time %v, %+v; want 32 from the cache and one request", err, m.Usage())
	}
}

func TestDocumentsThatSayNothingAreNearNothing(t *testing.T) {
	d := newDouble(t)
	vectors, err := d.remote(t, "").Documents(t.Context(), []Document{{}, {Body: " \n"}})
	if err != nil || len(vectors) != 2 || !slices.Equal(vectors[0], make([]float32, 4)) || !slices.Equal(vectors[1], make([]float32, 4)) {
		t.Errorf("Documents = %v, %v; want two vectors of 4 zeros", vectors, err)
	}
	if vectors, err := d.remote(t, "").Documents(t.Context(), nil); err != nil || len(vectors) != 0 {
		t.Errorf("Documents(nothing) = %v, %v; want nothing", vectors, err)
	}
}

func TestLongTextsAreCut(t *testing.T) {
	d := newDouble(t)
	doc := Document{Title: "T", Breadcrumb: "T", Heading: "T", Body: strings.Repeat("é", 40_000)}
	if _, err := d.remote(t, "").Documents(t.Context(), []Document{doc}); err != nil {
		t.Fatal(err)
	}
	if n := len(d.texts[0]); n > textBytes || n < textBytes-4 || strings.Contains(d.texts[0], "\ufffd") {
		t.Errorf("the text has %d bytes, want %d of whole characters", n, textBytes)
	}
}

// ollama and the others of chromem-go are asked through the default client.
func TestProvidersOfChromem(t *testing.T) {
	var mu sync.Mutex // chunks are asked for concurrently
	var path string
	status := 200
	answerWith := func(code int) {
		mu.Lock()
		defer mu.Unlock()
		status = code
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		path = r.URL.Path + " " + string(body)
		w.WriteHeader(status)
		io.WriteString(w, `{"embedding":[3,4],"embeddings":[[3,4]]}`)
	}))
	defer server.Close()
	t.Setenv("OLLAMA_HOST", strings.TrimPrefix(server.URL, "http://"))
	e, err := Open("ollama:nomic-embed-text:v1.5")
	if err != nil {
		t.Fatal(err)
	}
	m := e.(*Remote)
	m.pause = time.Millisecond
	vectors, err := m.Documents(t.Context(), numbered(1))
	if err != nil || !slices.Equal(vectors[0], []float32{0.6, 0.8}) {
		t.Errorf("Documents = %v, %v; want 0.6, 0.8", vectors, err)
	}
	mu.Lock()
	asked := path
	mu.Unlock()
	if !strings.HasPrefix(asked, "/api/embeddings ") || !strings.Contains(asked, `"prompt":"search_document: Page`) || !strings.Contains(asked, `"nomic-embed-text:v1.5"`) {
		t.Errorf("ollama was asked %s", asked)
	}
	if u := m.Usage(); u.Requests != 1 || u.Tokens == 0 || !u.Estimated {
		t.Errorf("Usage() = %+v, want estimated tokens", u)
	}
	answerWith(404)
	_, err = m.Documents(t.Context(), numbered(2))
	wantFault(t, "Documents", err, "embedder_refused", "404 Not Found", "ollama:nomic-embed-text:v1.5")
	answerWith(500)
	_, err = m.Documents(t.Context(), numbered(1))
	wantFault(t, "Documents", err, "embedder_down", "500")
}

func TestOllamaHostIsReadAsOllamaReadsIt(t *testing.T) {
	for host, want := range map[string]string{
		"":                        "",
		"0.0.0.0":                 "http://127.0.0.1:11434/api",
		"box:9":                   "http://box:9/api",
		":9":                      "http://127.0.0.1:9/api",
		"https://box.example/up/": "https://box.example:443/up/api",
		"[::]:9":                  "http://127.0.0.1:9/api",
		"%":                       "",
	} {
		if got := ollamaAt(host); got != want {
			t.Errorf("ollamaAt(%q) = %q, want %q", host, got, want)
		}
	}
}

func TestSpecificationsOfRemoteModels(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-1")
	t.Setenv("AZURE_OPENAI_API_KEY", "az-1")
	t.Setenv("AZURE_OPENAI_ENDPOINT", "https://acme.openai.azure.com/")
	t.Setenv("COHERE_API_KEY", "co-1")
	t.Setenv("GOOGLE_ACCESS_TOKEN", "go-1")
	t.Setenv("GOOGLE_CLOUD_PROJECT", "acme")
	for _, key := range []string{"MISTRAL_API_KEY", "JINA_API_KEY", "MIXEDBREAD_API_KEY"} {
		t.Setenv(key, "")
	}
	for spec, code := range map[string]string{
		"openai:text-embedding-3-small":      "",
		"openai:text-embedding-3-small@512":  "",
		"openai:text-embedding-3-small@0":    "bad_embedder",
		"openai:text-embedding-3-small@9999": "bad_embedder",
		"openai:":                            "bad_embedder",
		"azure:mine":                         "",
		"cohere:embed-english-v3.0":          "",
		"vertex:text-embedding-004":          "",
		"localai:bert":                       "",
		"ollama:":                            "bad_embedder",
		"mistral:mistral-embed":              "no_key",
		"jina:jina-embeddings-v3":            "no_key",
		"mixedbread:mxbai-embed-large-v1":    "no_key",
		"http://box:80/v1#BAAI/bge-m3":       "",
		"https://box/v1":                     "bad_embedder",
		"https://me:secret@box/v1#m":         "bad_embedder",
		"https://box/v1?key=secret#m":        "bad_embedder",
		"https://#m":                         "bad_embedder",
		"https://a b/#m":                     "bad_embedder",
	} {
		e, err := Open(spec)
		if code == "" {
			if err != nil || e.Name() != spec {
				t.Errorf("Open(%q) = %v, %v; want it", spec, e, err)
			} else if back, err := Reopen(e.Name(), Weights(e)); err != nil || back.Name() != spec {
				t.Errorf("Reopen(%q) = %v, %v", spec, back, err)
			}
			continue
		}
		wantFault(t, "Open("+spec+")", err, code)
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("Open(%q) = %v, which has the secret", spec, err)
		}
	}
	if e, _ := Open("openai:text-embedding-3-small@512"); e.(*Remote).asked != 512 {
		t.Errorf("asked for %d dimensions, want 512", e.(*Remote).asked)
	}
}

func TestKeyAndDimensionsAreSent(t *testing.T) {
	t.Setenv(urlKey, "sk-1")
	d := newDouble(t)
	e, err := Open(d.URL + "/v1/#model@3")
	if err != nil {
		t.Fatal(err)
	}
	vectors, err := e.Documents(t.Context(), numbered(1))
	if err != nil || len(vectors[0]) != 3 || d.bodies[0]["model"] != "model" || d.auth[0] != "Bearer sk-1" {
		t.Errorf("Documents = %v, %v, asked with %v and %q; want 3 numbers of model, with the key", vectors, err, d.bodies, d.auth)
	}
	if e.Name() != d.URL+"/v1#model@3" || strings.Contains(Fingerprint(e), "sk-1") {
		t.Errorf("Name() = %q, fingerprint %q", e.Name(), Fingerprint(e))
	}
}

func TestServiceIsPriced(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-1")
	e, err := Open("openai:text-embedding-3-small@512")
	if err != nil {
		t.Fatal(err)
	}
	m := e.(*Remote)
	m.usage.Tokens = 2_000_000
	if u := m.Usage(); u.CostUSD == nil || *u.CostUSD != 0.04 {
		t.Errorf("Usage() = %+v, want 0.04 dollars", u)
	}
	before := m.Usage()
	m.usage.Tokens += 1_000_000
	if u := m.Usage().Since(before); u.Tokens != 1_000_000 || math.Abs(*u.CostUSD-0.02) > 1e-9 {
		t.Errorf("Since = %+v, want a million tokens for 0.02", u)
	}
}

func TestElsewhere(t *testing.T) {
	for name, want := range map[string]bool{
		"openai:m": false, "ollama:m": false, "static:0": false,
		"http://localhost:8080/v1#m": false, "http://127.0.0.1/v1#m": false, "http://[::1]:1/v1#m": false,
		"http://box/v1#m": true, "https://127.0.0.1.example.com/v1#m": true, "http://10.0.0.1/#m": true, "http://%/#m": true,
	} {
		if got := Elsewhere(name, "builtin"); got != want {
			t.Errorf("Elsewhere(%q) = %v, want %v", name, got, want)
		}
		if Elsewhere(name, strings.Replace(name, "#", "/#", 1)) {
			t.Errorf("Elsewhere(%q) though it was chosen", name)
		}
	}
}

func FuzzDecodeReply(f *testing.F) {
	f.Add([]byte(oneVector), 1)
	f.Add([]byte(`{"data":[{"index":1,"embedding":[1]},{"index":0,"embedding":[2]}],"usage":{"total_tokens":4}}`), 2)
	f.Add([]byte(`{"data":[{"index":-1,"embedding":null}]}`), 1)
	f.Fuzz(func(t *testing.T, answer []byte, n int) {
		n &= 15
		r, err := decodeReply(answer, n)
		if err == nil && len(r.vectors) != n {
			t.Errorf("decodeReply(%q, %d) = %d vectors", answer, n, len(r.vectors))
		}
		for i, v := range r.vectors {
			if len(v) == 0 {
				t.Errorf("decodeReply(%q, %d): vector %d is empty", answer, n, i)
			}
		}
		complaint(answer)
		retryAfter(string(answer), time.Now())
	})
}
