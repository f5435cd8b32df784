package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/cmd/deskhand/settings"
	"github.com/deskhand/deskhand/runtime/trust"
)

// cloned is a folder that somebody else made, with a deskhand.yaml; what the
// machine remembers of trust is the test's own.
func cloned(t *testing.T, config string) (dir string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, map[string]string{settings.ConfigName: config, "src/.keep": ""})
	t.Setenv("CI", "")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	return dir
}

// ownSettings writes the user's own configuration.
func ownSettings(t *testing.T, config string) {
	t.Helper()
	write(t, os.Getenv("XDG_CONFIG_HOME"), map[string]string{"deskhand/" + settings.ConfigName: config})
}

// baited is a cloned folder whose file moves the store to a folder that is made
// when it is used.
func baited(t *testing.T) (dir, bait string) {
	t.Helper()
	bait = filepath.Join(t.TempDir(), "moved")
	return cloned(t, "store: "+bait+"\n"), bait
}

// there reports whether a path is there.
func there(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// heldOut runs a command that opens the store, and fails if the file of a folder
// moved it.
func heldOut(t *testing.T, dir, bait string, says ...string) {
	t.Helper()
	r := deskhand(t, dir, "ask", "list")
	if there(bait) {
		t.Errorf("the store is where a file says that nobody trusts; stderr %q", r.stderr)
	}
	for _, want := range append(says, ": ignoring store; ") {
		if !strings.Contains(r.stderr, want) || strings.Count(strings.TrimSpace(r.stderr), "\n") > 1 {
			t.Errorf("stderr %q, want one line with %q", r.stderr, want)
		}
	}
}

// letIn is the opposite.
func letIn(t *testing.T, dir, bait string, flags ...string) {
	t.Helper()
	done(t, dir, append([]string{"ask", "list"}, flags...)...)
	if !there(bait) {
		t.Error("the store is not where a file says that a person trusts")
	}
}

func TestAttackDoorsTrustOfPlaces(t *testing.T) {
	for name, place := range map[string]func(t *testing.T, dir string) string{
		"the working directory": func(_ *testing.T, dir string) string { return dir },
		"a folder above":        func(_ *testing.T, dir string) string { return filepath.Join(dir, "src") },
		"through a link to the folder": func(t *testing.T, dir string) string {
			link := filepath.Join(t.TempDir(), "link")
			if err := os.Symlink(dir, link); err != nil {
				t.Skip("NOT TESTED: no symbolic links here:", err)
			}
			return link
		},
		"a link as the file": func(t *testing.T, dir string) string {
			other := t.TempDir()
			if err := os.Symlink(filepath.Join(dir, settings.ConfigName), filepath.Join(other, settings.ConfigName)); err != nil {
				t.Skip("NOT TESTED: no symbolic links here:", err)
			}
			return other
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir, bait := baited(t)
			at := place(t, dir)
			heldOut(t, at, bait, "is not trusted")
			done(t, at, "trust", "--yes")
			letIn(t, at, bait)
		})
	}
	t.Run("a link to the user's own file", func(t *testing.T) { // its relative paths would be the folder's
		dir := cloned(t, "")
		ownSettings(t, "store: moved\n")
		if err := os.Remove(filepath.Join(dir, settings.ConfigName)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(filepath.Join(os.Getenv("XDG_CONFIG_HOME"), "deskhand", settings.ConfigName), filepath.Join(dir, settings.ConfigName)); err != nil {
			t.Skip("NOT TESTED: no symbolic links here:", err)
		}
		deskhand(t, dir, "ask", "list")
		if there(filepath.Join(dir, "moved")) {
			t.Error("a relative path of the user's own file leads into the folder")
		}
	})
	t.Run("another folder with the same bytes", func(t *testing.T) {
		dir, bait := baited(t)
		done(t, dir, "trust", "--yes")
		other := t.TempDir()
		write(t, other, map[string]string{settings.ConfigName: "store: " + bait + "\n"})
		heldOut(t, other, bait, "is not trusted")
	})
}

func TestAttackDoorsTrustEnds(t *testing.T) {
	for name, c := range map[string]struct {
		end  func(t *testing.T, dir, bait string)
		says string
	}{
		"one byte more":    {func(t *testing.T, dir, bait string) { rewrite(t, dir, "store: "+bait+"\n ") }, "has changed since you trusted it"},
		"one byte other":   {func(t *testing.T, dir, bait string) { rewrite(t, dir, "store:\t"+bait+"\n") }, "has changed since you trusted it"},
		"removed":          {func(t *testing.T, dir, _ string) { done(t, dir, "trust", "--remove") }, "is not trusted"},
		"removed from far": {func(t *testing.T, dir, _ string) { done(t, t.TempDir(), "trust", "--remove", dir) }, "is not trusted"},
		"record damaged": {func(t *testing.T, _, _ string) {
			for _, file := range records(t) {
				rewriteFile(t, file, "{}")
			}
		}, "is not trusted"},
		"record cut": {func(t *testing.T, _, _ string) {
			for _, file := range records(t) {
				rewriteFile(t, file, `{"path":`)
			}
		}, "is not trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, bait := baited(t)
			done(t, dir, "trust", "--yes")
			c.end(t, dir, bait)
			heldOut(t, dir, bait, c.says)
		})
	}
}

