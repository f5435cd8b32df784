package deps

import (
	"archive/zip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/indexer/shelf"
)

// Two workspaces need different versions of low, and one package has another name in
// node_modules. npm 11, yarn 1.22 and yarn 4 write such files.
const rootPackage = `{"workspaces":["packages/*"],"dependencies":{"old-mitt":"npm:mitt@2.1.0"}}`

var workspacePackages = map[string]string{
	"package.json":               rootPackage,
	"packages/web/package.json":  `{"name":"web","version":"0.1.0","dependencies":{"core":"*","low":"2.1.3"}}`,
	"packages/core/package.json": `{"name":"core","version":"0.2.0","dependencies":{"low":"2.0.0"}}`,
}

const bothVersions = "npm low 2.0.0\nnpm low 2.1.3\nnpm mitt 2.1.0"

func TestWorkspacesNeedTwoVersions(t *testing.T) {
	installed := map[string]string{
		"node_modules/old-mitt/package.json":         `{"name":"mitt","version":"2.1.0"}`,
		"node_modules/low/package.json":              `{"name":"low","version":"2.0.0"}`,
		"packages/web/node_modules/low/package.json": `{"name":"low","version":"2.1.3"}`,
	}
	for name, lock := range map[string]map[string]string{
		"npm 1": {"package-lock.json": `{"lockfileVersion":1,"dependencies":{"core":{"version":"file:packages/core"},"low":{"version":"2.0.0"},"old-mitt":{"version":"npm:mitt@2.1.0"},
"web":{"version":"file:packages/web","dependencies":{"low":{"version":"2.1.3"}}}}}`},
		"yarn 1": {"yarn.lock": "# yarn lockfile v1\n\nlow@2.0.0:\n  version \"2.0.0\"\n\nlow@2.1.3:\n  version \"2.1.3\"\n\n\"old-mitt@npm:mitt@2.1.0\":\n  version \"2.1.0\"\n"},
		"yarn 4": {"yarn.lock": yarn4},
	} {
		t.Run(name, func(t *testing.T) {
			dir := put(t, put(t, put(t, project(t, nil), workspacePackages), installed), lock)
			if err := os.Symlink(filepath.Join(dir, "packages", "web"), filepath.Join(dir, "node_modules", "web")); err != nil {
				t.Fatal(err)
			}
			wantTold(t, read(t, dir, false), bothVersions)
		})
	}
}

// The version of a package from a repository or an archive is in no lock file of npm 1 or
// pnpm: it is that on this disk.
func TestPackagesByAddress(t *testing.T) {
	installed := map[string]string{
		"package.json":                      `{"dependencies":{"kit":"github:x/kit","own":"https://example.com/own@3.1.0.tgz","old-kit":"git+https://example.com/x/old.git"}}`,
		"node_modules/kit/package.json":     `{"name":"kit","version":"2.0.0"}`,
		"node_modules/own/package.json":     `{"name":"own","version":"3.1.0"}`,
		"node_modules/old-kit/package.json": `{"name":"old-kit","version":"1.0.0"}`,
	}
	pnpm := func(kit, own, old string, keys ...string) map[string]string {
		lock := "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n"
		for _, d := range [][2]string{{"kit", kit}, {"own", own}, {"old-kit", old}} {
			lock += "      " + d[0] + ":\n        specifier: any\n        version: " + d[1] + "\n"
		}
		lock += "packages:\n"
		for _, key := range keys {
			lock += "  '" + key + "':\n    resolution: {}\n"
		}
		return map[string]string{"pnpm-lock.yaml": lock}
	}
	commit := strings.Repeat("1a", 20)
	for name, lock := range map[string]map[string]string{
		"npm 1": {"package-lock.json": `{"lockfileVersion":1,"dependencies":{"kit":{"version":"github:x/kit#` + commit + `","from":"github:x/kit"},
"own":{"version":"https://example.com/own@3.1.0.tgz","integrity":"sha512-x"},"old-kit":{"version":"git+https://example.com/x/old.git#` + commit + `"}}}`},
		"pnpm 9": pnpm("https://codeload.github.com/x/kit/tar.gz/"+commit, "https://example.com/own@3.1.0.tgz", "git+https://git@example.com/x/old.git#"+commit,
			"kit@https://codeload.github.com/x/kit/tar.gz/"+commit, "own@https://example.com/own@3.1.0.tgz", "old-kit@git+https://git@example.com/x/old.git#"+commit),
		"pnpm 6": pnpm("github.com/x/kit/"+commit, "'@example.com/own-3.1.0.tgz'", "git@example.com+x/old/"+commit,
			"github.com/x/kit/"+commit, "@example.com/own-3.1.0.tgz", "git@example.com+x/old/"+commit),
	} {
		t.Run(name, func(t *testing.T) {
			dir := put(t, put(t, project(t, nil), installed), lock)
			wantTold(t, read(t, dir, false), "npm kit 2.0.0\nnpm old-kit 1.0.0\nnpm own 3.1.0")
		})
	}
}

