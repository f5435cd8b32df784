package embed

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// double is a service with OpenAI's API, as far as we ask it.
type double struct {
	*httptest.Server
	// script answers the first requests; what comes after it gets vectors.
	script []http.HandlerFunc

	mu       sync.Mutex
	requests int
	texts    []string // of the requests that got vectors
	auth     []string
	bodies   []map[string]any
	most     int // requests at once
	running  int
}

func newDouble(t testing.TB, script ...http.HandlerFunc) *double {
	t.Helper()
	d := &double{script: script}
	d.Server = httptest.NewServer(d)
	t.Cleanup(d.Close)
	return d
}

func (d *double) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	n := d.requests
	d.requests++
	d.running++
	d.most = max(d.most, d.running)
	d.auth = append(d.auth, r.Header.Get("Authorization")+r.Header.Get("api-key"))
	d.mu.Unlock()
	defer func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.running--
	}()
	if r.Method != http.MethodPost || !strings.HasSuffix(r.URL.Path, "/embeddings") {
		http.Error(w, "no such thing", http.StatusNotFound)
		return
	}
	if n < len(d.script) && d.script[n] != nil {
		d.script[n](w, r)
		return
	}
	d.vectors(w, r)
}

// vectors answers well.
func (d *double) vectors(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var texts []string
	switch input := body["input"].(type) {
	case string:
		texts = []string{input}
	case []any:
		for _, text := range input {
			texts = append(texts, text.(string))
		}
	}
	type item struct {
		Index     int       `json:"index"`
		Embedding []float32 `json:"embedding"`
	}
	n := 4
	if asked, ok := body["dimensions"].(float64); ok {
		n = int(asked)
	}
	var items []item
	for i, text := range texts {
		items = append([]item{{i, doubleVector(text, n)}}, items...) // in any order
	}
	d.mu.Lock()
	d.texts, d.bodies = append(d.texts, texts...), append(d.bodies, body)
	d.mu.Unlock()
	json.NewEncoder(w).Encode(map[string]any{"data": items, "usage": map[string]int{"total_tokens": 10 * len(texts)}})
}

// doubleVector is what the double answers for a text; not of length 1.
func doubleVector(text string, n int) []float32 {
	v := make([]float32, n)
	for i := range v {
		h := fnv.New32a()
		fmt.Fprint(h, text, i)
		v[i] = float32(h.Sum32()%1000) + 1
	}
	return v
}

// says answers with a status and a body.
func says(status int, body string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(header); i += 2 {
			w.Header().Set(header[i], header[i+1])
		}
		w.WriteHeader(status)
		w.Write([]byte(body))
	}
}

// repeated is a script of n times the same.
func repeated(n int, h http.HandlerFunc) (script []http.HandlerFunc) {
	for range n {
		script = append(script, h)
	}
	return script
}

// remote is the embedder of a model at the double, which does not pause long.
func (d *double) remote(t testing.TB, cache string) *Remote {
	t.Helper()
	e, err := OpenWith(d.URL+"/v1#model", Options{Cache: cache})
	if err != nil {
		t.Fatal(err)
	}
	m := e.(*Remote)
	m.pause = time.Millisecond
	return m
}

// numbered are so many documents.
func numbered(n int) []Document {
	docs := make([]Document, n)
	for i := range docs {
		docs[i] = Document{Title: "Page", Breadcrumb: "Page > Part", Heading: "Part", Body: fmt.Sprintf("Words of number %d.", i)}
	}
	return docs
}

// wantFault checks code and parts of the message of an error, and that it has
// a hint.
func wantFault(t *testing.T, call string, err error, code string, parts ...string) {
	t.Helper()
	f := fault.Of(err)
	if f == nil || f.Code != code || f.Hint == "" {
		t.Fatalf("%s = %v (%+v), want fault %s with a hint", call, err, f, code)
	}
	for _, part := range parts {
		if !strings.Contains(f.Message+" "+f.Hint, part) {
			t.Errorf("%s: %q, hint %q; want %q in it", call, f.Message, f.Hint, part)
		}
	}
}
