package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/console"
)

// everyCommand calls f with each command that help shows, the root first.
func everyCommand(f func(*cobra.Command)) {
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		f(cmd)
		for _, sub := range cmd.Commands() {
			if sub.IsAvailableCommand() {
				walk(sub)
			}
		}
	}
	walk(commandTree())
}

func TestHelpFitsTheWidthAndNamesEveryValue(t *testing.T) {
	everyCommand(func(cmd *cobra.Command) {
		var b strings.Builder
		showHelp(cmd, &b)
		for line := range strings.Lines(b.String()) {
			if line = strings.TrimRight(line, "\n"); len(line) > 120 {
				t.Errorf("help of %s has a line of %d columns: %s", cmd.CommandPath(), len(line), line)
			}
			if regexp.MustCompile(`--[a-z-]+ (string|int|float|uint|duration)`).MatchString(line) {
				t.Errorf("help of %s names a type of Go: %s", cmd.CommandPath(), line)
			}
		}
		if cmd.Name() != "help" && cmd.HasParent() && !cmd.Parent().HasParent() && !cmd.HasSubCommands() && cmd.GroupID == "" {
			t.Errorf("%s is in no group of the help", cmd.CommandPath())
		}
	})
}

func TestHelpInANarrowTerminalPutsTextBelowNames(t *testing.T) {
	var b strings.Builder
	console.Columns(&b, "Flags", [][2]string{{"      --tools LIST", "groups of tools to serve, with commas"}, {"  -n, --x", "short"}}, 40)
	want := "\nFlags:\n      --tools LIST\n           groups of tools to serve,\n           with commas\n  -n, --x  short\n"
	if got := b.String(); got != want {
		t.Errorf("table in 40 columns = %q, want %q", got, want)
	}
}

// The first column of a table of flags is the flag, the second the name of its
// value. Commands with commands have one page for all of them.
func TestHelpCallsValuesAsTheManualDoes(t *testing.T) {
	row := regexp.MustCompile("(?m)^\\| `--([a-z-]+)` \\| ?([^|]*?) ?\\|")
	for _, cmd := range commandTree().Commands() {
		if !cmd.IsAvailableCommand() || cmd.Name() == "help" {
			continue
		}
		called := map[string][]string{} // by flag
		everyCommand(func(below *cobra.Command) {
			if strings.HasPrefix(below.CommandPath()+" ", cmd.CommandPath()+" ") {
				below.LocalFlags().VisitAll(func(f *pflag.Flag) { called[f.Name] = append(called[f.Name], valueName(below, f)) })
			}
		})
		file := "corpus/reference/commands/" + cmd.Name() + ".md"
		for _, m := range row.FindAllStringSubmatch(pageNamed(t, file).text, -1) {
			if names := called[m[1]]; !slices.Contains(names, m[2]) {
				t.Errorf("%s calls the value of --%s %q, help %q", file, m[1], m[2], names)
			}
		}
	}
}

func TestHelpOfWhatIsNotThereIsMisuse(t *testing.T) {
	for _, args := range [][]string{{"help", "serch"}, {"help", "ask", "lst"}, {"help", "tasks", "project", "ad"}, {"completion", "tcsh"}, {"tasks", "project", "ad"}} {
		got := deskhand(t, t.TempDir(), args...)
		if got.code != 2 || got.stdout != "" || !strings.Contains(got.stderr, "\nhint: ") {
			t.Errorf("deskhand %s = %d, stdout %q, stderr %q, want 2 and a hint", strings.Join(args, " "), got.code, got.stdout, got.stderr)
		}
	}
	asked, flagged := deskhand(t, t.TempDir(), "help", "tasks", "project", "add"), deskhand(t, t.TempDir(), "tasks", "project", "add", "--help")
	if asked.code != 0 || asked.stdout != flagged.stdout || !strings.Contains(asked.stdout, "--name NAME") {
		t.Errorf("deskhand help tasks project add = %d %q, with --help %q", asked.code, asked.stdout, flagged.stdout)
	}
}

func TestShellsCompleteValues(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("DESKHAND_STATE", t.TempDir())
	if err := os.WriteFile(dir+"/deskhand.yaml", []byte("upstreams:\n  - {name: files, command: [x]}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	done(t, dir, "trust", "--yes")
	id := strings.TrimSpace(deskhand(t, dir, "ask", "Which port?", "--detach", "--unreachable", "wait").stdout)
	for line, want := range map[string]string{
		"index --chunk-by ": "h1\nh2\nh3\nfile\n:4\n", "search --by ": "words\nmeaning\nboth\n:4\n", "eval --by ": "words\nmeaning\nboth\n:4\n",
		"phrases --by ": "agent:\nollama:\nopenai:\ngaps\n:4\n", "tasks usage --by ": "day\nagent\ntask\nproject\nattempt\nprocess\n:4\n", "ask --priority ": "low\nnormal\nhigh\nurgent\n:4\n",
		"eval --format ": "table\nmarkdown\njson\n:4\n", "ask --format ": "email\nuri\ndate\ndate-time\n:4\n", "serve --index ": ":16\n", "index ": ":16\n", "eval --out ": ":0\n", "ask --timeout ": ":4\n",
		"completion z": "bash\nzsh\nfish\npowershell\n:4\n", "connect ": "files\n:4\n", "ask show elc_": id + "\tWhich port?\n:4\n",
	} {
		words := strings.Split(line, " ")
		got := deskhand(t, dir, append([]string{"__complete"}, words...)...)
		if got.code != 0 || got.stdout != want {
			t.Errorf("completing %q = %d %q, want %q; stderr %q", line, got.code, got.stdout, want, got.stderr)
		}
	}
	for shell := range shells {
		if got := deskhand(t, dir, "completion", shell); got.code != 0 || !strings.Contains(got.stdout, "__complete") {
			t.Errorf("deskhand completion %s = %d, %d bytes, stderr %q", shell, got.code, len(got.stdout), fmt.Sprint(got.stderr))
		}
	}
}