func rewrite(t *testing.T, dir, text string) {
	rewriteFile(t, filepath.Join(dir, settings.ConfigName), text)
}

func rewriteFile(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// records are the files that say what is trusted.
func records(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(os.Getenv("XDG_STATE_HOME"), "deskhand", "trust", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("records: %q, %v", files, err)
	}
	return files
}

// Ways to word a setting that a look at the key would miss.
func TestAttackDoorsTrustOfSpellings(t *testing.T) {
	for name, config := range map[string]string{
		"plain":             "store: BAIT\n",
		"capitals":          "STORE: BAIT\n",
		"quoted":            "\"st\\u006fre\": BAIT\n",
		"merged":            "x: &x {store: BAIT}\n<<: *x\n",
		"alias":             "name: &n BAIT\nstore: *n\n",
		"tagged":            "store: !!str BAIT\n",
		"JSON":              "{\"store\": \"BAIT\"}",
		"byte-order mark":   "\ufeffstore: BAIT\n",
		"first of two docs": "store: BAIT\n---\nname: x\n",
		"twice":             "store: /nowhere\nSTORE: BAIT\n",
		"beside a group":    "state: BAIT\nstore: BAIT\n",
	} {
		t.Run(name, func(t *testing.T) {
			bait := filepath.Join(t.TempDir(), "moved")
			dir := cloned(t, strings.ReplaceAll(config, "BAIT", bait))
			r := deskhand(t, dir, "ask", "list")
			if there(bait) {
				t.Errorf("the store is moved; exit %d, stderr %q", r.code, r.stderr)
			}
			if r.code == 0 && !strings.Contains(r.stderr, "ignoring") || r.code != 0 && !strings.Contains(r.stderr, "\nhint: ") {
				t.Errorf("exit %d, stderr %q; want what is left out, or a hint", r.code, r.stderr)
			}
		})
	}
	for name, config := range map[string]string{
		"upstreams in capitals": "UpStreams: [{name: h, command: [touch, BAIT]}]\n",
		"upstreams merged":      "x: &x {upstreams: [{name: h, command: [touch, BAIT]}]}\n<<: *x\n",
		"upstreams alias":       "x: &x [{name: h, command: [touch, BAIT]}]\nupstreams: *x\n",
		"upstreams as text":     "upstreams: [{name: h, command: touch BAIT}]\n",
	} {
		t.Run(name, func(t *testing.T) {
			bait := filepath.Join(t.TempDir(), "ran")
			dir := cloned(t, strings.ReplaceAll(config, "BAIT", bait))
			p := unmetIn(t, dir, "--tools", "ask")
			met(p)
			if _, err := p.ask("tools/list", "{}"); err != nil {
				t.Fatal(err)
			}
			if there(bait) {
				t.Error("the upstream of a folder that nobody trusts ran")
			}
		})
	}
}

func TestAttackDoorsTrustOfTheStateFolder(t *testing.T) {
	// A folder comes with records in a state folder that its file names.
	forged := func(t *testing.T, dir, config string) string {
		state := filepath.Join(dir, "state")
		place, err := trust.Place(filepath.Join(dir, settings.ConfigName))
		if err == nil {
			err = trust.In(state).Put(trust.Record{Path: place, Digest: trust.Digest([]byte(config)), Agreed: true})
		}
		if err != nil {
			t.Fatal(err)
		}
		return state
	}
	t.Run("the file names it", func(t *testing.T) {
		bait := filepath.Join(t.TempDir(), "moved")
		config := "state: state\nstore: " + bait + "\n"
		dir := cloned(t, config)
		forged(t, dir, config)
		if r := deskhand(t, dir, "ask", "list"); there(bait) || !strings.Contains(r.stderr, "ignoring state, store;") {
			t.Errorf("a forged record counts: %q", r.stderr)
		}
	})
	t.Run("there is no state folder", func(t *testing.T) {
		dir, bait := baited(t)
		for _, file := range []string{"trust", "."} {
			text, err := os.ReadFile(filepath.Join(dir, settings.ConfigName))
			if err != nil {
				t.Fatal(err)
			}
			forged(t, dir, string(text))
			if err := os.CopyFS(filepath.Join(dir, file), os.DirFS(filepath.Join(dir, "state", "trust"))); err != nil {
				t.Fatal(err)
			}
		}
		t.Setenv("XDG_STATE_HOME", "")
		t.Setenv("HOME", "")
		if r := deskhand(t, dir, "ask", "list"); there(bait) {
			t.Errorf("records of the working directory count: %q", r.stderr)
		}
	})
	t.Run("a trusted file moves it", func(t *testing.T) {
		dir := cloned(t, "")
		config := "state: " + filepath.Join(t.TempDir(), "mine") + "\n"
		rewrite(t, dir, config)
		done(t, dir, "trust", "--yes")
		if row := shownSetting(t, dir, "state"); row.Origin != filepath.Join(dir, settings.ConfigName) {
			t.Errorf("state is %+v", row)
		}
		done(t, dir, "trust", "--remove")
		if row := shownSetting(t, dir, "state"); row.Origin != settings.ByDefault {
			t.Errorf("state is %+v after --remove", row)
		}
	})
}

// A person chose what --config and DESKHAND_CONFIG name. What deskhand found by
// itself and hands on to what it starts, nobody chose.
func TestAttackDoorsTrustOfNamedFiles(t *testing.T) {
	t.Run("--config", func(t *testing.T) {
		dir, bait := baited(t)
		letIn(t, dir, bait, "--config", settings.ConfigName)
	})
	t.Run("DESKHAND_CONFIG", func(t *testing.T) {
		dir, bait := baited(t)
		t.Setenv("DESKHAND_CONFIG", filepath.Join(dir, settings.ConfigName))
		letIn(t, t.TempDir(), bait)
	})
	t.Run("handed on with its digest", func(t *testing.T) {
		dir, bait := baited(t)
		text, err := os.ReadFile(filepath.Join(dir, settings.ConfigName))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv("DESKHAND_CONFIG", filepath.Join(dir, settings.ConfigName))
		t.Setenv(settings.DigestVariable, trust.Digest(text))
		letIn(t, t.TempDir(), bait)
	})
	t.Run("handed on and changed since", func(t *testing.T) {
		dir, bait := baited(t)
		t.Setenv("DESKHAND_CONFIG", filepath.Join(dir, settings.ConfigName))
		t.Setenv(settings.DigestVariable, trust.Digest([]byte("name: x\n")))
		heldOut(t, t.TempDir(), bait)
	})
	t.Run("handed on without trust", func(t *testing.T) {
		dir, bait := baited(t)
		t.Setenv("DESKHAND_CONFIG", filepath.Join(dir, settings.ConfigName))
		t.Setenv(settings.DigestVariable, settings.UntrustedDigest)
		heldOut(t, t.TempDir(), bait)
	})
	t.Run("a digest for a file that was found", func(t *testing.T) {
		dir, bait := baited(t)
		text, err := os.ReadFile(filepath.Join(dir, settings.ConfigName))
		if err != nil {
			t.Fatal(err)
		}
		t.Setenv(settings.DigestVariable, trust.Digest(text))
		heldOut(t, dir, bait)
	})
}

func TestAttackDoorsTrustOfAnotherOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("NOT RUN: only root can give a file to somebody else")
	}
	dir, bait := baited(t)
	if err := os.Chown(filepath.Join(dir, settings.ConfigName), 54321, -1); err != nil {
		t.Fatal(err)
	}
	t.Run("its settings", func(t *testing.T) { heldOut(t, dir, bait, "belongs to the user 54321", "pass the file with --config") })
	t.Run("trust --yes", func(t *testing.T) {
		if r := deskhand(t, dir, "trust", "--yes"); r.code != 2 || !strings.Contains(r.stderr, "belongs to the user 54321") || !strings.Contains(r.stderr, "\nhint: ") {
			t.Errorf("exit %d, stderr %q", r.code, r.stderr)
		}
		heldOut(t, dir, bait)
	})
	t.Run("--config", func(t *testing.T) { letIn(t, dir, bait, "--config", settings.ConfigName) })
}

