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
		{[]any{"name"}, `^` + regexp.QuoteMeta(serverName) + `$`},
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
