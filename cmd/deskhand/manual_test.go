package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/mattn/go-shellwords"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// page is a markdown file of this repository.
type page struct {
	path string // relative to the root, with forward slashes
	text string
}

// pages reads the manual and the pages of the repository itself.
func pages(t *testing.T) (list []page) {
	t.Helper()
	root := os.DirFS("../..")
	files := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md"}
	for _, dir := range []string{"corpus", "docs"} {
		err := fs.WalkDir(root, dir, func(file string, _ fs.DirEntry, err error) error {
			if path.Ext(file) == ".md" {
				files = append(files, file)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range files {
		b, err := fs.ReadFile(root, file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, page{file, string(b)})
	}
	return list
}

func pageNamed(t *testing.T, file string) page {
	t.Helper()
	for _, p := range pages(t) {
		if p.path == file {
			return p
		}
	}
	t.Fatalf("there is no %s", file)
	return page{}
}

// code matches a block of fenced code: its language and its text.
var code = regexp.MustCompile("(?ms)^[ \t]*```([a-z]*)[^\n]*\n(.*?)^[ \t]*```[ \t]*$")

// prose is a page without its code.
func (p page) prose() string { return code.ReplaceAllString(p.text, "") }

// section is what stands under a heading of level 2.
func (p page) section(heading string) string {
	_, rest, _ := strings.Cut(p.prose(), "\n## "+heading+"\n")
	rest, _, _ = strings.Cut(rest, "\n## ")
	return rest
}

// firstColumn are the names in backticks that begin the rows of tables.
func firstColumn(text string) (names []string) {
	for _, m := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(text, -1) {
		names = append(names, m[1])
	}
	return names
}

// sameNames compares what a page lists with what the program has.
func sameNames(t *testing.T, page string, listed, has []string) {
	t.Helper()
	for _, name := range listed {
		if !slices.Contains(has, name) {
			t.Errorf("%s lists %s, which is not there", page, name)
		}
	}
	for _, name := range has {
		if !slices.Contains(listed, name) {
			t.Errorf("%s does not list %s", page, name)
		}
	}
}

// commandTree is the program's commands, not run.
func commandTree() *cobra.Command {
	root := (&app{}).root()
	root.InitDefaultHelpCmd()
	return root
}

func flagNames(set *pflag.FlagSet) (names []string) {
	set.VisitAll(func(f *pflag.Flag) {
		if f.Name != "help" && !f.Hidden {
			names = append(names, "--"+f.Name)
		}
	})
	return names
}

func TestEveryFlagIsInTheManual(t *testing.T) {
	root := commandTree()
	global := "corpus/reference/commands/deskhand.md"
	sameNames(t, global, firstColumn(pageNamed(t, global).section("Global flags")), flagNames(root.PersistentFlags()))
	var listed []string
	for _, m := range regexp.MustCompile("\\[`deskhand ([a-z]+)`\\]").FindAllStringSubmatch(pageNamed(t, global).section("Commands"), -1) {
		listed = append(listed, m[1])
	}
	var has []string
	for _, cmd := range root.Commands() {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		has = append(has, cmd.Name())
		file := "corpus/reference/commands/" + cmd.Name() + ".md"
		sameNames(t, file, firstColumn(pageNamed(t, file).section("Flags")), flagNames(cmd.LocalNonPersistentFlags()))
	}
	sameNames(t, global, listed, has)
}

// Commands with commands have one page for all of them.
func TestEveryFlagOfASubcommandIsInTheManual(t *testing.T) {
	var all func(page, cmd *cobra.Command)
	all = func(top, cmd *cobra.Command) {
		file := "corpus/reference/commands/" + top.Name() + ".md"
		for _, sub := range cmd.Commands() {
			if sub.Hidden {
				continue
			}
			text := pageNamed(t, file).text
			if !regexp.MustCompile("\\b" + sub.Name() + "\\b").MatchString(text) {
				t.Errorf("%s does not tell of %s", file, sub.CommandPath())
			}
			for _, name := range flagNames(sub.LocalNonPersistentFlags()) {
				if !strings.Contains(text, name) {
					t.Errorf("%s does not tell of %s %s", file, sub.CommandPath(), name)
				}
			}
			all(top, sub)
		}
	}
	for _, cmd := range commandTree().Commands() {
		if !cmd.Hidden && cmd.HasSubCommands() {
			all(cmd, cmd)
		}
	}
}

func TestEveryCodeOfWorkIsInTheManual(t *testing.T) {
	text := pageNamed(t, "corpus/troubleshooting/work-errors.md").text
	for _, code := range tasks.Codes {
		if !strings.Contains(text, code) {
			t.Errorf("the page does not tell of %s", code)
		}
	}
}

func TestEveryToolArgumentIsInTheManual(t *testing.T) {
	corpus := t.TempDir()
	write(t, corpus, map[string]string{"page.md": "Text.\n"}) // without facets
	names := map[string]bool{}
	t.Setenv("DESKHAND_TOOLS", "docs,ask,work,land")
	t.Setenv("DESKHAND_STATE", t.TempDir())
	names["get_context.md"] = true // only within an attempt, and without arguments
	for _, one := range byPipe(t, indexed(t, corpus)).tools() {
		names[one.Name+".md"] = true
		file := "corpus/reference/tools/" + one.Name + ".md"
		sameNames(t, file, firstColumn(pageNamed(t, file).section("Arguments")), slices.Collect(maps.Keys(one.schema(t).Properties)))
	}
	entries, err := os.ReadDir("../../corpus/reference/tools")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !names[e.Name()] {
			t.Errorf("corpus/reference/tools/%s is of no tool", e.Name())
		}
	}
}

// anchor is the id that a heading gets where pages are shown.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(strings.ReplaceAll(heading, "`", "")) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
			b.WriteRune(r)
		}
	}
	return b.String()
}