func TestAttackDoorsTrustInsideAnAttempt(t *testing.T) {
	for name, args := range map[string][]string{
		"trust": {"trust"}, "trust --yes": {"trust", "--yes"}, "trust DIR --yes": {"trust", ".", "--yes"}, "trust --remove": {"trust", "--remove"}, "trust --list": {"trust", "--list"},
	} {
		t.Run(name, func(t *testing.T) {
			dir, bait := baited(t)
			t.Setenv("DESKHAND_ATTEMPT_ID", "attempt-1")
			if r := deskhand(t, dir, args...); r.code == 0 || !strings.Contains(r.stderr, `"deskhand trust" is refused inside an attempt`) {
				t.Errorf("exit %d, stderr %q", r.code, r.stderr)
			}
			heldOut(t, dir, bait)
		})
	}
}

// Files that are none, or too much of one.
func TestAttackDoorsTrustOfOddFiles(t *testing.T) {
	for name, config := range map[string]string{
		"a megabyte and more": "# " + strings.Repeat("x", settings.MaxProjectFile) + "\nstore: /nowhere\n",
		"many aliases":        manyAliases(12),
		"deep":                strings.Repeat("[", 20_000),
		"no keys":             "- a\n- b\n",
		"broken":              "store: [\n",
	} {
		t.Run(name, func(t *testing.T) {
			dir := cloned(t, config)
			for _, args := range [][]string{{"ask", "list"}, {"config"}, {"trust", "--yes"}} {
				if r := deskhand(t, dir, args...); r.code != 2 || !strings.Contains(r.stderr, "\nhint: ") {
					t.Errorf("deskhand %s: exit %d, stderr %.300q", args[0], r.code, r.stderr)
				}
			}
		})
	}
}

