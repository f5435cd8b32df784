package setup

import (
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// IndexFolder is the folder for a project's index, relative to the project.
const IndexFolder = ".deskhand/index"

// ConfigName is the name of a project's configuration file.
const ConfigName = "deskhand.yaml"

// projectFiles plans the files that all clients share. They are deskhand.yaml,
// which marks the project's root, .gitignore, and the file with the description
// of the docs.
func (p *Plan) projectFiles(description string) error {
	if err := p.edit(filepath.Join(p.env.Project, ConfigName), p.env.Project, "", false, addConfig); err != nil {
		return err
	}
	if err := p.edit(filepath.Join(p.env.Project, ".gitignore"), p.env.Project, "", false, addIgnored); err != nil {
		return err
	}
	if p.Docs.Dir == "" || p.Docs.Described || description == "" {
		return nil
	}
	return p.describe(description)
}

// describe plans the description of the docs. The description goes into a new
// metadata.json in the project's folder. If the project already has that file,
// it goes into a metadata.json in the docs folder.
func (p *Plan) describe(description string) error {
	fields := []field{{"corpus_description", description}}
	place := p.env.Project
	switch {
	case p.Docs.Dir == ".":
		fields = append(fields, field{"gitignore", true}, field{"exclude", []string{"**/node_modules/**", "**/vendor/**"}})
	case exists(filepath.Join(place, "metadata.json")):
		place = filepath.Join(place, filepath.FromSlash(p.Docs.Dir))
	default:
		fields = append([]field{{"corpus", p.Docs.Dir}}, fields...)
	}
	path := filepath.Join(place, "metadata.json")
	if exists(path) {
		p.Notes = append(p.Notes, p.shown(path)+" has no corpus_description; add one that describes the docs")
		return nil
	}
	return p.edit(path, p.env.Project, "", false, func([]byte, record) ([]byte, []byte, any, error) {
		return []byte(jsonText{newline: "\n", unit: "  "}.format(fields, 0) + "\n"), nil, nil, nil
	})
}

// addConfig adds the key index to deskhand.yaml, if the key is missing.
func addConfig(data []byte, _ record) (after, before []byte, entry any, err error) {
	root, err := yamlFile{}.decode(data)
	if err != nil {
		return nil, nil, nil, err
	}
	if key, _ := pair(root, "index"); key != nil || root != nil && root.Style&yaml.FlowStyle != 0 {
		return data, nil, nil, nil
	}
	_, rest, newline := split(data)
	added := "index: " + IndexFolder + newline
	if strings.TrimSpace(rest) == "" {
		added = "# Settings of deskhand for this project; \"deskhand config\" shows all." + newline + added
	}
	return appended(data, added, newline), data, nil, nil
}

// addIgnored adds the index's folder to .gitignore.
func addIgnored(data []byte, _ record) (after, before []byte, entry any, err error) {
	_, rest, newline := split(data)
	for line := range strings.Lines(rest) {
		if slices.Contains([]string{".deskhand", ".deskhand/", "/.deskhand", "/.deskhand/", ".deskhand/*", ".deskhand/**"}, strings.TrimSpace(line)) {
			return data, nil, nil, nil
		}
	}
	return appended(data, ".deskhand/"+newline, newline), data, nil, nil
}

func appended(data []byte, added, newline string) []byte {
	if len(data) > 0 && data[len(data)-1] != '\n' {
		added = newline + added
	}
	return append(slices.Clip(slices.Clone(data)), added...)
}
