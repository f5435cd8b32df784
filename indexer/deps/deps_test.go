package deps

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/deskhand/deskhand/indexer/oci/registrytest"
	"github.com/deskhand/deskhand/indexer/shelf"
	"github.com/deskhand/deskhand/runtime/fault"
)

func put(t testing.TB, dir string, files map[string]string) string {
	t.Helper()
	for name, content := range files {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// project is a folder that ends the search upward, with nothing of this machine.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := put(t, t.TempDir(), files)
	put(t, dir, map[string]string{".git/HEAD": "ref: refs/heads/main\n"})
	t.Setenv("GOMODCACHE", filepath.Join(dir, "no-cache"))
	t.Setenv("CARGO_HOME", filepath.Join(dir, "no-cargo"))
	t.Setenv("VIRTUAL_ENV", "")
	return dir
}

// told is a list of dependencies, one a line; "-" before indirect ones, "?" behind
// those that are not on this disk.
func told(list []Dependency) string {
	var b strings.Builder
	for _, d := range list {
		if !d.Direct {
			b.WriteString("-")
		}
		b.WriteString(string(d.Ecosystem) + " " + d.Name + " " + d.Version)
		if d.Dir == "" {
			b.WriteString(" ?")
		}
		b.WriteString("\n")
	}
	return b.String()
}

func read(t *testing.T, dir string, all bool) []Dependency {
	t.Helper()
	list, err := Read(t.Context(), dir, all)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func wantTold(t *testing.T, list []Dependency, want string) {
	t.Helper()
	if got := told(list); strings.TrimSpace(got) != strings.TrimSpace(want) {
		t.Errorf("got\n%s\nand not\n%s", got, want)
	}
}

// made are the pages of one dependency, by name.
func made(t *testing.T, d Dependency) (map[string]string, *pages) {
	t.Helper()
	dir := t.TempDir()
	p, err := write(t.Context(), dir, d)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	_ = filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			t.Fatal(err)
		}
		if !d.IsDir() {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			rel, _ := filepath.Rel(dir, path)
			files[filepath.ToSlash(rel)] = string(b)
		}
		return nil
	})
	return files, p
}

func wantIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in\n%s", part, text)
		}
	}
}

func wantNotIn(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if strings.Contains(text, part) {
			t.Errorf("%q is in\n%s", part, text)
		}
	}
}

const goMod = `module example.com/app

go 1.24

require (
	example.com/Frame v1.2.0
	example.com/old v0.1.0
	example.com/mine v0.0.1
)

require example.com/deep v0.3.0 // indirect

replace example.com/old => example.com/fork v0.9.0

replace example.com/mine => ../mine
`

