// Command release builds the files that people install: an archive for each platform; deb, rpm
// and apk packages for Linux; an MCP bundle; npm packages; and a file with the checksums. An
// archive contains the program, its manual pages, shell completion, the licence and an SBOM.
// "make release-snapshot" runs it. .goreleaser.yaml describes the same release for goreleaser.
package main

import (
	"bytes"
	"crypto/sha256"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/deskhand/deskhand/deploy/identity"
)

const allPlatforms = "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64"

// release is one version, built from the command's working folder.
type release struct {
	version string // without a leading v, for example 0.1.0
	commit  string
	date    time.Time // date of the commit, so that building a commit again produces the same bytes
	out     string    // output folder
	parts   string    // folder inside out for files that archives and packages share
}

// platform is a target of the build.
type platform struct{ os, arch string }

func main() {
	out := flag.String("out", "dist", "folder to write; it is emptied first")
	platforms := flag.String("platforms", allPlatforms, "platforms to build for, with commas between")
	version := flag.String("version", "", "version, as v0.1.0 (default: a pre-release with the time of the commit)")
	flag.Parse()
	if err := run(*out, *platforms, *version); err != nil {
		fmt.Fprintf(os.Stderr, "release: %v\n", err)
		os.Exit(1)
	}
}

func run(out, platforms, version string) error {
	r, err := newRelease(out, version)
	if err != nil {
		return err
	}
	list, err := parsePlatforms(platforms)
	if err != nil {
		return err
	}
	if err := os.RemoveAll(r.out); err != nil {
		return err
	}
	if err := r.common(); err != nil {
		return err
	}
	for _, p := range list {
		if err := r.platform(p); err != nil {
			return fmt.Errorf("%s/%s: %w", p.os, p.arch, err)
		}
	}
	if err := r.npm(list); err != nil {
		return err
	}
	if err := r.serverManifest(); err != nil {
		return err
	}
	return r.checksums()
}

func newRelease(out, version string) (*release, error) {
	commit, err := output("git", "rev-parse", "HEAD")
	if err != nil {
		return nil, err
	}
	stamp, err := output("git", "show", "-s", "--format=%cI", "HEAD")
	if err != nil {
		return nil, err
	}
	date, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return nil, fmt.Errorf("read the date of the commit: %w", err)
	}
	date = date.UTC()
	if version != "" && !identity.Ours.Published() {
		return nil, fmt.Errorf("%s is not the address of a maintainer: set your names in deploy/identity/identity.json, as CONTRIBUTING.md says", identity.Ours.Email)
	}
	if version == "" {
		version = "v0.1.0-pre" + date.Format("20060102150405") // valid for semver, deb, rpm, apk and npm
	}
	if !regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9a-z.]+)?$`).MatchString(version) {
		return nil, fmt.Errorf("%q is not a version: write it as v0.1.0", version)
	}
	abs, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	// The folder is removed first, so it must not contain anything else.
	if _, err := os.Stat(filepath.Join(abs, "checksums.txt")); err != nil && filled(abs) && filepath.Base(abs) != "dist" {
		return nil, fmt.Errorf("%s is not empty and not an earlier release: name another folder", out)
	}
	return &release{strings.TrimPrefix(version, "v"), commit, date, abs, filepath.Join(abs, "parts")}, nil
}

func filled(dir string) bool {
	entries, _ := os.ReadDir(dir)
	return len(entries) > 0
}

func parsePlatforms(list string) (all []platform, err error) {
	known := strings.Split(allPlatforms, ",")
	for _, one := range strings.Split(list, ",") {
		if !slices.Contains(known, one) {
			return nil, fmt.Errorf("unknown platform %q: name some of %s", one, allPlatforms)
		}
		system, arch, _ := strings.Cut(one, "/")
		all = append(all, platform{system, arch})
	}
	return all, nil
}

// build compiles the program for p and writes it to file.
func (r *release) build(p platform, file string) error {
	fmt.Printf("build %s/%s\n", p.os, p.arch)
	flags := fmt.Sprintf("-s -w -X main.version=v%s -X main.commit=%s -X main.date=%s", r.version, r.commit, r.date.Format(time.RFC3339))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", file, "./cmd/deskhand")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch)
	return quiet(cmd)
}

// common builds the program for the current platform, and runs it to write the
// manual pages and shell completion.
func (r *release) common() error {
	own := r.program(platform{runtime.GOOS, runtime.GOARCH})
	if err := r.build(platform{runtime.GOOS, runtime.GOARCH}, own); err != nil {
		return err
	}
	if err := quiet(exec.Command(own, "man-pages", filepath.Join(r.parts, "man"))); err != nil {
		return err
	}
	for shell, file := range map[string]string{"bash": "deskhand.bash", "zsh": "_deskhand", "fish": "deskhand.fish", "powershell": "deskhand.ps1"} {
		script, err := output(own, "completion", shell)
		if err != nil {
			return err
		}
		if err := write(filepath.Join(r.parts, "completions", file), script+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// program returns the path of the program that build writes for p.
func (r *release) program(p platform) string {
	return filepath.Join(r.out, "bin", p.os+"-"+p.arch, "deskhand"+p.suffix())
}

func (p platform) suffix() string {
	if p.os == "windows" {
		return ".exe"
	}
	return ""
}

// platform builds everything for p except its npm package.
func (r *release) platform(p platform) error {
	program := r.program(p)
	if _, err := os.Stat(program); err != nil {
		if err := r.build(p, program); err != nil {
			return err
		}
	}
	archive, err := r.archive(p)
	if err != nil {
		return err
	}
	bill, err := output("go", "run", "./deploy/release/sbom", program)
	if err != nil {
		return err
	}
	if err := write(archive+".cdx.json", bill+"\n"); err != nil {
		return err
	}
	if err := r.bundle(p); err != nil {
		return err
	}
	if p.os == "linux" {
		return r.packages(p)
	}
	return nil
}

// checksums writes checksums.txt in the format of sha256sum -c.
func (r *release) checksums() error {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return err
	}
	var text strings.Builder
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return write(filepath.Join(r.out, "checksums.txt"), text.String())
}

func write(file, text string) error {
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, []byte(text), 0o644)
}

// quiet runs cmd and includes its output in the error.
func quiet(cmd *exec.Cmd) error {
	if said, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said)
	}
	return nil
}

// output returns the standard output of a program, without the final newline.
func output(name string, args ...string) (string, error) {
	cmd := exec.Command(name, args...)
	var said bytes.Buffer
	cmd.Stderr = &said
	text, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(cmd.Args, " "), err, said.String())
	}
	return strings.TrimRight(string(text), "\n"), nil
}
