package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/deploy/identity"
)

// decode reads a file of the repository, JSON or YAML.
func decode(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", file))
	if err != nil {
		t.Fatal(err)
	}
	var of map[string]any
	if strings.HasSuffix(file, ".json") {
		err = json.Unmarshal(text, &of)
	} else {
		err = yaml.Unmarshal(text, &of)
	}
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return of
}

// at follows keys and indexes into v; nil: there is nothing.
func at(v any, path ...any) any {
	for _, step := range path {
		switch key := step.(type) {
		case string:
			of, _ := v.(map[string]any)
			v = of[key]
		case int:
			of, _ := v.([]any)
			if key >= len(of) {
				return nil
			}
			v = of[key]
		}
	}
	return v
}

func texts(v any) (all []string) {
	list, _ := v.([]any)
	for _, one := range list {
		s, _ := one.(string)
		all = append(all, s)
	}
	return all
}

// What the schema of 2025-12-11 requires of an npm package.
func TestServerManifestIsWhatTheRegistryTakes(t *testing.T) {
	m := decode(t, "deploy/mcp/server.json")
	for _, c := range []struct {
		path []any
		want string // a regular expression
	}{
		{[]any{"$schema"}, `^https://static\.modelcontextprotocol\.io/schemas/2025-12-11/server\.schema\.json$`},
		{[]any{"name"}, `^` + regexp.QuoteMeta(identity.Ours.MCPServer) + `$`},
		{[]any{"name"}, `^[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+$`},
		{[]any{"description"}, `^.{1,100}$`},
		{[]any{"title"}, `^.{1,100}$`},
		{[]any{"version"}, `^0\.0\.0$`}, // the release fills it in
		{[]any{"repository", "source"}, `^github$`},
		{[]any{"packages", 0, "registryType"}, `^npm$`},
		{[]any{"packages", 0, "identifier"}, `^deskhand$`},
		{[]any{"packages", 0, "version"}, `^0\.0\.0$`},
		{[]any{"packages", 0, "transport", "type"}, `^stdio$`},
		{[]any{"packages", 0, "packageArguments", 0, "type"}, `^positional$`},
		{[]any{"packages", 0, "packageArguments", 0, "value"}, `^serve$`},
		{[]any{"packages", 0, "packageArguments", 1, "name"}, `^--watch$`},
		{[]any{"packages", 0, "packageArguments", 1, "variables", "docs", "format"}, `^(string|number|boolean|filepath)$`},
	} {
		got, _ := at(m, c.path...).(string)
		if !regexp.MustCompile(c.want).MatchString(got) {
			t.Errorf("%v = %q, want %s", c.path, got, c.want)
		}
	}
}

// What manifest version 0.3 requires of a bundle with a program.
func TestBundleManifestIsWhatDesktopTakes(t *testing.T) {
	m := decode(t, "deploy/mcp/manifest.json")
	if got := []any{at(m, "manifest_version"), at(m, "name"), at(m, "server", "type")}; !reflect.DeepEqual(got, []any{"0.3", "deskhand", "binary"}) {
		t.Errorf("manifest_version, name, server.type = %v", got)
	}
	for _, path := range [][]any{{"version"}, {"description"}, {"author", "name"}, {"server", "entry_point"}, {"server", "mcp_config", "command"}} {
		if s, _ := at(m, path...).(string); s == "" {
			t.Errorf("%v is missing", path)
		}
	}
	for _, arg := range texts(at(m, "server", "mcp_config", "args")) {
		if name := regexp.MustCompile(`^\$\{user_config\.(\w+)\}$`).FindStringSubmatch(arg); name != nil {
			if required, _ := at(m, "user_config", name[1], "required").(bool); !required {
				t.Errorf("args has %s, which user_config does not ask for", arg)
			}
		}
	}
}

func TestPluginStartsTheServer(t *testing.T) {
	m := decode(t, "deploy/claude-plugin/.claude-plugin/plugin.json")
	for _, key := range []string{"name", "description", "version"} {
		if s, _ := m[key].(string); s == "" {
			t.Errorf("plugin.json has no %s", key)
		}
	}
	server := decode(t, "deploy/claude-plugin/.mcp.json")
	if got := append([]string{at(server, "mcpServers", "deskhand", "command").(string)}, texts(at(server, "mcpServers", "deskhand", "args"))...); !slices.Equal(got, []string{"deskhand", "serve", "--watch", "docs"}) {
		t.Errorf(".mcp.json starts %q", got)
	}
	skill, err := os.ReadFile("../claude-plugin/skills/deskhand/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, tool := range []string{"search_docs", "get_doc", "ask_user", "await_answer", "start_task_attempt"} {
		if !strings.Contains(string(skill), "`"+tool+"`") {
			t.Errorf("the skill does not tell of %s", tool)
		}
	}
}

