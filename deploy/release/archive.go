package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
)

// member is a file in an archive.
type member struct {
	name string // slash-separated
	from string // path of the file on disk
	mode int64
}

// archive writes deskhand_VERSION_OS_ARCH.tar.gz, or a zip for Windows, and returns its
// path.
func (r *release) archive(p platform) (string, error) {
	members := []member{
		{"deskhand" + p.suffix(), r.program(p), 0o755},
		{"LICENSE", "LICENSE", 0o644}, {"README.md", "README.md", 0o644}, {"CHANGELOG.md", "CHANGELOG.md", 0o644},
	}
	for _, part := range []string{"man", "completions"} {
		files, err := filepath.Glob(filepath.Join(r.parts, part, "*"))
		if err != nil || len(files) == 0 {
			return "", fmt.Errorf("there are no %s: %w", part, err)
		}
		slices.Sort(files)
		for _, f := range files {
			members = append(members, member{part + "/" + filepath.Base(f), f, 0o644})
		}
	}
	file := filepath.Join(r.out, fmt.Sprintf("deskhand_%s_%s_%s", r.version, p.os, p.arch))
	write := r.tarball
	if file += ".tar.gz"; p.os == "windows" {
		file, write = file[:len(file)-len("tar.gz")]+"zip", r.zipped
	}
	out, err := os.Create(file)
	if err != nil {
		return "", err
	}
	if err := write(out, members); err != nil {
		out.Close()
		return "", fmt.Errorf("write %s: %w", file, err)
	}
	return file, out.Close()
}

func (r *release) tarball(out io.Writer, members []member) error {
	packed, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	if err != nil {
		return err
	}
	w := tar.NewWriter(packed)
	for _, m := range members {
		data, err := os.ReadFile(m.from)
		if err != nil {
			return err
		}
		if err := w.WriteHeader(&tar.Header{Name: m.name, Mode: m.mode, Size: int64(len(data)), ModTime: r.date}); err != nil {
			return err
		}
		if _, err := w.Write(data); err != nil {
			return err
		}
	}
	if err := w.Close(); err != nil {
		return err
	}
	return packed.Close()
}

func (r *release) zipped(out io.Writer, members []member) error {
	w := zip.NewWriter(out)
	for _, m := range members {
		data, err := os.ReadFile(m.from)
		if err != nil {
			return err
		}
		h := &zip.FileHeader{Name: m.name, Method: zip.Deflate, Modified: r.date}
		h.SetMode(os.FileMode(m.mode))
		one, err := w.CreateHeader(h)
		if err != nil {
			return err
		}
		if _, err := one.Write(data); err != nil {
			return err
		}
	}
	return w.Close()
}

// bundle writes deskhand_VERSION_OS_ARCH.mcpb, which Claude Desktop installs. The
// file is a zip with the program and a manifest that tells Claude Desktop how to
// start the program.
func (r *release) bundle(p platform) error {
	text, err := os.ReadFile("deploy/mcp/manifest.json")
	if err != nil {
		return err
	}
	var manifest map[string]any
	if err := json.Unmarshal(text, &manifest); err != nil {
		return fmt.Errorf("read the manifest of the bundle: %w", err)
	}
	program := "deskhand" + p.suffix()
	server, ok := manifest["server"].(map[string]any)
	if !ok {
		return fmt.Errorf("the manifest of the bundle has no server")
	}
	manifest["version"], server["entry_point"] = r.version, program
	manifest["compatibility"] = map[string]any{"platforms": []string{npmNames[p.os]}}
	if text, err = json.MarshalIndent(manifest, "", "  "); err != nil {
		return err
	}
	from := filepath.Join(r.parts, "mcpb", p.npm()+".json")
	if err := write(from, string(text)+"\n"); err != nil {
		return err
	}
	file := filepath.Join(r.out, fmt.Sprintf("deskhand_%s_%s_%s.mcpb", r.version, p.os, p.arch))
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	members := []member{{"manifest.json", from, 0o644}, {"LICENSE", "LICENSE", 0o644}, {program, r.program(p), 0o755}}
	if err := r.zipped(out, members); err != nil {
		out.Close()
		return fmt.Errorf("write %s: %w", file, err)
	}
	return out.Close()
}
