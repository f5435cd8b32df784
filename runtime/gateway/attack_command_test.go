package gateway

import (
	"slices"
	"strings"
	"testing"
)

// An upstream's command sees only the environment variables that every program
// needs and those that its configuration names.
func TestAttackDoorsUpstreamEnvironment(t *testing.T) {
	hidden := []string{"SLACK_BOT_TOKEN", "DESKHAND_TOKEN", "DESKHAND_STORE", "OPENAI_API_KEY", "OTHER_TOKEN", "AWS_SECRET_ACCESS_KEY", "PGPASSWORD", "GH_TOKEN", "LD_PRELOAD_X"}
	for _, name := range hidden {
		t.Setenv(name, "hidden-"+name)
	}
	t.Setenv("NOTES_REGION", "eu")
	t.Setenv("LC_ALL", "C")
	u := command(t)
	u.Pass, u.Env["NAMED"] = []string{"NOTES_*", "DESKHAND_*"}, "named"
	d := at(t, t.TempDir(), nil, u)
	d.tool("notes_environment")
	seen := strings.Split(d.now("notes_environment", "{}").text(), "\n")
	for _, name := range hidden {
		t.Run(name, func(t *testing.T) {
			if slices.ContainsFunc(seen, func(v string) bool { return strings.HasPrefix(v, name+"=") }) {
				t.Error("the command has it")
			}
		})
	}
	for _, want := range []string{"PATH", "LC_ALL=C", "NOTES_REGION=eu", "NAMED=named"} {
		if !slices.ContainsFunc(seen, func(v string) bool { return strings.HasPrefix(v, want) }) {
			t.Errorf("the command lacks %s: %q", want, seen)
		}
	}
}
