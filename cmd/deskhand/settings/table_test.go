package settings

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// section is a part of the manual's page of settings.
func section(t *testing.T, heading string) string {
	t.Helper()
	page, err := os.ReadFile("../../../corpus/reference/settings.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "\n## "+heading+"\n")
	if !ok {
		t.Fatalf("settings.md has no section %q", heading)
	}
	text, _, _ := strings.Cut(rest, "\n## ")
	return text
}

// The manual has a row for each setting: its variable, its key and its default.
func TestEverySettingIsInTheManual(t *testing.T) {
	rows := map[string][]string{}
	for line := range strings.Lines(section(t, "List of settings")) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
		if len(cells) == 4 && strings.HasPrefix(cells[1], "`DESKHAND_") {
			rows[strings.Trim(cells[1], "` ")] = cells
		}
	}
	for _, one := range table {
		row, ok := rows[variable(one.name)]
		if !ok {
			t.Errorf("settings.md does not list %s", variable(one.name))
			continue
		}
		delete(rows, variable(one.name))
		if row[2] != "`"+key(one.name)+"`" {
			t.Errorf("settings.md has %s as the key of %s", row[2], one.name)
		}
		if want := strings.ReplaceAll(one.fallback, "\\", "/"); want != "" && !strings.HasPrefix(row[3], "`"+want+"`") {
			t.Errorf("settings.md has %s as the default of %s, the program %s", row[3], one.name, want)
		}
	}
	for name := range rows {
		t.Errorf("settings.md lists %s, which is no setting", name)
	}
}

// A default that its own check refuses would fail every command that reads it.
func TestEveryDefaultPassesItsCheck(t *testing.T) {
	s := &Settings{values: map[string]value{}}
	for _, one := range table {
		s.values[one.name] = configFile{}.value(one)
	}
	for _, one := range table {
		if err := s.check(one.name); err != nil {
			t.Errorf("%s: %v", one.name, err)
		}
		if one.choices != nil && one.fallback != "" && !slices.Contains(one.choices, one.fallback) {
			t.Errorf("%s: the default %s is none of %v", one.name, one.fallback, one.choices)
		}
	}
}

// trustRules are those of every setting, and of upstreams, which are none.
func trustRules() map[string]trustRule {
	rules := map[string]trustRule{UpstreamsKey: needsTrust}
	for _, one := range table {
		rules[one.name] = one.trust
	}
	return rules
}

func TestEverySettingSaysIfItNeedsTrust(t *testing.T) {
	for name, rule := range trustRules() {
		if !rule.said {
			t.Errorf("%s has no rule: can it run a program, reach a network, move the store or weaken a check?", name)
		}
		if rule.free && rule.stricter != nil || (rule.stricter == nil) != (rule.when == "") {
			t.Errorf("the rule of %s is not one of: free, stricter with its words, neither", name)
		}
	}
}

// The manual lists what counts without trust, and when.
func TestTheManualSaysWhatNeedsTrust(t *testing.T) {
	text := section(t, "Trust")
	listed := map[string]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z0-9_.]+)` \\| (.*) \\|$").FindAllStringSubmatch(text, -1) {
		listed[m[1]] = m[2]
	}
	for name, want := range Untrusted() {
		if listed[key(name)] != want {
			t.Errorf("the table of settings.md says of %s %q, the program %q", key(name), listed[key(name)], want)
		}
		delete(listed, key(name))
	}
	for name := range listed {
		t.Errorf("the table of settings.md has %s, which is no setting", name)
	}
}
