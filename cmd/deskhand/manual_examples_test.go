package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/eval"
)

// pasted is a block of code of a page, in a language that people paste into a file.
type pasted struct {
	page     string
	line     int
	language string
	text     string // without the indentation of a list
}

func (e pasted) String() string { return fmt.Sprintf("%s:%d", e.page, e.line) }

// examples are the blocks of all pages in these languages.
func examples(t *testing.T, languages ...string) (all []pasted) {
	t.Helper()
	for _, p := range pages(t) {
		for _, at := range code.FindAllStringSubmatchIndex(p.text, -1) {
			language, text := p.text[at[2]:at[3]], p.text[at[4]:at[5]]
			if !slices.Contains(languages, language) {
				continue
			}
			indent := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
			text = strings.ReplaceAll("\n"+text, "\n"+indent, "\n")[1:]
			all = append(all, pasted{p.path, 1 + strings.Count(p.text[:at[0]], "\n"), language, text})
		}
	}
	return all
}

// otherYAML names the kinds of YAML in the manual that are not deskhand.yaml, by a key that
// only they have.
var otherYAML = map[string]string{
	"jobs": "workflow", "steps": "workflow", "docs": "workflow",
	"scrape_configs": "other", "display_information": "other", "extensions": "other",
	"messages": "template",
	"title":    "front matter", "description": "front matter", "mcp_chunking_hint": "front matter", "mcp_strategy": "front matter",
}

// kindOfYAML says which file the text goes into.
func kindOfYAML(keys map[string]any) string {
	for _, key := range []string{"messages", "jobs", "steps", "docs", "scrape_configs", "display_information", "extensions", "title", "description", "mcp_chunking_hint", "mcp_strategy"} {
		if _, ok := keys[key]; ok {
			return otherYAML[key]
		}
	}
	return "settings"
}

// Readers paste these into their files, so each is read as the program would, and what it
// would only warn of is an error here.
func TestYAMLOfTheManualIsRead(t *testing.T) {
	for _, secret := range []string{"DESKHAND_MAIL_PASSWORD", "DESKHAND_OIDC_SECRET"} {
		t.Setenv(secret, "a secret of sixteen characters")
	}
	t.Setenv("DESKHAND_SLACK_BOT_TOKEN", "xoxb-1")
	t.Setenv("DESKHAND_SLACK_APP_TOKEN", "xapp-1")
	found := map[string]int{}
	for _, e := range examples(t, "yaml") {
		var keys map[string]any
		if err := yaml.Unmarshal([]byte(strings.TrimSuffix(strings.TrimSpace(e.text), "---")), &keys); err != nil {
			t.Errorf("%s: %v", e, err)
			continue
		}
		kind := kindOfYAML(keys)
		found[kind]++
		switch kind {
		case "settings":
			if err := readSettings(t, e.text); err != nil {
				t.Errorf("%s: as deskhand.yaml: %v", e, err)
			}
		case "workflow":
			for _, script := range scripts(keys) {
				checkScript(t, e.String(), script)
			}
		case "front matter":
			text := strings.Trim(strings.TrimSpace(e.text), "-\n")
			checkCorpus(t, e, map[string]string{"docs/page.md": "---\n" + text + "\n---\n# Page\n\nText.\n"})
		case "template":
			checkCorpus(t, e, map[string]string{"docs/review.template.yaml": e.text})
		}
	}
	for kind, least := range map[string]int{"settings": 20, "workflow": 3, "front matter": 4, "template": 1} {
		if found[kind] < least {
			t.Errorf("%d examples of %s found, which cannot be all", found[kind], kind)
		}
	}
}