// A name is set in deploy/identity/identity.json. The files that repeat it are all here.
func TestEveryFileHasTheNamesOfTheIdentity(t *testing.T) {
	us := identity.Ours
	for _, c := range []struct {
		file string
		path []any
		want string
	}{
		{"deploy/release/nfpm.yaml", []any{"maintainer"}, us.Contact()},
		{"deploy/release/nfpm.yaml", []any{"homepage"}, us.URL()},
		{"deploy/release/nfpm.yaml", []any{"license"}, us.Licence},
		{".goreleaser.yaml", []any{"nfpms", 0, "maintainer"}, us.Contact()},
		{".goreleaser.yaml", []any{"nfpms", 0, "homepage"}, us.URL()},
		{".goreleaser.yaml", []any{"brews", 0, "homepage"}, us.URL()},
		{".goreleaser.yaml", []any{"brews", 0, "description"}, us.Description},
		{".goreleaser.yaml", []any{"brews", 0, "repository", "owner"}, us.Owner()},
		{".goreleaser.yaml", []any{"brews", 0, "repository", "name"}, us.HomebrewTap},
		{".goreleaser.yaml", []any{"scoops", 0, "homepage"}, us.URL()},
		{".goreleaser.yaml", []any{"scoops", 0, "description"}, us.Description},
		{".goreleaser.yaml", []any{"scoops", 0, "repository", "owner"}, us.Owner()},
		{".goreleaser.yaml", []any{"scoops", 0, "repository", "name"}, us.ScoopBucket},
		{".goreleaser.yaml", []any{"winget", 0, "homepage"}, us.URL()},
		{".goreleaser.yaml", []any{"winget", 0, "publisher"}, us.Owner()},
		{".goreleaser.yaml", []any{"winget", 0, "publisher_url"}, "https://github.com/" + us.Owner()},
		{".goreleaser.yaml", []any{"winget", 0, "repository", "owner"}, us.Owner()},
		{".goreleaser.yaml", []any{"winget", 0, "repository", "name"}, us.WingetFork},
		{".goreleaser.yaml", []any{"release", "github", "owner"}, us.Owner()},
		{"deploy/mcp/server.json", []any{"name"}, us.MCPServer},
		{"deploy/mcp/server.json", []any{"repository", "url"}, us.URL()},
		{"deploy/mcp/server.json", []any{"packages", 0, "identifier"}, us.NPM},
		{"deploy/mcp/manifest.json", []any{"author", "name"}, us.Maintainer},
		{"deploy/mcp/manifest.json", []any{"repository", "url"}, us.URL() + ".git"},
		{"deploy/mcp/manifest.json", []any{"license"}, us.Licence},
		{"deploy/claude-plugin/.claude-plugin/plugin.json", []any{"author", "name"}, us.Maintainer},
		{"deploy/claude-plugin/.claude-plugin/plugin.json", []any{"homepage"}, us.URL()},
		{"deploy/claude-plugin/.claude-plugin/plugin.json", []any{"repository"}, us.URL()},
		{"deploy/chart/Chart.yaml", []any{"home"}, us.URL()},
		{"deploy/chart/Chart.yaml", []any{"sources", 0}, us.URL()},
		{"deploy/chart/Chart.yaml", []any{"description"}, us.Description + "."},
		{"deploy/chart/values.yaml", []any{"image", "repository"}, us.Image},
		{"action.yml", []any{"author"}, us.Owner()},
	} {
		if got := at(decode(t, c.file), c.path...); got != c.want {
			t.Errorf("%s: %v is %q, want %q", c.file, c.path, got, c.want)
		}
	}
	for file, wanted := range map[string][]string{
		"go.mod":                         {"module " + us.Repository + "\n"},
		"Dockerfile":                     {`image.source="` + us.URL() + `"`, `image.licenses="` + us.Licence + `"`},
		".github/workflows/release.yml":  {"name=" + us.Image + "\n"},
		"deploy/release/npm/deskhand.js": {"`" + us.NPMScope + "/$", "go install " + us.Repository + "/cmd/deskhand@latest"},
		"README.md":                      {"go install " + us.Repository + "/cmd/deskhand@latest"},
	} {
		text, err := os.ReadFile(filepath.Join("..", "..", file))
		if err != nil {
			t.Fatal(err)
		}
		for _, one := range wanted {
			if !strings.Contains(string(text), one) {
				t.Errorf("%s does not have %q", file, one)
			}
		}
	}
}