func TestModules(t *testing.T) {
	dir := project(t, map[string]string{"go.mod": goMod, "cmd/x/x.go": "package main\n"})
	cache := t.TempDir()
	t.Setenv("GOMODCACHE", cache)
	put(t, cache, map[string]string{
		"example.com/!frame@v1.2.0/README.md":           "---\ntitle: Frames\nlibrary: evil\n---\nHow frames work.\n",
		"example.com/!frame@v1.2.0/LICENSE":             "Permission is hereby granted, free of charge, to any person obtaining a copy",
		"example.com/!frame@v1.2.0/frame.go":            "// Package frame reads frames.\n//\n// # Deadlines\n//\n// See [Reader.Next].\npackage frame\n\nimport \"time\"\n\n// Limit is the largest frame.\nconst Limit = 1 << 20\n\n// Reader reads frames.\ntype Reader struct {\n\t// Wait is the deadline.\n\tWait time.Duration\n\tsecret int\n}\n\n// Next reads a frame with a deadline.\nfunc (r *Reader) Next(d time.Duration) ([]byte, error) { return nil, nil }\n\n// New makes one.\nfunc New() *Reader { return nil }\n\nfunc hidden() {}\n",
		"example.com/!frame@v1.2.0/frame_windows.go":    "package frame\n\n// Pipe is of Windows.\nfunc Pipe() {}\n",
		"example.com/!frame@v1.2.0/frame_linux.go":      "package frame\n\n// Splice is of Linux.\nfunc Splice() {}\n",
		"example.com/!frame@v1.2.0/gen.go":              "//go:build ignore\n\npackage main\n\nfunc Gen() {}\n",
		"example.com/!frame@v1.2.0/example_test.go":     "package frame_test\n\nimport (\n\t\"fmt\"\n\n\t\"example.com/Frame\"\n)\n\nfunc ExampleReader_Next() {\n\tr := frame.New()\n\t// a comment\n\tfmt.Println(r)\n\t// Output: <nil>\n}\n",
		"example.com/!frame@v1.2.0/internal/x/x.go":     "// Package x is internal.\npackage x\n",
		"example.com/!frame@v1.2.0/testdata/a.md":       "# Not docs\n",
		"example.com/!frame@v1.2.0/sub/sub.go":          "// Package sub is below.\npackage sub\n\n// Do does.\nfunc Do() {}\n",
		"example.com/!frame@v1.2.0/other/go.mod":        "module example.com/Frame/other\n",
		"example.com/!frame@v1.2.0/other/other.go":      "// Package other is a module.\npackage other\n",
		"example.com/!frame@v1.2.0/conv/v1.9.0/conv.go": "// Package conv is old.\npackage conv\n",
		"example.com/!frame@v1.2.0/conv/v1.10.0/c.go":   "// Package conv is new.\npackage conv\n",
		"example.com/!frame@v1.2.0/broken/b.go":         "package broken\n\nfunc {\n",
		"example.com/fork@v0.9.0/old.go":                "// Package old is forked.\npackage old\n",
	})
	list := read(t, filepath.Join(dir, "cmd", "x"), false) // upward
	wantTold(t, list, "go example.com/Frame v1.2.0\ngo example.com/mine v0.0.1 ?\ngo example.com/old v0.9.0")
	wantIn(t, list[1].Why, "../mine", "deskhand add")
	wantTold(t, read(t, dir, true)[:1], "go example.com/Frame v1.2.0")
	if n := len(read(t, dir, true)); n != 4 {
		t.Errorf("--all has %d", n)
	}
	files, p := made(t, list[0])
	wantIn(t, files["README.md"], "# Frames\n\nHow frames work.")
	wantNotIn(t, files["README.md"], "evil")
	wantIn(t, files["api/frame.md"], "# Package frame\n", `import "example.com/Frame"`, "## Deadlines", "## const Limit", "## type Reader", "Wait time.Duration",
		"## func (*Reader) Next\n\n```go\nfunc (r *Reader) Next(d time.Duration) ([]byte, error)\n```\n\nNext reads a frame with a deadline.", "## func New", "## func Splice", "### Example", "r := frame.New()\n// a comment\n", "<nil>")
	wantNotIn(t, files["api/frame.md"], "Pipe", "Gen", "hidden", "secret")
	wantIn(t, files["api/conv/v1.10.0.md"], "is new")
	wantIn(t, files["api/sub.md"], "## func Do")
	for _, gone := range []string{"api/internal/x.md", "testdata/a.md", "api/other.md", "api/conv/v1.9.0.md"} {
		if files[gone] != "" {
			t.Errorf("%s is a page", gone)
		}
	}
	wantIn(t, strings.Join(p.notes, "\n"), "broken/b.go", "conv: older versions")
	again, _ := made(t, list[0])
	for name, text := range files {
		if again[name] != text {
			t.Errorf("%s differs the second time", name)
		}
	}
}

func TestVendoredModulesNeedTheVersion(t *testing.T) {
	dir := project(t, map[string]string{
		"go.mod":                    "module m\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/b v1.0.0\n)\n",
		"vendor/modules.txt":        "# example.com/a v1.0.0\n## explicit\n# example.com/b v1.1.0\n",
		"vendor/example.com/a/a.go": "// Package a is vendored.\npackage a\n", "vendor/example.com/b/b.go": "package b\n",
	})
	wantTold(t, read(t, dir, false), "go example.com/a v1.0.0\ngo example.com/b v1.0.0 ?")
}

