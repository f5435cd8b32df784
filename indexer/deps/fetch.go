package deps

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/deskhand/deskhand/indexer/scratch"
	"github.com/deskhand/deskhand/indexer/source"
)

// fetchWait is the timeout for fetching one package.
const fetchWait = 5 * time.Minute

// fetch downloads a missing package and sets Dir. It uses the tool of the package's
// ecosystem and the registry configured for that tool. The function done removes
// temporary downloads; it may be nil.
func fetch(ctx context.Context, d *Dependency) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, fetchWait)
	defer cancel()
	switch d.Ecosystem {
	case Go:
		return nil, fetchGo(ctx, d)
	case NPM:
		return fetchNPM(ctx, d)
	}
	return nil, errors.New(d.Why) // this ecosystem's tool installs packages into the project, which must not change
}

// fetchGo downloads a module to the module cache with "go mod download".
func fetchGo(ctx context.Context, d *Dependency) error {
	name := cmp.Or(d.module, d.Name)
	if _, err := cachedModule("/", name, d.Version); err != nil {
		return err
	}
	out, err := tool(ctx, d.at, "go", "mod", "download", "-json", name+"@"+d.Version)
	var module struct{ Dir, Error string }
	if json.Unmarshal(out, &module) == nil && module.Error != "" {
		return errors.New("go mod download: " + module.Error)
	}
	if err != nil {
		return err
	}
	if d.Dir = module.Dir; !filepath.IsAbs(d.Dir) || !isFolder(d.Dir) {
		d.Dir = ""
		return errors.New("go mod download did not report the module's folder")
	}
	return nil
}

// fetchNPM downloads a package's archive with "npm pack" and unpacks it. No script in the
// package runs.
func fetchNPM(ctx context.Context, d *Dependency) (func(), error) {
	if d.Version == "" {
		return nil, errors.New("no lock file has its version; " + d.Why)
	}
	temp, err := scratch.New("fetch")
	if err != nil {
		return nil, fmt.Errorf("create a folder for %s: %w", d.Name, err)
	}
	done := func() { _ = temp.Close() } // a later call deletes leftover files
	if _, err := tool(ctx, d.at, "npm", "pack", "--ignore-scripts", "--pack-destination", temp.Path, "--", d.Name+"@"+d.Version); err != nil {
		return done, err
	}
	files, _ := filepath.Glob(filepath.Join(temp.Path, "*.tgz"))
	if len(files) != 1 {
		return done, fmt.Errorf("npm pack wrote %d archives instead of one", len(files))
	}
	from, err := unpack(ctx, d, files[0])
	return func() { done(); _ = from.Close() }, err
}

// unpack unpacks the archive of an npm package, and sets Dir. The archive is checked like
// any untrusted archive. The caller must close the unpacked source.
func unpack(ctx context.Context, d *Dependency, archive string) (*source.Source, error) {
	from, err := source.Open(ctx, archive, source.Options{})
	if err != nil {
		return nil, err
	}
	// In yarn's archives, the package is in node_modules/NAME. The root is the only folder
	// at the top, for example "package" or "node_modules".
	got := Dependency{Ecosystem: NPM, Name: d.Name, Version: d.Version}
	if !got.try(from.Root, from.Root) && !got.try(filepath.Join(from.Root, filepath.FromSlash(d.Name)), from.Root) {
		from.Close()
		return nil, fmt.Errorf("%s does not contain %s %s", filepath.Base(archive), d.Name, d.Version)
	}
	d.Dir = got.Dir
	return from, nil
}

// tool runs a program in dir and returns its standard output. If the program fails,
// the error contains the end of its standard error.
func tool(ctx context.Context, dir, name string, args ...string) ([]byte, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return nil, fmt.Errorf("%s is not installed", name)
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Dir, cmd.WaitDelay = dir, time.Second
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		text := strings.TrimSpace(said.String())
		return out.Bytes(), fmt.Errorf("%s failed: %s", name, cmp.Or(text[max(0, len(text)-300):], err.Error()))
	}
	return out.Bytes(), nil
}