// Names of others, or older ones of ours, stay in no file that is published.
func TestNoFileHasOtherNames(t *testing.T) {
	us := identity.Ours
	named := regexp.MustCompile(`github\.com/[\w.-]*deskhand[\w.-]*/[\w-]+|ghcr\.io/[\w./-]+|[\w.+-]+@[\w-]+\.invalid|io\.github\.[\w-]+/[\w-]+|\bTODO\b|PLACEHOLDER|CHANGEME`)
	ours := []string{us.Repository, us.Image, us.Email, us.MCPServer, us.Image + "-agents"}
	for _, root := range []string{"deploy", ".github", ".goreleaser.yaml", "Dockerfile", "action.yml", "compose.yaml", "README.md"} {
		err := filepath.WalkDir(filepath.Join("..", "..", root), func(file string, d os.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(file, "_test.go") {
				return err
			}
			text, err := os.ReadFile(file)
			for _, name := range named.FindAllString(string(text), -1) {
				if name = strings.TrimSuffix(name, ".git"); !slices.Contains(ours, strings.TrimRight(name, ".-/")) {
					t.Errorf("%s has the name %s", file, name)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestAReleaseNeedsTheAddressOfSomebody(t *testing.T) {
	before := identity.Ours
	t.Cleanup(func() { identity.Ours = before })
	identity.Ours.Email = "maintainers@deskhand.invalid"
	if _, err := newRelease(t.TempDir(), "v1.0.0"); err == nil || !strings.Contains(err.Error(), "identity.json") {
		t.Errorf("a release without an address: %v", err)
	}
	identity.Ours.Email = "ada@example.org"
	if _, err := newRelease(t.TempDir(), "v1.0.0"); err != nil {
		t.Error(err)
	}
}

// goreleaser publishes what make release-snapshot builds.
func TestGoreleaserBuildsTheSame(t *testing.T) {
	g, n := decode(t, ".goreleaser.yaml"), decode(t, "deploy/release/nfpm.yaml")
	var platforms []string
	for _, system := range texts(at(g, "builds", 0, "goos")) {
		for _, arch := range texts(at(g, "builds", 0, "goarch")) {
			platforms = append(platforms, system+"/"+arch)
		}
	}
	if got := strings.Join(platforms, ","); got != allPlatforms {
		t.Errorf("goreleaser builds %s, the snapshot %s", got, allPlatforms)
	}
	for _, name := range []string{"main.version=v", "main.commit=", "main.date="} {
		if flags := texts(at(g, "builds", 0, "ldflags")); !strings.Contains(flags[0], "-X "+name) {
			t.Errorf("ldflags %q do not set %s", flags, name)
		}
	}
	places := func(contents any) (all []string) {
		list, _ := contents.([]any)
		for _, c := range list {
			if dst := at(c, "dst").(string); dst != "/usr/bin/deskhand" { // goreleaser puts it there itself
				all = append(all, dst)
			}
		}
		return all
	}
	ours, theirs := places(n["contents"]), places(at(g, "nfpms", 0, "contents"))
	if len(ours) == 0 || !slices.Equal(ours, theirs) {
		t.Errorf("packages of goreleaser have %q, of the snapshot %q", theirs, ours)
	}
}

func TestNoReleaseIntoAFolderWithOtherThings(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "mine"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(dir, "linux/amd64", ""); err == nil || !strings.Contains(err.Error(), "name another folder") {
		t.Errorf("run = %v, want a refusal", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "mine")); err != nil {
		t.Error("the file is gone")
	}
	for _, c := range [][2]string{{"plan9/amd64", ""}, {"linux/amd64", "1.0"}, {"linux/amd64", "v1.0.0-A B"}} {
		if err := run(filepath.Join(dir, "dist"), c[0], c[1]); err == nil {
			t.Errorf("run(%q, %q) succeeds", c[0], c[1])
		}
	}
}