const yarn4 = "__metadata:\n  version: 8\n\n\"core@npm:*, core@workspace:packages/core\":\n  version: 0.0.0-use.local\n\n\"low@npm:2.0.0\":\n  version: 2.0.0\n\n\"low@npm:2.1.3\":\n  version: 2.1.3\n\n\"old-mitt@npm:mitt@2.1.0\":\n  version: 2.1.0\n"

func TestYarnStoresAndArchives(t *testing.T) {
	dir := put(t, put(t, project(t, nil), workspacePackages), map[string]string{
		"yarn.lock": yarn4,
		"node_modules/.store/mitt-npm-2.1.0-77f3c96db4/package/package.json": `{"name":"mitt","version":"2.1.0"}`,
		"node_modules/.store/low-virtual-929e2b4970/package/package.json":    `{"name":"low","version":"2.0.0"}`,
	})
	t.Setenv("YARN_GLOBAL_FOLDER", filepath.Join(dir, "no-yarn"))
	cache := filepath.Join(dir, ".yarn", "cache", "low-npm-2.1.3-81ff3cfac1-10c0.zip")
	if err := os.MkdirAll(filepath.Dir(cache), 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(cache)
	if err != nil {
		t.Fatal(err)
	}
	z := zip.NewWriter(f)
	for _, file := range [][2]string{{"package.json", `{"name":"low","version":"2.1.3"}`}, {"readme.md", "# Low\n\nFrom an archive.\n"}} {
		w, err := z.Create("node_modules/low/" + file[0])
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(file[1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	wantTold(t, read(t, dir, false), "npm low 2.0.0\nnpm low 2.1.3 ?\nnpm mitt 2.1.0") // an archive is not a folder
	report, err := Add(t.Context(), shelf.Shelf{Dir: filepath.Join(dir, "shelf")}, Options{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if len(report.Libraries) != 1 || report.Libraries[0].ID() != "low@2.1.3" || report.Libraries[0].Pages != 1 {
		t.Errorf("libraries are %+v, left are %+v", report.Libraries, report.Left)
	}
}

func TestPythonEnvironments(t *testing.T) {
	pkg := func(site string) map[string]string {
		return map[string]string{site + "/low-2.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: low\nVersion: 2.0\n\n# Low\n"}
	}
	poetry := map[string]string{"poetry.lock": "[[package]]\nname = \"low\"\nversion = \"2.0\"\n", "pyproject.toml": "[tool.poetry.dependencies]\nlow = \"*\"\n"}
	t.Run("named in pyvenv.cfg", func(t *testing.T) {
		dir := put(t, put(t, project(t, poetry), pkg("env/lib/python3.12/site-packages")), map[string]string{"env/pyvenv.cfg": "home = /usr/bin\n"})
		wantTold(t, read(t, dir, false), "python low 2.0")
	})
	t.Run("__pypackages__", func(t *testing.T) {
		dir := put(t, project(t, pkg("__pypackages__/3.12/lib")), map[string]string{
			"pdm.lock":       "[[package]]\nname = \"low\"\nversion = \"2.0\"\n",
			"pyproject.toml": "[tool.pdm.dev-dependencies]\ndev = [\"low>=1\"]\n",
		})
		wantTold(t, read(t, dir, false), "python low 2.0")
	})
	t.Run("Poetry's cache", func(t *testing.T) {
		dir := project(t, poetry)
		in := t.TempDir()
		t.Setenv("POETRY_VIRTUALENVS_PATH", in)
		put(t, in, pkg("other-AAAAAAAA-py3.12/lib/python3.12/site-packages"))
		wantTold(t, read(t, dir, false), "python low 2.0 ?")
		// Poetry 1.3 puts this digest into the name of the environment of this path.
		if found := poetryDigest("/home/me/app"); found != "_YZc6C64" {
			t.Errorf("the digest is %s", found)
		}
		real, err := filepath.EvalSymlinks(dir)
		if err != nil {
			t.Fatal(err)
		}
		put(t, in, pkg("app-"+poetryDigest(real)+"-py3.12/lib/python3.12/site-packages"))
		wantTold(t, read(t, dir, false), "python low 2.0")
	})
	t.Run("UV_PROJECT_ENVIRONMENT", func(t *testing.T) {
		dir := put(t, project(t, pkg("build/uv/lib/python3.12/site-packages")), map[string]string{
			"uv.lock": "version = 1\n[manifest.dependency-groups]\ndev = [{ name = \"low\", version = \"2.0\" }]\n[[package]]\nname = \"low\"\nversion = \"1.0\"\nsource = { registry = \"https://r\" }\n[[package]]\nname = \"low\"\nversion = \"2.0\"\nsource = { registry = \"https://r\" }\n",
		})
		t.Setenv("UV_PROJECT_ENVIRONMENT", "build/uv")
		wantTold(t, read(t, dir, false), "python low 2.0")
	})
}

func TestRequirementsByAddress(t *testing.T) {
	dir := project(t, map[string]string{"requirements.txt": strings.Join([]string{
		"-e ./local", "file:///srv/local", "-e git+https://example.com/x/gitty.git@v1#egg=gitty", "git+https://example.com/x/other.git@v2", "git+ssh://git@example.com/x/branched.git@feature/v2", "git+https://me@example.com/plain", "git+ssh://git@example.com/x/third@v2#egg=third&subdirectory=a",
		"https://example.com/url_pkg-3.1-py3-none-any.whl#sha256=00", "https://example.com/s-d-1.2.tar.gz", "",
	}, "\n")})
	wantTold(t, read(t, dir, false), "python branched  ?\npython gitty  ?\npython other  ?\npython plain  ?\npython s-d 1.2 ?\npython third  ?\npython url_pkg 3.1 ?")
}

func TestCrates(t *testing.T) {
	const revision = "59ff2d84ebb0ef44906ff89c430ecb81eaeb32a6"
	dir := project(t, map[string]string{
		"Cargo.lock":         "version = 4\n[[package]]\nname = \"app\"\nversion = \"0.1.0\"\ndependencies = [\"forked\", \"vendored\"]\n[[package]]\nname = \"forked\"\nversion = \"0.7.0\"\nsource = \"git+https://g/x?tag=v0.7.0#" + revision + "\"\n[[package]]\nname = \"vendored\"\nversion = \"0.4.0\"\nsource = \"registry+https://r\"\n",
		".cargo/config.toml": "[source.crates-io]\nreplace-with = \"here\"\n[source.here]\ndirectory = \"third_party/rust\"\n",
		"third_party/rust/vendored-0.4.0/Cargo.toml":          "[package]\nname = \"vendored\"\nversion = \"0.4.0\"\n[lib]\npath = \"lib/entry.rs\"\n",
		"third_party/rust/vendored-0.4.0/lib/entry.rs":        "//! From another file.\n",
		"cargo/git/checkouts/x-8c4b/59ff2d8/Cargo.toml":       "[workspace]\nmembers = [\"inner\"]\n[workspace.package]\nversion = \"0.7.0\"\n",
		"cargo/git/checkouts/x-8c4b/59ff2d8/inner/Cargo.toml": "[package]\nname = \"forked\"\nversion.workspace = true\n",
		"cargo/git/checkouts/x-8c4b/59ff2d8/inner/src/lib.rs": "//! From a checkout.\n",
	})
	t.Setenv("CARGO_HOME", filepath.Join(dir, "cargo"))
	list := read(t, dir, false)
	wantTold(t, list, "rust forked 0.7.0\nrust vendored 0.4.0")
	files, _ := made(t, list[0])
	wantIn(t, files["api/lib.md"], "From a checkout.")
	files, _ = made(t, list[1])
	wantIn(t, files["api/lib.md"], "From another file.")
}

// With "resolutions", or a catalog, the keys of yarn 4 do not have the ranges of package.json.
func TestYarnRangesThatPackageJSONDoesNotHave(t *testing.T) {
	dir := t.TempDir()
	src := "__metadata:\n  version: 8\n\n\"low@npm:2.1.3\":\n  version: 2.1.3\n\n\"deep@npm:^1\":\n  version: 1.0.0\n\n\"kit@npm:^1, kit@npm:^1.2\":\n  version: 1.5.0\n\n\"kit@npm:0\":\n  version: 0.9.0\n\n\"own@workspace:own\":\n  version: 0.0.0-use.local\n"
	if err := os.WriteFile(filepath.Join(dir, packageFile), []byte(`{"dependencies": {"low": "^2.0.0", "kit": "^1.2", "own": "workspace:*"}, "resolutions": {"low": "2.1.3"}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	list, err := readYarnLock(filepath.Join(dir, "yarn.lock"), []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	var direct []string
	for _, d := range unite(list, false) {
		direct = append(direct, d.Name+"@"+d.Version)
	}
	if got := strings.Join(direct, " "); got != "kit@1.5.0 low@2.1.3" {
		t.Errorf("direct: %s", got)
	}
}
