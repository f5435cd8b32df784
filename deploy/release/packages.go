package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/deskhand/deskhand/deploy/identity"
)

// nfpm is the packager. "go run" compiles it on first use.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.43.4"

// packages builds the deb, rpm and apk packages for p.
func (r *release) packages(p platform) error {
	for _, kind := range []string{"deb", "rpm", "apk"} {
		fmt.Printf("package %s/%s %s\n", p.os, p.arch, kind)
		target := filepath.Join(r.out, fmt.Sprintf("deskhand_%s_%s_%s.%s", r.version, p.os, p.arch, kind))
		args := []string{"package", "--config", "deploy/release/nfpm.yaml", "--packager", kind, "--target", target}
		cmd := exec.Command("go", append([]string{"run", nfpm}, args...)...)
		if own := os.Getenv("NFPM"); own != "" {
			cmd = exec.Command(own, args...)
		}
		cmd.Env = append(os.Environ(), "VERSION=v"+r.version, "ARCH="+p.arch, "PROGRAM="+r.program(p), "PARTS="+r.parts,
			fmt.Sprintf("SOURCE_DATE_EPOCH=%d", r.date.Unix()))
		if err := quiet(cmd); err != nil {
			return err
		}
	}
	return nil
}

// npmPackage is the content of a package.json.
type npmPackage struct {
	Name         string            `json:"name"`
	Version      string            `json:"version"`
	Description  string            `json:"description"`
	License      string            `json:"license"`
	Repository   map[string]string `json:"repository"`
	MCPName      string            `json:"mcpName,omitempty"` // tells the MCP registry who owns the package
	OS           []string          `json:"os,omitempty"`
	CPU          []string          `json:"cpu,omitempty"`
	Bin          map[string]string `json:"bin,omitempty"`
	Engines      map[string]string `json:"engines,omitempty"`
	Optional     map[string]string `json:"optionalDependencies,omitempty"`
	PreferUnplug bool              `json:"preferUnplugged,omitempty"` // tells yarn to unpack the package into a folder, so that the program can run
	Files        []string          `json:"files"`
}

// npmNames maps Go's platform names to those of Node.js.
var npmNames = map[string]string{"amd64": "x64", "arm64": "arm64", "linux": "linux", "darwin": "darwin", "windows": "win32"}

func (p platform) npm() string { return npmNames[p.os] + "-" + npmNames[p.arch] }

// npm creates the wrapper package, which all platforms share, and a package with the
// program for each platform in list. The wrapper always lists all platforms.
func (r *release) npm(list []platform) error {
	dir := filepath.Join(r.out, "npm")
	for _, p := range list {
		program, err := os.ReadFile(r.program(p))
		if err != nil {
			return err
		}
		own := r.npmPackage(identity.Ours.NPMScope+"/"+p.npm(), "deskhand for "+p.os+" on "+p.arch, "bin/")
		own.OS, own.CPU, own.PreferUnplug = []string{npmNames[p.os]}, []string{npmNames[p.arch]}, true
		if err := r.pack(filepath.Join(dir, p.npm()), own, "bin/deskhand"+p.suffix(), program); err != nil {
			return err
		}
	}
	script, err := os.ReadFile("deploy/release/npm/deskhand.js")
	if err != nil {
		return err
	}
	wrapper := r.npmPackage(identity.Ours.NPM, "The help desk for coding agents: search docs, ask a person, delegate tasks", "bin/")
	wrapper.MCPName = identity.Ours.MCPServer
	wrapper.Bin, wrapper.Engines = map[string]string{"deskhand": "bin/deskhand.js"}, map[string]string{"node": ">=18"}
	wrapper.Optional = map[string]string{}
	every, err := parsePlatforms(allPlatforms)
	if err != nil {
		return err
	}
	for _, p := range every {
		wrapper.Optional[identity.Ours.NPMScope+"/"+p.npm()] = r.version
	}
	return r.pack(filepath.Join(dir, "deskhand"), wrapper, "bin/deskhand.js", script)
}

func (r *release) npmPackage(name, description string, files ...string) npmPackage {
	return npmPackage{Name: name, Version: r.version, Description: description, License: identity.Ours.Licence, Files: files,
		Repository: map[string]string{"type": "git", "url": "git+" + identity.Ours.URL() + ".git"}}
}

// pack writes the files of a package with one program to dir, then runs npm pack.
func (r *release) pack(dir string, manifest npmPackage, name string, program []byte) error {
	fmt.Printf("pack %s\n", manifest.Name)
	text, err := json.MarshalIndent(manifest, "", "  ")
	if err != nil {
		return err
	}
	license, err := os.ReadFile("LICENSE")
	if err != nil {
		return err
	}
	for file, data := range map[string][]byte{"package.json": append(text, '\n'), "LICENSE": license, name: program} {
		if err := write(filepath.Join(dir, file), string(data)); err != nil {
			return err
		}
	}
	if err := os.Chmod(filepath.Join(dir, name), 0o755); err != nil {
		return err
	}
	cmd := exec.Command("npm", "pack", "--silent", "--pack-destination", r.out)
	cmd.Dir = dir
	if err := quiet(cmd); err != nil {
		return fmt.Errorf("%w\nnpm packs the npm packages: install Node.js 18 or newer", err)
	}
	return nil
}

// serverManifest writes server.json with this version.
func (r *release) serverManifest() error {
	text, err := os.ReadFile("deploy/mcp/server.json")
	if err != nil {
		return err
	}
	return write(filepath.Join(r.out, "server.json"), strings.ReplaceAll(string(text), "0.0.0", r.version))
}
