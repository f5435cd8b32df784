package source

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// licences maps SPDX identifiers to phrases in licence files. A licence file must
// contain all phrases of an entry. The first matching entry applies.
var licences = []struct {
	id    string
	texts []string
}{
	{"Apache-2.0", []string{"apache license", "version 2.0"}},
	{"AGPL-3.0-only", []string{"gnu affero general public license", "version 3"}},
	{"LGPL-3.0-only", []string{"gnu lesser general public license", "version 3"}},
	{"GPL-3.0-only", []string{"gnu general public license", "version 3"}},
	{"GPL-2.0-only", []string{"gnu general public license", "version 2"}},
	{"MPL-2.0", []string{"mozilla public license", "2.0"}},
	{"CC-BY-SA-4.0", []string{"attribution-sharealike 4.0"}},
	{"CC-BY-4.0", []string{"attribution 4.0 international"}},
	{"CC0-1.0", []string{"cc0 1.0 universal"}},
	{"BSD-3-Clause", []string{"redistribution and use in source and binary forms", "neither the name"}},
	{"BSD-2-Clause", []string{"redistribution and use in source and binary forms"}},
	{"ISC", []string{"permission to use, copy, modify, and/or distribute this software for any purpose with or without fee"}},
	{"MIT", []string{"permission is hereby granted, free of charge, to any person obtaining a copy"}},
	{"Unlicense", []string{"this is free and unencumbered software"}},
}

// maxLicence is the number of bytes that are read from a licence file. The phrases
// are at its beginning.
const maxLicence = 16 << 10

// licenceIn returns the SPDX identifier of the licence file in dir. It returns "" if
// there is no such file or the licence is not in the list.
func licenceIn(dir string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		name := strings.ToLower(e.Name())
		if !e.Type().IsRegular() || !strings.HasPrefix(name, "licen") && !strings.HasPrefix(name, "copying") {
			continue
		}
		f, err := os.Open(filepath.Join(dir, e.Name()))
		if err != nil {
			continue
		}
		b, _ := io.ReadAll(io.LimitReader(f, maxLicence))
		f.Close()
		text := strings.Join(strings.Fields(strings.ToLower(string(b))), " ")
		for _, l := range licences {
			if !slices.ContainsFunc(l.texts, func(part string) bool { return !strings.Contains(text, part) }) {
				return l.id
			}
		}
	}
	return ""
}
