// Command sbom prints a CycloneDX 1.6 software bill of materials for a Go program. It
// lists the modules that Go recorded in the program, with their checksums.
//
//	go run ./deploy/release/sbom PROGRAM
package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"runtime/debug"
	"strings"
)

// component is a module or a program. See https://cyclonedx.org/docs/1.6/json/.
type component struct {
	Type    string `json:"type"`
	Ref     string `json:"bom-ref"`
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
	PURL    string `json:"purl"`
	Hashes  []hash `json:"hashes,omitempty"`
}

type hash struct {
	Algorithm string `json:"alg"`
	Content   string `json:"content"` // in hex
}

type metadata struct {
	Component component `json:"component"`
}

type dependency struct {
	Ref       string   `json:"ref"`
	DependsOn []string `json:"dependsOn,omitempty"`
}

type bill struct {
	Format       string       `json:"bomFormat"`
	Spec         string       `json:"specVersion"`
	Version      int          `json:"version"`
	Metadata     metadata     `json:"metadata"`
	Components   []component  `json:"components"`
	Dependencies []dependency `json:"dependencies"`
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "sbom: %v\n", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return fmt.Errorf("name one program: sbom PROGRAM")
	}
	b, err := read(args[0])
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(b)
}

// read returns the bill of materials of the Go program in file.
func read(file string) (bill, error) {
	info, err := buildinfo.ReadFile(file)
	if err != nil {
		return bill{}, fmt.Errorf("read what %s was built from: %w", file, err)
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return bill{}, err
	}
	sum := sha256.Sum256(data)
	program := module(&info.Main)
	program.Type, program.Hashes = "application", []hash{{"SHA-256", hex.EncodeToString(sum[:])}}
	b := bill{Format: "CycloneDX", Spec: "1.6", Version: 1, Metadata: metadata{program}}
	golang := strings.TrimPrefix(info.GoVersion, "go")
	b.Components = []component{{Type: "library", Ref: "pkg:golang/std@" + golang, Name: "std", Version: golang, PURL: "pkg:golang/std@" + golang}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		b.Components = append(b.Components, module(m))
	}
	needs := dependency{Ref: program.Ref}
	for _, c := range b.Components {
		needs.DependsOn = append(needs.DependsOn, c.Ref)
	}
	b.Dependencies = []dependency{needs}
	return b, nil
}

// module returns m as a component. Its checksum is the one in go.sum, a SHA-256 of the
// checksums of the module's files.
func module(m *debug.Module) component {
	version := m.Version
	if version == "(devel)" {
		version = ""
	}
	ref := "pkg:golang/" + m.Path
	if version != "" {
		ref += "@" + strings.ReplaceAll(version, "+", "%2B")
	}
	c := component{Type: "library", Ref: ref, Name: m.Path, Version: version, PURL: ref}
	if sum, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(m.Sum, "h1:")); err == nil && len(sum) > 0 {
		c.Hashes = []hash{{"SHA-256", hex.EncodeToString(sum)}}
	}
	return c
}