func TestNPM(t *testing.T) {
	installed := map[string]string{
		"node_modules/next/package.json":                        `{"name":"next","version":"16.0.3","types":"./dist/index.d.ts","exports":{".":{"types":"./dist/index.d.ts"},"./server":{"import":{"types":"./dist/server.d.ts"}}}}`,
		"node_modules/next/README.md":                           "# Next\n\nThe framework.\n",
		"node_modules/next/dist/server.d.ts":                    "/** Runs after. */\nexport declare function after(task: () => void): void;\n",
		"node_modules/next/dist/index.d.ts":                     "/** The licence. */\nimport x from \"y\";\nexport * from './cache';\n/**\n * Reads a `frame`.\n * @param name of it\n */\nexport declare function read(name: string, o?: { a: ';' }): Promise<void>;\ndeclare const hidden: string;\n/** What it takes. */\nexport interface Options {\n  /** In seconds; */\n  wait?: number\n}\nexport type Id = string | number\nexport declare const a: number\n",
		"node_modules/next/dist/cache.d.ts":                     "declare function unstable(): void;\n/** Listed. */\ndeclare class Cache { get(): string }\nexport { Cache as C };\n",
		"node_modules/@scope/kit/package.json":                  `{"name":"@scope/kit","version":"2.0.0"}`,
		"node_modules/@scope/kit/index.d.ts":                    "export = Kit;\ndeclare namespace Kit {\n  /** Of it. */\n  function make(): void;\n}\n",
		"node_modules/@scope/kit/node_modules/low/package.json": `{"name":"low","version":"0.1.0"}`,
		"node_modules/stale/package.json":                       `{"name":"stale","version":"1.0.1"}`,
	}
	locks := map[string]map[string]string{
		"package-lock.json": {"package-lock.json": `{"lockfileVersion":3,"packages":{"":{"dependencies":{"next":"^16"},"devDependencies":{"@scope/kit":"*"}},
"packages/a":{"name":"a","dependencies":{"stale":"1","b":"*"}},"packages/b":{"name":"b","dependencies":{"a":"*"}},"node_modules/a":{"resolved":"packages/a","link":true},"node_modules/b":{"resolved":"packages/b","link":true},
"node_modules/next":{"version":"16.0.3"},"node_modules/@scope/kit":{"version":"2.0.0"},"node_modules/@scope/kit/node_modules/low":{"version":"0.1.0"},"node_modules/stale":{"version":"1.0.0"}}}`},
		"pnpm-lock.yaml": {"pnpm-lock.yaml": "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      next:\n        specifier: ^16\n        version: 16.0.3(react@19.0.0)\n      stale:\n        specifier: '1'\n        version: 1.0.0\n    devDependencies:\n      '@scope/kit':\n        specifier: '*'\n        version: 2.0.0\n      a:\n        specifier: workspace:*\n        version: link:packages/a\npackages:\n  next@16.0.3:\n    resolution: {}\n  stale@1.0.0: {}\n  '@scope/kit@2.0.0': {}\n  low@0.1.0: {}\n"},
		"yarn.lock": {"yarn.lock": "# yarn lockfile v1\n\n\"@scope/kit@*\":\n  version \"2.0.0\"\n  dependencies:\n    low \"0\"\n\nlow@0:\n  version \"0.1.0\"\n\nnext@^16, next@>15:\n  version \"16.0.3\"\n\nstale@1:\n  version \"1.0.0\"\n",
			"package.json": `{"dependencies":{"next":"^16","stale":"1"},"devDependencies":{"@scope/kit":"*"}}`},
		"yarn 4": {"yarn.lock": "__metadata:\n  version: 8\n\n\"@scope/kit@npm:*\":\n  version: 2.0.0\n\n\"low@npm:0\":\n  version: 0.1.0\n\n\"next@npm:>15, next@npm:^16\":\n  version: 16.0.3\n\n\"stale@npm:1\":\n  version: 1.0.0\n\n\"app@workspace:.\":\n  version: 0.0.0-use.local\n",
			"package.json": `{"dependencies":{"next":"^16","stale":"1"},"devDependencies":{"@scope/kit":"*"}}`},
	}
	for name, lock := range locks {
		t.Run(name, func(t *testing.T) {
			dir := project(t, installed)
			put(t, dir, lock)
			list := read(t, dir, false)
			wantTold(t, list, "npm @scope/kit 2.0.0\nnpm next 16.0.3\nnpm stale 1.0.0 ?")
			wantIn(t, list[2].Why, "version 1.0.1", "1.0.0")
			all := told(read(t, dir, true))
			wantIn(t, all, "-npm low 0.1.0")
			if name == "package-lock.json" {
				wantNotIn(t, all, "-npm low 0.1.0 ?")
				files, _ := made(t, list[1])
				wantIn(t, files["api/dist/index.md"], "## function read\n\n```ts\nexport declare function read(name: string, o?: { a: ';' }): Promise<void>;\n```\n\nReads a `frame`.\n- param: name of it", "## interface Options", "wait?: number\n}", "## type Id\n\n```ts\nexport type Id = string | number\n```", "## const a")
				wantNotIn(t, files["api/dist/index.md"], "hidden", "The licence")
				wantIn(t, files["api/dist/cache.md"], "## class Cache", "Listed.")
				wantNotIn(t, files["api/dist/cache.md"], "unstable")
				wantIn(t, files["api/dist/server.md"], "## function after", "Runs after.")
				files, _ = made(t, list[0])
				wantIn(t, files["api/index.md"], "## function Kit.make", "Of it.")
			}
		})
	}
}

