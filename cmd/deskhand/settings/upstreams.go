package settings

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/runtime/gateway"
)

// UpstreamsKey is the key of the upstream list in the configuration file. No flag or
// variable can set it.
const UpstreamsKey = "upstreams"

// upstreamEntry is one upstream as written in the file.
type upstreamEntry struct {
	Name    string            `yaml:"name,omitempty"`
	Title   string            `yaml:"title,omitempty"`
	Command words             `yaml:"command,omitempty"`
	Dir     string            `yaml:"dir,omitempty"`
	Pass    words             `yaml:"pass,omitempty"`
	Env     map[string]string `yaml:"env,omitempty"`
	URL     string            `yaml:"url,omitempty"`
	Headers map[string]string `yaml:"headers,omitempty"`
	Inside  bool              `yaml:"inside,omitempty"`
	Prefix  string            `yaml:"prefix,omitempty"`
	Allow   words             `yaml:"allow,omitempty"`
	Deny    words             `yaml:"deny,omitempty"`
	// Resources defaults to true.
	Resources *bool         `yaml:"resources,omitempty"`
	Scope     string        `yaml:"credential_scope,omitempty"`
	Timeout   time.Duration `yaml:"timeout,omitempty"`
	MaxBytes  int           `yaml:"max_bytes,omitempty"`
	Auth      struct {
		Kind         string            `yaml:"kind,omitempty"`
		Header       string            `yaml:"header,omitempty"`
		Format       string            `yaml:"format,omitempty"`
		Env          string            `yaml:"env,omitempty"`
		Issuer       string            `yaml:"issuer,omitempty"`
		ClientID     string            `yaml:"client_id,omitempty"`
		ClientSecret string            `yaml:"client_secret,omitempty"`
		ClientURL    string            `yaml:"client_url,omitempty"`
		Scopes       words             `yaml:"scopes,omitempty"`
		OmitResource bool              `yaml:"omit_resource,omitempty"`
		Style        string            `yaml:"style,omitempty"`
		Params       map[string]string `yaml:"params,omitempty"`
	} `yaml:"auth,omitempty"`
}

// words is a list of strings. In YAML, it may also be written as a single string,
// which is then split at white space.
type words []string

func (w *words) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*w = strings.Fields(node.Value)
		return nil
	}
	var list []string
	if err := node.Decode(&list); err != nil {
		return err
	}
	*w = list
	return nil
}

// Upstreams returns the upstreams of the effective configuration file, in file order. If
// an entry is invalid, the error is a usage error that says where.
func (s *Settings) Upstreams() ([]gateway.Upstream, error) {
	entries, err := s.ups.upstreams()
	if err != nil {
		return nil, err
	}
	var all []gateway.Upstream
	for i, entry := range entries {
		if err := entry.expand(); err != nil {
			return nil, s.ups.wrongUpstream(i, err)
		}
		u, err := gateway.Check(entry.upstream(filepath.Dir(s.ups.path)))
		if err != nil {
			return nil, s.ups.wrong("", err.Error())
		}
		all = append(all, u)
	}
	return all, nil
}

// upstreams returns the upstream entries in a file as written.
func (c *configFile) upstreams() (all []upstreamEntry, err error) {
	node, err := c.upstreamsNode()
	if node == nil || err != nil {
		return nil, err
	}
	if node.Kind != yaml.SequenceNode {
		return nil, c.wrong(UpstreamsKey, "must be a list of entries with a name and a command or url")
	}
	for i, one := range node.Content {
		entry, err := readUpstream(one)
		if err != nil {
			return nil, c.wrongUpstream(i, err)
		}
		all = append(all, entry)
	}
	return all, nil
}

func (c *configFile) wrongUpstream(i int, err error) error {
	return c.wrong(fmt.Sprintf("%s, entry %d:", UpstreamsKey, i+1), err.Error())
}

// upstreamsNode returns the YAML node under the upstreams key, or nil if there is none.
func (c *configFile) upstreamsNode() (*yaml.Node, error) {
	var file map[string]yaml.Node
	if err := yaml.Unmarshal(c.data, &file); err != nil {
		return nil, unreadable(c.path, err)
	}
	for name, node := range file {
		if strings.EqualFold(name, UpstreamsKey) && node.Tag != "!!null" {
			return &node, nil
		}
	}
	return nil, nil
}

// yamlField matches the library's error for an unknown field.
var yamlField = regexp.MustCompile(`field (\S+) not found in type \S+`)

func readUpstream(node *yaml.Node) (entry upstreamEntry, err error) {
	data, err := yaml.Marshal(node)
	if err != nil {
		return entry, err
	}
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	if err = d.Decode(&entry); err == nil {
		return entry, nil
	}
	if m := yamlField.FindStringSubmatch(err.Error()); m != nil {
		return entry, fmt.Errorf("unknown key %q", m[1])
	}
	return entry, errors.New("a value has the wrong type for its key")
}

// named matches ${NAME} in a string.
var named = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\}`)

// expand replaces ${NAME} with environment variables, so that the file need not
// contain secrets.
func (e *upstreamEntry) expand() error {
	var missing error
	in := func(text *string) {
		*text = named.ReplaceAllStringFunc(*text, func(name string) string {
			value, ok := os.LookupEnv(name[2 : len(name)-1])
			if !ok && missing == nil {
				missing = fmt.Errorf("%s is not set in the environment", name)
			}
			return value
		})
	}
	for i := range e.Command {
		in(&e.Command[i])
	}
	for _, values := range []map[string]string{e.Env, e.Headers, e.Auth.Params} {
		for name, value := range values {
			in(&value)
			values[name] = value
		}
	}
	for _, text := range []*string{&e.URL, &e.Dir, &e.Auth.ClientID, &e.Auth.ClientSecret, &e.Auth.Issuer} {
		in(text)
	}
	return missing
}

func (e *upstreamEntry) upstream(base string) gateway.Upstream {
	if e.Dir != "" && !filepath.IsAbs(e.Dir) {
		e.Dir = filepath.Join(base, e.Dir)
	}
	a := &e.Auth
	return gateway.Upstream{
		Name: e.Name, Title: e.Title, Command: e.Command, Dir: e.Dir, Pass: e.Pass, Env: e.Env, URL: e.URL, Headers: e.Headers, Inside: e.Inside,
		Prefix: e.Prefix, Allow: e.Allow, Deny: e.Deny, NoResources: e.Resources != nil && !*e.Resources, Scope: gateway.Scope(e.Scope), Timeout: e.Timeout, MaxBytes: e.MaxBytes,
		Auth: gateway.Auth{
			Kind: gateway.AuthKind(a.Kind), Header: a.Header, Format: a.Format, Env: a.Env, Issuer: a.Issuer,
			ClientID: a.ClientID, ClientSecret: a.ClientSecret, ClientURL: a.ClientURL, Scopes: a.Scopes,
			OmitResource: a.OmitResource, Style: a.Style, Params: a.Params,
		},
	}
}
