package main

import (
	"encoding/json"
	"path/filepath"
	"regexp"
	"slices"
	"testing"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
)

// trustSamples are values of settings: one that needs trust, and one that does
// not. Empty: there is none. A setting that always or never counts without trust,
// and takes any text, needs no sample.
var trustSamples = map[string]struct{ harmful, harmless string }{
	"index":                 {"", "elsewhere"},
	"embed":                 {"openai:text-embedding-3-small", "none"},
	"embed-timeout":         {"", "2s"},
	"cache":                 {"here", ""},
	"vectors":               {"", "chromem"},
	"state":                 {"here", ""},
	"store":                 {"here", ""},
	"elicitation.timeout":   {"1ms", "10m"},
	"elicitation.hold":      {"", "45s"},
	"elicitation.secrets":   {"allow", "refuse"},
	"elicitation.schema":    {"", "ref"},
	"views":                 {"", "'off'"},
	"inbox":                 {"'off'", "auto"},
	"tasks.executors":       {"{mine: {kind: shell, command: [sh]}}", ""},
	"tasks.max-running":     {"5000", "1"},
	"tasks.time-limit":      {"700h", "1h"},
	"tasks.idle-limit":      {"700h", "1m"},
	"tasks.diff-guard":      {"'off'", "safe"},
	"tasks.branch-prefix":   {"", "agents"},
	"tasks.retain":          {"[done=0s]", ""},
	"tasks.env":             {"[AWS_SECRET_ACCESS_KEY]", ""},
	"tasks.sandbox":         {"none", ""},
	"tasks.sandbox-network": {"[evil.example.com]", ""},
	"tasks.sandbox-read":    {"[/etc]", ""},
	"tasks.sandbox-write":   {"[/etc]", ""},
	"tasks.sandbox-image":   {"evil", ""},
	"tasks.wrap":            {"[sh, -c, id]", ""},
	"slack.channel":         {"C012ABCDEF", ""},
	"slack.people":          {"[U012ABCDEF=local]", ""},
	"slack.api":             {"https://slack.example.com/", ""},
	"notify":                {"['command:/bin/id']", ""},
	"quiet-hours":           {"'00:00-23:59'", ""},
	"public-url":            {"https://desk.example.com", ""},
	"connect.address":       {"0.0.0.0:8080", ""},
	"connect.url":           {"https://desk.example.com", ""},
	"gateway.disclosure":    {"", "search"},
	"gateway.people":        {"one", "many"},
	"shelf":                 {"/tmp/elsewhere", ""},
	"search.log":            {"'on'", "'off'"},
	"otlp.endpoint":         {"http://collector.example.com:4318", ""},
	"a2a.enabled":           {"true", "false"},
	"a2a.default-skill":     {"run-task", ""},
	"a2a.project":           {"shop", ""},
	"a2a.push-to":           {"['127.0.0.1:9000']", ""},
	"a2a.executor":          {"claude", ""},
	"log-level":             {"", "error"},
	"log-format":            {"", "json"},
	"token":                 {"a-token-that-the-stranger-knows", ""},
	"tools":                 {"'docs,ask,work'", "docs"},
	"tool-prefix":           {"", "acme"},
	"name":                  {"", "acme"},
	"max-answer-bytes":      {"900000", "8192"},
	"allow-host":            {"[evil.example.com]", ""},
	"allow-origin":          {"['https://evil.example.com']", ""},
	settings.UpstreamsKey:   {"[{name: h, command: [sh, -c, id]}]", ""},
	"person-key":            {"a-key-that-the-stranger-knows", ""},
	"session.host":          {"127.0.0.1", ""},
	"session.time":          {"400d", ""},
}