func TestPython(t *testing.T) {
	site := ".venv/lib/python3.12/site-packages/"
	installed := map[string]string{
		site + "Flask_Login-0.6.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: Flask-Login\nVersion: 0.6.3\nDescription-Content-Type: text/markdown; charset=UTF-8\n\n# Flask-Login\n\nSessions of users.\n",
		site + "Flask_Login-0.6.3.dist-info/RECORD":   "flask_login/docs/use.md,,\n../../../../secret.md,,\n/etc/passwd.md,,\nflask_login/link.md,,\n",
		site + "flask_login/docs/use.md":              "# Use\n\nText.\n",
		"secret.md":                                   "# Secret\n",
		site + "old-1.0.dist-info/METADATA":           "Metadata-Version: 2.1\nName: old\nVersion: 1.0\n\nOld\n===\n\nText::\n\n  code\n",
		site + "low-2.0.dist-info/METADATA":           "Metadata-Version: 2.1\nName: low\nVersion: 2.0\n\n",
	}
	locks := map[string]map[string]string{
		"uv.lock":          {"uv.lock": "version = 1\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"flask-login\" }]\n[package.dev-dependencies]\ndev = [{ name = \"old\" }]\n[[package]]\nname = \"flask-login\"\nversion = \"0.6.3\"\nsource = { registry = \"https://r\" }\n[[package]]\nname = \"low\"\nversion = \"2.0\"\nsource = { registry = \"https://r\" }\n[[package]]\nname = \"old\"\nversion = \"1.0\"\nsource = { registry = \"https://r\" }\n"},
		"poetry.lock":      {"poetry.lock": "[[package]]\nname = \"flask-login\"\nversion = \"0.6.3\"\n[[package]]\nname = \"low\"\nversion = \"2.0\"\n[[package]]\nname = \"old\"\nversion = \"1.0\"\n", "pyproject.toml": "[tool.poetry.dependencies]\npython = \"^3.12\"\nFlask_Login = \"*\"\n[tool.poetry.group.dev.dependencies]\nold = \"*\"\n"},
		"requirements.txt": {"requirements.txt": "# made by a tool\nflask-login==0.6.3 \\\n    --hash=sha256:00\n    # via -r requirements.in\nlow==2.0\n    # via flask-login\n-r more.txt\n", "more.txt": "-r requirements.txt\nold>=0.9 ; python_version > '3'\n"},
	}
	for name, lock := range locks {
		t.Run(name, func(t *testing.T) {
			dir := project(t, installed)
			put(t, dir, lock)
			if err := os.Symlink(filepath.Join(dir, "secret.md"), filepath.Join(dir, site, "flask_login/link.md")); err != nil {
				t.Fatal(err)
			}
			list := read(t, dir, false)
			wantTold(t, list, "python flask-login 0.6.3\npython old 1.0") // requirements.txt does not pin old: it is as installed
			wantIn(t, told(read(t, dir, true)), "-python low 2.0")
			files, _ := made(t, list[0])
			wantIn(t, files["README.md"], "Sessions of users.")
			wantIn(t, files["flask_login/docs/use.md"], "# Use")
			if len(files) != 2 {
				t.Errorf("pages are %v", files)
			}
			files, p := made(t, list[1])
			wantIn(t, files["README.md"], "Old\n===")
			wantIn(t, strings.Join(p.notes, "\n"), "plain text")
		})
	}
}