// readSettings reads text as the file that --config names.
func readSettings(t *testing.T, text string) error {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DESKHAND_STATE", filepath.Join(dir, "state"))
	file := filepath.Join(dir, "deskhand.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("manual", pflag.ContinueOnError)
	settings.Flags(flags)
	if err := flags.Set("config", file); err != nil {
		t.Fatal(err)
	}
	var s settings.Settings
	var told error
	if err := s.Load(flags, func(text string) { told = fmt.Errorf("%s", text) }); err != nil {
		return err
	}
	if told != nil {
		return told
	}
	return s.Check()
}

// scripts are the texts below the keys run and script of a workflow.
func scripts(v any) (all []string) {
	switch v := v.(type) {
	case map[string]any:
		for key, inner := range v {
			if text, ok := inner.(string); ok && key == "run" {
				all = append(all, text)
			} else if lines, ok := inner.([]any); ok && key == "script" {
				for _, one := range lines {
					all = append(all, fmt.Sprint(one))
				}
			} else {
				all = append(all, scripts(inner)...)
			}
		}
	case []any:
		for _, inner := range v {
			all = append(all, scripts(inner)...)
		}
	}
	return all
}

// checkScript reports each line of a script that calls deskhand as it cannot be called.
func checkScript(t *testing.T, where, script string) (count int) {
	t.Helper()
	lines, err := commandLines(script)
	if err != nil {
		t.Errorf("%s: %v", where, err)
	}
	for _, args := range lines {
		count++
		if err := parses(args); err != nil {
			t.Errorf("%s: deskhand %s: %v", where, strings.Join(args, " "), err)
		}
	}
	return count
}

// checkCorpus indexes the files, with pages that the examples tell of: not even a warning
// may come of them.
func checkCorpus(t *testing.T, e pasted, files map[string]string) {
	t.Helper()
	dir := t.TempDir()
	write(t, dir, map[string]string{
		"docs/all.md":             "---\nmetadata: {language: go, area: auth, part: reference}\n---\n# All\n\nText.\n",
		"docs/guides/rollback.md": "## Rollback\n\nText.\n",
		"docs/guides/retries.md":  "# Retries\n\nText.\n\n## Backoff\n\nText.\n",
		"docs/api/page.md":        "# Page\n\nText.\n",
	})
	write(t, dir, files)
	if got := deskhand(t, dir, "index", "docs", "--check", "--strict", "-q"); got.code != 0 || got.stderr != "" {
		t.Errorf("%s: index --check --strict = %d: %s%s", e, got.code, got.stdout, got.stderr)
	}
}

func TestJSONOfTheManualIsRead(t *testing.T) {
	t.Setenv("DESKHAND_STATE", t.TempDir())
	found := map[string]int{}
	has := func(keys map[string]any, any ...string) bool {
		return slices.ContainsFunc(any, func(key string) bool { return keys[key] != nil })
	}
	for _, e := range examples(t, "json") {
		var whole any
		if err := json.Unmarshal([]byte(e.text), &whole); err != nil {
			t.Errorf("%s: %v", e, err)
			continue
		}
		keys, _ := whole.(map[string]any)
		kind := "other"
		switch {
		case has(keys, "mcpServers", "servers"):
			kind = "client"
			for _, args := range startLines(whole) {
				if err := parses(args); err != nil {
					t.Errorf("%s: deskhand %s: %v", e, strings.Join(args, " "), err)
				}
			}
		case has(keys, "phrases") && has(keys, "chunk_id"):
			kind = "phrases"
			checkCorpus(t, e, map[string]string{"phrases.jsonl": e.text, "metadata.json": `{"corpus": "docs", "phrases": "phrases.jsonl"}`})
		case has(keys, "version"):
			kind = "manifest"
			checkCorpus(t, e, map[string]string{"docs/.docs-mcp.json": e.text})
		case has(keys, "corpus", "corpus_description", "mcpServerInstructions", "folders", "strategy", "taxonomy"):
			kind = "metadata" // some show a part of the file
			keys["corpus"], keys["corpus_description"] = "docs", "Acme"
			text, err := json.Marshal(keys)
			if err != nil {
				t.Fatal(err)
			}
			checkCorpus(t, e, map[string]string{"metadata.json": string(text), "phrases.jsonl": ""})
		case keys == nil:
			kind = "cases"
			file := filepath.Join(t.TempDir(), "cases.json")
			if err := os.WriteFile(file, []byte(e.text), 0o600); err != nil {
				t.Fatal(err)
			}
			if _, warnings, err := eval.Load(file); err != nil || len(warnings) > 0 {
				t.Errorf("%s: %v %q", e, err, warnings)
			}
		}
		found[kind]++
	}
	for kind, least := range map[string]int{"client": 6, "metadata": 7, "manifest": 3, "phrases": 2, "cases": 2} {
		if found[kind] < least {
			t.Errorf("%d examples of %s found, which cannot be all", found[kind], kind)
		}
	}
}

// startLines are the arguments that clients start deskhand with.
func startLines(v any) (lines [][]string) {
	switch v := v.(type) {
	case map[string]any:
		if v["command"] == "deskhand" {
			var args []string
			list, _ := v["args"].([]any)
			for _, one := range list {
				args = append(args, fmt.Sprint(one))
			}
			return [][]string{args}
		}
		for _, inner := range v {
			lines = append(lines, startLines(inner)...)
		}
	case []any:
		for _, inner := range v {
			lines = append(lines, startLines(inner)...)
		}
	}
	return lines
}

func TestTOMLOfTheManualStartsTheServer(t *testing.T) {
	count := 0
	for _, e := range examples(t, "toml") {
		m := regexp.MustCompile(`(?m)^args = (\[.*\])$`).FindStringSubmatch(e.text)
		if m == nil {
			continue
		}
		count++
		var args []string
		if err := json.Unmarshal([]byte(m[1]), &args); err != nil {
			t.Errorf("%s: %v", e, err)
		} else if err := parses(args); err != nil {
			t.Errorf("%s: deskhand %s: %v", e, strings.Join(args, " "), err)
		}
	}
	if count == 0 {
		t.Error("no example of TOML found")
	}
}

// Within a line, a command often stands for what it does, without its arguments, and a flag
// without its value. Its name and its flags exist all the same.
func TestCommandsWithinALineExist(t *testing.T) {
	count := 0
	for _, p := range pages(t) {
		if p.path == "CHANGELOG.md" {
			continue // it also tells of what is gone
		}
		for _, m := range regexp.MustCompile("`(deskhand [a-z][^`\n]*)`").FindAllStringSubmatch(p.prose(), -1) {
			lines, err := commandLines(strings.NewReplacer("\\|", "|", "...", "", "…", "", "[", "", "]", "").Replace(m[1]))
			if err != nil {
				t.Errorf("%s: %v", p.path, err)
			}
			for _, args := range lines {
				count++
				if err := exists(args); err != nil {
					t.Errorf("%s: deskhand %s: %v", p.path, strings.Join(args, " "), err)
				}
			}
		}
	}
	if count < 200 {
		t.Errorf("%d commands found, which cannot be all", count)
	}
}

// exists says whether there is the command of a line, with its flags.
func exists(args []string) error {
	cmd, rest, err := commandTree().Find(args)
	if err != nil {
		return err
	}
	err = cmd.ParseFlags(rest)
	if missing := new(pflag.ValueRequiredError); errors.As(err, &missing) || errors.Is(err, pflag.ErrHelp) {
		return nil
	}
	if err != nil {
		return err
	}
	if given := cmd.Flags().Args(); cmd.HasSubCommands() && !cmd.Runnable() && len(given) > 0 && given[0] == strings.ToLower(given[0]) {
		return fmt.Errorf("%s has no command %s", cmd.CommandPath(), given[0])
	}
	return unknownChoice(cmd)
}

func TestExamplesOfHelpParse(t *testing.T) {
	count := 0
	everyCommand(func(cmd *cobra.Command) { count += checkScript(t, cmd.CommandPath()+" --help", cmd.Example) })
	if count < 60 {
		t.Errorf("%d examples found, which cannot be all", count)
	}
}

func TestTargetsOfThePagesAreInTheMakefile(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, p := range pages(t) {
		if p.path == "CHANGELOG.md" {
			continue
		}
		for _, m := range regexp.MustCompile("(?m)(?:`|^|&& )make ([a-z][a-z-]*)(?:`|$| [A-Z]+=| +#)").FindAllStringSubmatch(p.text, -1) {
			count++
			if !strings.Contains(string(makefile), "\n"+m[1]+":") {
				t.Errorf("%s: there is no make %s", p.path, m[1])
			}
		}
	}
	if count < 20 {
		t.Errorf("%d targets found, which cannot be all", count)
	}
}