func (p page) anchors() map[string]bool {
	found := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^#{1,6} (.*)$`).FindAllStringSubmatch(p.prose(), -1) {
		name := anchor(strings.TrimSpace(m[1]))
		for n := 1; found[name]; n++ {
			name = fmt.Sprintf("%s-%d", anchor(m[1]), n)
		}
		found[name] = true
	}
	return found
}

// links are the targets of a page's links. Code is no link, also within a line.
func (p page) links() (targets []string) {
	text := regexp.MustCompile("(`+)[^`\n]+?(`+)").ReplaceAllString(p.prose(), "code")
	for _, m := range regexp.MustCompile(`\]\(<?([^)>\s]+)>?(?: "[^"]*")?\)`).FindAllStringSubmatch(text, -1) {
		targets = append(targets, m[1])
	}
	return targets
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := map[string]page{}
	for _, p := range pages(t) {
		all[p.path] = p
	}
	linked, count := map[string]bool{}, 0
	for _, p := range all {
		for _, target := range p.links() {
			if regexp.MustCompile(`^[a-z]+:`).MatchString(target) {
				continue
			}
			count++
			file, fragment, _ := strings.Cut(target, "#")
			at := p.path
			if file != "" {
				at = path.Join(path.Dir(p.path), file)
			}
			linked[at] = true
			if _, err := os.Stat(filepath.Join("../..", filepath.FromSlash(at))); err != nil {
				t.Errorf("%s links to %s: %v", p.path, target, err)
				continue
			}
			if to, ok := all[at]; fragment != "" && ok && !to.anchors()[fragment] {
				t.Errorf("%s links to %s: there is no such heading", p.path, target)
			}
		}
	}
	if count < 50 {
		t.Errorf("%d links found, which cannot be all", count)
	}
	for _, p := range all {
		if strings.HasPrefix(p.path, "corpus/") && !strings.HasSuffix(p.path, ".template.md") && !linked[p.path] {
			t.Errorf("no page links to %s", p.path)
		}
	}
}

// commandLines are the lines that call deskhand in a script of the shell, each
// as its arguments.
func commandLines(script string) (lines [][]string, err error) {
	script = strings.ReplaceAll(script, "\\\n", " ")
	for line := range strings.SplitSeq(script, "\n") {
		for _, command := range simpleCommands(line) {
			words, e := shellwords.Parse(command)
			if e != nil {
				err = errors.Join(err, fmt.Errorf("%q: %w", command, e))
				continue
			}
			for i, word := range words {
				// Before it may stand variables, and a command that starts others.
				if base := path.Base(word); base == "deskhand" || word == "./cmd/deskhand" {
					if i == 0 || words[i-1] == "--" || words[i-1] == "run" || strings.Contains(words[i-1], "=") || words[i-1] == "exec" {
						lines = append(lines, words[i+1:])
					}
				}
			}
		}
	}
	return lines, err
}

// simpleCommands cuts a line at pipes, lists, substitutions and redirections
// outside of quotes, and leaves out the comment.
func simpleCommands(line string) (commands []string) {
	var b strings.Builder
	quote := rune(0)
	before := ' '
	cut := func() {
		commands = append(commands, strings.TrimSpace(b.String()))
		b.Reset()
	}
	for _, r := range line {
		switch {
		case quote != 0:
			if r == quote {
				quote = 0
			}
			b.WriteRune(r)
		case r == '\'' || r == '"':
			quote = r
			b.WriteRune(r)
		case r == '#' && before == ' ':
			cut()
			return commands
		case strings.ContainsRune("|;&()", r):
			cut()
		case r == '<' || r == '>':
			cut()
			b.WriteString(": ") // what follows is a file
		default:
			b.WriteRune(r)
		}
		before = r
	}
	cut()
	return commands
}

func TestCommandLinesOfTheManualParse(t *testing.T) {
	count := 0
	for _, e := range examples(t, "sh", "bash") {
		count += checkScript(t, e.String(), e.text)
	}
	if count < 200 {
		t.Errorf("%d command lines found, which cannot be all", count)
	}
}

// parses says whether a command line gets as far as running.
func parses(args []string) error {
	cmd, rest, err := commandTree().Find(args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil && !errors.Is(err, pflag.ErrHelp) {
		return err
	}
	if help, _ := cmd.Flags().GetBool("help"); help {
		return nil
	}
	if !cmd.Runnable() {
		return fmt.Errorf("%s is no command", cmd.CommandPath())
	}
	if err := unknownChoice(cmd); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// unknownChoice returns an error for a flag whose value is none that completion offers.
func unknownChoice(cmd *cobra.Command) (err error) {
	cmd.Flags().Visit(func(f *pflag.Flag) {
		offered, ok := ofFlag(choices, cmd, f)
		if !ok {
			offered = settings.Choices(f.Name)
		}
		if offered == nil || f.Name == "embed" || f.Name == "from" { // a file is also allowed
			return
		}
		given := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given = list.GetSlice()
		}
		offered = strings.Split(strings.Join(offered, ","), ",") // some are lists
		for value := range strings.SplitSeq(strings.Join(given, ","), ",") {
			kind, _, _ := strings.Cut(value, ":")                                                                           // agent: goes on with a name
			if value != strings.ToUpper(value) && !slices.Contains(offered, value) && !slices.Contains(offered, kind+":") { // a name in capitals stands for a value
				err = fmt.Errorf("--%s has no value %s: %v", f.Name, value, offered)
			}
		}
	})
	return err
}