func TestRust(t *testing.T) {
	dir := project(t, map[string]string{
		"Cargo.lock": "version = 4\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\"frame 1.0.2\", \"forked\"]\n[[package]]\nname = \"frame\"\nversion = \"1.0.2\"\nsource = \"registry+https://r\"\ndependencies = [\"frame 0.9.0\"]\n[[package]]\nname = \"frame\"\nversion = \"0.9.0\"\nsource = \"registry+https://r\"\n[[package]]\nname = \"forked\"\nversion = \"0.1.0\"\nsource = \"git+https://g/x#abc\"\n",
		"cargo/registry/src/index-1/frame-1.0.2/src/lib.rs": "// A licence.\n#![doc(\n  html_root_url = \"x\"\n)]\n//! Reads frames.\n//!\n//! ```\n//! # use frame;\n//! let a = 1;\n//! ```\n#![warn(x)]\n//! More.\nuse std;\n//! Not of the crate.\n",
		"cargo/registry/src/index-1/frame-1.0.2/README.md":  "# frame\n\nText.\n",
	})
	t.Setenv("CARGO_HOME", filepath.Join(dir, "cargo"))
	list := read(t, dir, false)
	wantTold(t, list, "rust forked 0.1.0 ?\nrust frame 1.0.2")
	wantIn(t, list[0].Why, "git+https://g/x#abc")
	files, _ := made(t, list[1])
	wantIn(t, files["api/lib.md"], "# Crate frame 1.0.2\n\nReads frames.", "```\nlet a = 1;\n```", "More.")
	wantNotIn(t, files["api/lib.md"], "use frame", "Not of")
	wantIn(t, told(read(t, dir, true)), "-rust frame 0.9.0 ?")
}

func TestBrokenLockFilesNameTheLine(t *testing.T) {
	for file, c := range map[string]struct{ text, at string }{
		"go.mod":            {"module m\n\nrequire example.com/a\n", "go.mod:3"},
		"package-lock.json": {"{\n  \"packages\": {\n    \"\": oops\n", "package-lock.json:3"},
		"package.json":      {"{\n  \"dependencies\": 3\n}", "package.json:2"},
		"pnpm-lock.yaml":    {"importers:\n  .:\n   - x\n  y: [\n", "pnpm-lock.yaml:"},
		"yarn.lock":         {"# yarn lockfile v1\n\nbroken\n", "yarn.lock:3"},
		"uv.lock":           {"[[package]]\nname = \n", "uv.lock:2"},
		"poetry.lock":       {"[[package]]\nname = \"a\"\n[[\n", "poetry.lock:3"},
		"requirements.txt":  {"a==1\n\n==2\n", "requirements.txt:3"},
		"Cargo.lock":        {"[[package]]\nname = \"a\n", "Cargo.lock:2"},
	} {
		t.Run(file, func(t *testing.T) {
			dir := project(t, map[string]string{file: c.text})
			_, err := Read(t.Context(), dir, false)
			f := fault.Of(err)
			if f == nil || f.Code != "bad_lock_file" || !strings.Contains(f.Message, c.at) || f.Hint == "" {
				t.Errorf("%s: %v", file, err)
			}
		})
	}
	dir := project(t, nil)
	if f := fault.Of(second(Read(t.Context(), dir, false))); f == nil || f.Code != "no_lock_file" {
		t.Errorf("without a lock file: %v", f)
	}
}

func second[A, B any](_ A, b B) B { return b }