// Every setting of a folder that somebody else made: one that can do harm is left
// out until the file is trusted, and another counts.
func TestAttackDoorsTrustOfEverySetting(t *testing.T) {
	for name, when := range settings.Untrusted() {
		t.Run(name, func(t *testing.T) {
			samples, ok := trustSamples[name]
			switch {
			case ok:
			case when == settings.Always:
				samples.harmless = "elsewhere"
			case when == "":
				samples.harmful = "here"
			default:
				t.Fatalf("%s counts if %s: give a sample of each", name, when)
			}
			if samples.harmful == "" && samples.harmless == "" || (samples.harmful == "") != (when == settings.Always) {
				t.Fatalf("no fitting sample of %s: %+v", name, samples)
			}
			dir := cloned(t, settings.Key(name)+": "+samples.harmful+"\n")
			if samples.harmful != "" {
				if row := shownSetting(t, dir, name); row.Origin != settings.ByDefault || row.LeftOut == nil || row.LeftOut.Next != "to review and allow them, run: deskhand trust "+dir {
					t.Errorf("%s: %s of a folder that nobody trusts is %+v (left out %+v)", settings.Key(name), samples.harmful, row, row.LeftOut)
				}
				done(t, dir, "trust", "--yes")
				if row := shownSetting(t, dir, name); row.Origin != filepath.Join(dir, settings.ConfigName) || row.LeftOut != nil {
					t.Errorf("%s: %s of a folder that is trusted is %+v", settings.Key(name), samples.harmful, row)
				}
			}
			if samples.harmless != "" {
				write(t, dir, map[string]string{settings.ConfigName: settings.Key(name) + ": " + samples.harmless + "\n"})
				if row := shownSetting(t, dir, name); row.Origin != filepath.Join(dir, settings.ConfigName) || row.LeftOut != nil {
					t.Errorf("%s: %s of a folder that nobody trusts is %+v", settings.Key(name), samples.harmless, row)
				}
			}
		})
	}
}

// What is stricter than the default may be weaker than what the person has.
func TestAttackDoorsTrustAgainstOnesOwnSettings(t *testing.T) {
	for name, c := range map[string]struct{ own, theirs string }{
		"tools":               {"docs", "docs,ask"},
		"tasks.time-limit":    {"10m", "5h"},
		"tasks.idle-limit":    {"1m", "20m"},
		"tasks.diff-guard":    {"safe", "balanced"},
		"tasks.max-running":   {"2", "3"},
		"max-answer-bytes":    {"8192", "32768"},
		"inbox":               {"'off'", "auto"},
		"elicitation.timeout": {"20m", "10m"},
		"tasks.wrap":          {"[env]", "[nice]"},
		"tasks.max-running ":  {"2", "0"},
	} {
		t.Run(name, func(t *testing.T) {
			name := regexp.MustCompile(` +$`).ReplaceAllString(name, "")
			dir := cloned(t, settings.Key(name)+": "+c.theirs+"\n")
			ownSettings(t, settings.Key(name)+": "+c.own+"\n")
			if row := shownSetting(t, dir, name); filepath.Dir(row.Origin) == dir || row.LeftOut == nil {
				t.Errorf("%s: the user has %s, a folder that nobody trusts %s; it is %+v", settings.Key(name), c.own, c.theirs, row)
			}
			write(t, dir, map[string]string{settings.ConfigName: ""})
			if row := shownSetting(t, dir, name); filepath.Base(filepath.Dir(row.Origin)) != "deskhand" {
				t.Errorf("%s: an empty file of a folder has it as %+v, want the user's own", settings.Key(name), row)
			}
		})
	}
}

// shownSetting is one row of deskhand config in a folder.
func shownSetting(t *testing.T, dir, name string, flags ...string) settings.Effective {
	t.Helper()
	r := deskhand(t, dir, append([]string{"config", "--json"}, flags...)...)
	var rows []settings.Effective
	if err := json.Unmarshal([]byte(r.stdout), &rows); err != nil {
		t.Fatalf("deskhand config --json: %v in %q, %q", err, r.stdout, r.stderr)
	}
	i := slices.IndexFunc(rows, func(e settings.Effective) bool { return e.Name == name })
	if i < 0 {
		t.Fatalf("deskhand config --json has no %s", name)
	}
	return rows[i]
}