// manyAliases is a list whose length is 9 to the power of n.
func manyAliases(n int) string {
	var b strings.Builder
	last := "x"
	for i := range n {
		name := "a" + string(rune('a'+i))
		b.WriteString(name + ": &" + name + " [" + strings.TrimSuffix(strings.Repeat(last+", ", 9), ", ") + "]\n")
		last = "*" + name
	}
	return b.String()
}

// An index is not built into a folder that a file names which nobody trusts,
// outside of its own.
func TestAttackDoorsTrustOfTheIndexFolder(t *testing.T) {
	for name, c := range map[string]struct {
		index string
		out   bool
	}{"inside": {"out/index", false}, "above": {"../index", true}, "absolute": {"OUTSIDE", true}, "by a link": {"link/index", true}, "by a link to nothing": {"dead/index", true}} {
		t.Run(name, func(t *testing.T) {
			outside := t.TempDir()
			index := strings.ReplaceAll(c.index, "OUTSIDE", filepath.Join(outside, "index"))
			dir := cloned(t, "")
			nested := filepath.Join(dir, "repo")
			write(t, nested, map[string]string{settings.ConfigName: "index: " + index + "\n", "docs/a.md": "# A\n"})
			if err := os.Symlink(outside, filepath.Join(nested, "link")); err != nil {
				t.Skip("NOT TESTED: no symbolic links here:", err)
			}
			if err := os.Symlink(filepath.Join(outside, "none"), filepath.Join(nested, "dead")); err != nil {
				t.Fatal(err)
			}
			r := deskhand(t, nested, "index", "docs")
			if c.out == (r.code == 0) || c.out && !strings.Contains(r.stderr, "outside its folder") {
				t.Errorf("index: %s: exit %d, stderr %q", index, r.code, r.stderr)
			}
			done(t, nested, "trust", "--yes")
			if c.out && name != "by a link to nothing" {
				if r := deskhand(t, nested, "index", "docs", "-o", "mine"); r.code != 0 {
					t.Errorf("with -o: exit %d, stderr %q", r.code, r.stderr)
				}
			}
		})
	}
}

// A metadata.json that came with a folder makes no other folder the corpus.
func TestAttackDoorsTrustOfTheCorpusFolder(t *testing.T) {
	for name, c := range map[string]struct {
		corpus string
		out    bool
	}{"below": {"docs", false}, "itself": {".", false}, "beside": {"../private", true}, "above": {"..", true}, "by a link": {"link", true}, "above and back": {"../repo/docs", false}} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, dir, map[string]string{"repo/docs/a.md": "# A\n", "private/b.md": "# Secret\n", "repo/metadata.json": `{"corpus": "` + c.corpus + `", "corpus_description": "manual"}`})
			repo := filepath.Join(dir, "repo")
			if err := os.Symlink(filepath.Join(dir, "private"), filepath.Join(repo, "link")); err != nil {
				t.Skip("NOT TESTED: no symbolic links here:", err)
			}
			r := deskhand(t, repo, "index")
			if c.out == (r.code == 0) || c.out && !strings.Contains(r.stderr, "outside its folder") {
				t.Errorf("corpus %s: exit %d, %q", c.corpus, r.code, r.stderr)
			}
			if c.out {
				done(t, repo, "index", c.corpus, "--metadata", "metadata.json")
			}
		})
	}
}