func TestHostileNamesAndLinks(t *testing.T) {
	outside := put(t, t.TempDir(), map[string]string{"package.json": `{"name":"out","version":"1.0.0"}`, "README.md": "# Outside\n"})
	dir := project(t, map[string]string{
		"package-lock.json": `{"packages":{"":{"dependencies":{"../../etc":"1","out":"1","a\u001b[31m":"1","big":"1"}},
"node_modules/../../etc":{"version":"1.0.0"},"node_modules/out":{"version":"1.0.0"},"node_modules/a\u001b[31m":{"version":"1"},"node_modules/big":{"version":"1.0.0","name":"big"}}}`,
		"node_modules/big/package.json": `{"name":"big","version":"1.0.0","types":"../../secret.d.ts","exports":{"types":"/etc/passwd"}}`,
		"node_modules/big/README.md":    "# Big\n",
		"secret.d.ts":                   "export type Secret = 1;\n",
		"requirements.txt":              "..\n-e .\n-r /etc/hosts\n",
	})
	_, err := Read(t.Context(), dir, true)
	if f := fault.Of(err); f == nil || !strings.Contains(f.Message, "requirements.txt:3") {
		t.Errorf("a file outside of the project: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "requirements.txt")); err != nil {
		t.Fatal(err)
	}
	big := filepath.Join(dir, "node_modules", "big")
	if err := os.WriteFile(filepath.Join(big, "huge.md"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{os.Truncate(filepath.Join(big, "huge.md"), 50<<20), os.Symlink(outside, filepath.Join(dir, "node_modules", "out")),
		os.Symlink(filepath.Join(outside, "README.md"), filepath.Join(big, "link.md")), os.Symlink(big, filepath.Join(big, "loop")), os.Symlink(outside, filepath.Join(big, "docs"))} {
		if err != nil {
			t.Fatal(err)
		}
	}
	list := read(t, dir, true)
	for _, d := range list {
		if d.Name == "big" {
			files, p := made(t, d)
			if len(files) != 1 || files["README.md"] != "# Big\n" {
				t.Errorf("pages are %v", files)
			}
			wantIn(t, strings.Join(p.notes, "\n"), "huge.md: it is larger than 4 MB")
			continue
		}
		if d.Dir != "" || d.Why == "" || strings.ContainsRune(d.Name+d.Why, 0x1b) {
			t.Errorf("%+v", d)
		}
	}
	if len(list) != 4 {
		t.Errorf("got\n%s", told(list))
	}
}

// A package of a monorepo has no lock file of its own. Its dependencies are locked at the
// root, unless it is a project of its own.
func TestAPackageOfAMonorepoUsesTheLockFileAtTheRoot(t *testing.T) {
	dir := project(t, map[string]string{
		"yarn.lock": "# yarn lockfile v1\n\nnext@1:\n  version \"1.0.0\"\n", "package.json": `{"workspaces":["packages/*"]}`,
		"packages/a/package.json": `{"dependencies":{"next":"1"}}`, "packages/a/esm/package.json": `{"type":"module"}`,
		"own/package.json": `{"dependencies":{"next":"1"}}`, "node_modules/next/package.json": `{"name":"next","version":"1.0.0"}`,
		"own/node_modules/next/package.json": `{"name":"next","version":"1.1.0"}`,
	})
	for in, want := range map[string]string{"packages/a": "1.0.0 from yarn.lock", "packages/a/esm": "1.0.0 from yarn.lock", "own": "1.1.0 from package.json"} {
		list := read(t, filepath.Join(dir, filepath.FromSlash(in)), false)
		if len(list) != 1 || list[0].Version+" from "+list[0].Why != want {
			t.Errorf("in %s: %+v, want %s", in, list, want)
		}
	}
	put(t, dir, map[string]string{"pnpm-workspace.yaml": "packages: [own]\n", "pnpm-lock.yaml": "importers:\n  own:\n    dependencies:\n      next:\n        version: 1.0.0\n"})
	wantTold(t, read(t, filepath.Join(dir, "own"), false), "npm next 1.0.0")
}

func TestWorkspacesInACycle(t *testing.T) {
	dir := project(t, map[string]string{
		"yarn.lock": "# yarn lockfile v1\n\nnext@1:\n  version \"1.0.0\"\n", "package.json": `{"workspaces":["packages/*","../*"]}`,
		"packages/a/package.json": `{"name":"a","dependencies":{"b":"*","next":"1"}}`, "packages/b/package.json": `{"name":"b","dependencies":{"a":"*"}}`,
	})
	if err := os.Symlink("..", filepath.Join(dir, "packages", "loop")); err != nil {
		t.Fatal(err)
	}
	wantTold(t, read(t, dir, false), "npm next 1.0.0 ?")
}

func TestAddTwiceAndUpdate(t *testing.T) {
	dir := project(t, map[string]string{
		"go.mod":                               "module m\n\nrequire (\n\texample.com/a v1.0.0\n\texample.com/bare v1.0.0\n\texample.com/gone v1.0.0\n)\n",
		"cache/example.com/a@v1.0.0/README.md": "# A\n\nText.\n", "cache/example.com/a@v1.0.0/target/x.go": "// Package target aims.\npackage target\n", "cache/example.com/bare@v1.0.0/x.c": "int x;\n",
		"Cargo.lock": "[[package]]\nname = \"app\"\nversion = \"1.0.0\"\ndependencies = [\"yaml\"]\n[[package]]\nname = \"yaml\"\nversion = \"1.0.0\"\nsource = \"registry+x\"\n", "cargo/registry/src/i/yaml-1.0.0/README.md": "# Rust\n",
		"package-lock.json": `{"packages":{"":{"dependencies":{"yaml":"1"}},"node_modules/yaml":{"version":"1.0.0"}}}`, "node_modules/yaml/package.json": `{"name":"yaml","version":"1.0.0"}`, "node_modules/yaml/README.md": "# JavaScript\n",
	})
	t.Setenv("GOMODCACHE", filepath.Join(dir, "cache"))
	t.Setenv("CARGO_HOME", filepath.Join(dir, "cargo"))
	s := shelf.Shelf{Dir: filepath.Join(t.TempDir(), "shelf")}
	add := func() Report {
		r, err := Add(t.Context(), s, Options{Dir: dir})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := add()
	var ids []string
	for _, l := range first.Libraries {
		if l.Unchanged {
			t.Errorf("%s is unchanged at first", l.ID())
		}
		ids = append(ids, l.ID())
	}
	if got := strings.Join(ids, " "); got != "example.com/a@v1.0.0 yaml@1.0.0 rust/yaml@1.0.0" {
		t.Errorf("libraries are %s", got)
	}
	if a := first.Libraries[0]; a.Source != "dep:go/example.com/a" || a.Pages != 2 || a.Revision != Generator {
		t.Errorf("%+v", a.Entry)
	}
	wantIn(t, strings.Join(first.Lines(), "\n"), "example.com/bare v1.0.0: it has no Markdown", "example.com/gone v1.0.0: it is not in the module cache")
	again := add()
	for i, l := range again.Libraries {
		if !l.Unchanged || l.Index != first.Libraries[i].Index {
			t.Errorf("%s was made again", l.ID())
		}
	}
	other := shelf.Shelf{Dir: filepath.Join(t.TempDir(), "shelf")}
	twin, err := Add(t.Context(), other, Options{Dir: dir})
	if err != nil || twin.Libraries[0].Index != first.Libraries[0].Index {
		t.Errorf("the same files gave another index: %v", err)
	}
	checkUpdate(t, s, dir, first.Libraries[0].Entry)
}

// What somebody else made of a dependency and pushed counts as that dependency, if
// it has its name.
func TestPulledDependenciesAreNotMadeAgain(t *testing.T) {
	host := registrytest.Start(t, false)
	registrytest.Login(t, host, "")
	dir := project(t, map[string]string{"go.mod": "module m\n\nrequire example.com/a v1.0.0\n", "cache/example.com/a@v1.0.0/README.md": "# A\n\nText.\n"})
	t.Setenv("GOMODCACHE", filepath.Join(dir, "cache"))
	mine := shelf.Shelf{Dir: filepath.Join(t.TempDir(), "mine")}
	made, err := Add(t.Context(), mine, Options{Dir: dir})
	if err != nil || len(made.Libraries) != 1 {
		t.Fatalf("%+v, %v", made, err)
	}
	if _, err := mine.Push(t.Context(), made.Libraries[0].Entry, host+"/a:1", nil, shelf.Options{}); err != nil {
		t.Fatal(err)
	}
	for name, unchanged := range map[string]bool{"": true, "other": false} {
		theirs := shelf.Shelf{Dir: filepath.Join(t.TempDir(), "theirs")}
		if _, err := theirs.Add(t.Context(), shelf.Options{Source: "oci://" + host + "/a:1", Name: name}); err != nil {
			t.Fatal(err)
		}
		r, err := Add(t.Context(), theirs, Options{Dir: dir})
		if err != nil || len(r.Libraries) != 1 || r.Libraries[0].Unchanged != unchanged || r.Libraries[0].Index != made.Libraries[0].Index {
			t.Errorf("pulled as %q: %+v, %v", name, r, err)
		}
	}
}

// checkUpdate updates a library as it is, and as an older generator left it.
func checkUpdate(t *testing.T, s shelf.Shelf, dir string, e shelf.Entry) {
	t.Helper()
	if _, err := s.Update(t.Context(), e, shelf.Options{}); fault.Of(err) == nil || !strings.Contains(fault.Of(err).Hint, "add --deps") {
		t.Errorf("without Remake: %v", err)
	}
	o := shelf.Options{Remake: Remake}
	r, err := s.Update(t.Context(), e, o)
	if err != nil || !r.Unchanged {
		t.Errorf("%v, unchanged %t", err, r.Unchanged)
	}
	if err := s.Remove(e); err != nil {
		t.Fatal(err)
	}
	e.Revision = "deps-0"
	t.Chdir(dir)
	if r, err = s.Update(t.Context(), e, o); err != nil || r.Unchanged || r.Revision != Generator || r.Index != e.Index {
		t.Errorf("of an older generator: %v, %+v", err, r.Entry)
	}
	t.Setenv("GOMODCACHE", filepath.Join(dir, "nothing"))
	if _, err = s.Update(t.Context(), e, o); fault.Of(err) == nil || fault.Of(err).Code != "no_dependency" {
		t.Errorf("not on this disk: %v", err)
	}
}

func TestFetchAsksTheToolsOfTheProject(t *testing.T) {
	dir := project(t, map[string]string{
		"package-lock.json":         `{"packages":{"":{"dependencies":{"far":"1"}},"node_modules/far":{"version":"1.0.0"}}}`,
		"tree/package/package.json": `{"name":"far","version":"1.0.0"}`, "tree/package/README.md": "# Far\n",
		"bin/npm": "#!/bin/sh\n[ \"$1\" = pack ] || exit 3\nwhile [ \"$1\" != --pack-destination ]; do shift; done\n[ \"$4\" = far@1.0.0 ] || exit 4\ntar -czf \"$2/far-1.0.0.tgz\" -C \"$TREE\" package\n",
	})
	if err := os.Chmod(filepath.Join(dir, "bin", "npm"), 0o755); err != nil {
		t.Fatal(err)
	}
	if _, err := exec.LookPath("tar"); err != nil {
		t.Skip("NOT TESTED: --fetch with npm, since there is no tar")
	}
	t.Setenv("TREE", filepath.Join(dir, "tree"))
	t.Setenv("PATH", filepath.Join(dir, "bin")+string(filepath.ListSeparator)+os.Getenv("PATH"))
	s := shelf.Shelf{Dir: filepath.Join(t.TempDir(), "shelf")}
	r, err := Add(t.Context(), s, Options{Dir: dir})
	if err != nil || len(r.Libraries) != 0 || len(r.Left) != 1 {
		t.Fatalf("without --fetch: %v, %+v", err, r)
	}
	if r, err = Add(t.Context(), s, Options{Dir: dir, Fetch: true}); err != nil || len(r.Libraries) != 1 || r.Libraries[0].ID() != "far@1.0.0" {
		t.Fatalf("with --fetch: %v, %+v", err, r)
	}
}

// TestOwnModules is over the go.mod of this repository.
func TestOwnModules(t *testing.T) {
	cache := findModuleCache(t.Context())
	list, err := Read(t.Context(), ".", false)
	if err != nil {
		t.Fatal(err)
	}
	if len(list) < 30 {
		t.Fatalf("go.mod has %d direct modules", len(list))
	}
	i := 0
	for ; i < len(list) && list[i].Name != "github.com/spf13/cobra"; i++ {
	}
	if i == len(list) || list[i].Dir == "" {
		t.Skip("NOT TESTED: cobra is not in the module cache " + cache)
	}
	files, _ := made(t, list[i])
	var all strings.Builder
	for _, text := range files {
		all.WriteString(text)
	}
	wantIn(t, all.String(), "## func (*Command) MarkFlagsMutuallyExclusive", "# Package cobra")
}

// BenchmarkOwnModules writes the pages of all direct modules of this repository.
func BenchmarkOwnModules(b *testing.B) {
	list, err := Read(context.Background(), ".", false)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		n, began := 0, time.Now()
		for _, d := range list {
			if d.Dir == "" {
				continue
			}
			p, err := write(context.Background(), b.TempDir(), d)
			if err != nil {
				b.Fatal(err)
			}
			n += p.count()
		}
		if n == 0 {
			b.Skip("NOT TESTED: no module is in the module cache")
		}
		b.ReportMetric(float64(n), "pages")
		b.ReportMetric(time.Since(began).Seconds()/float64(n)*1000, "ms/page")
	}
}

// Reasons show no control characters, but quotes and paths as they are, also if they pass
// through twice.
func TestReasonsAreReadable(t *testing.T) {
	for in, want := range map[string]string{
		`run "cargo fetch" in C:\src`: `run "cargo fetch" in C:\src`, "a\x1b[2Jb\n": `a\x1b[2Jb\n`, "a\u202eb": `a\u202eb`, "für 日本": "für 日本",
	} {
		if got := printable(printable(in)); got != want {
			t.Errorf("printable(%q) = %s, want %s", in, got, want)
		}
	}
}
