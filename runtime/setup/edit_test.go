package setup

import (
	"strings"
	"testing"
)

var entry = []field{{"command", "deskhand"}, {"args", []string{"serve", "--watch", "docs"}}}

// Each editor adds an entry to files as people have them, and takes it out
// again: what was there before is there afterwards, to the byte.
func TestAnEntryGoesInAndOut(t *testing.T) {
	files := map[string][]string{
		"json": {
			"{}", "{}\n", "{\n}\n", "{ }", `{"mcpServers":{}}`, `{"mcpServers":{"a":{"command":"x"}}}`,
			"{\n  \"mcpServers\": {\n    \"a\": {\n      \"command\": \"x\"\n    }\n  }\n}\n",
			"{\n\t\"theme\": \"dark\", // mine\n\t/* keep */ \"mcpServers\": {\n\t\t// first\n\t\t\"a\": {\"command\": \"x\"}, // last\n\t},\n}\n",
			"{\n  \"mcpServers\": {\n    \"a\": {\"command\": \"x\"} // no comma\n  }\n}\n",
			"// top\n{\n  \"b\": [1, 2,],\n}\n// end\n", "{\r\n  \"mcpServers\": {\r\n  }\r\n}\r\n", bom + "{\n  \"b\": 1\n}",
			"{\n  \"mcpServers\": {\n    // nothing yet\n  }\n}\n", `{"b":"a \"quoted\" } brace","c":1}`,
		},
		"toml": {
			"# mine\nmodel = \"x\"\n", "model = \"x\"", "\n", "[mcp_servers.a]\ncommand = \"x\" # c\n\n# about b\n[mcp_servers.b]\ncommand = \"y\"\n",
			"[mcp_servers.a]\r\ncommand = \"x\"\r\n", bom + "a = 1\n", "[[list]]\na = [\n  1,\n  2,\n]\n",
		},
		"yaml": {
			"# mine\nGOOSE_MODEL: x\n", "extensions:\n  a:\n    cmd: x # c\n\n# end\nother: 1\n", "extensions:\n    # first\n    a:\n        cmd: x\n",
			"a: 1", "extensions:\r\n  a:\r\n    cmd: x\r\n", "other:\n- 1\nextensions:\n  a: {cmd: x}\n", "---\na: 1\n",
		},
	}
	for kind, edit := range map[string]editor{"json": jsonFile{group: "mcpServers"}, "toml": tomlFile{"mcp_servers"}, "yaml": yamlFile{"extensions"}} {
		for _, file := range files[kind] {
			in, err := edit.put([]byte(file), "deskhand", entry)
			if err != nil {
				t.Errorf("put into %s %q: %v", kind, file, err)
				continue
			}
			all, err := edit.entries(in)
			if err != nil || !same(all["deskhand"], entry) {
				t.Errorf("%s %q became %q: %v, %v", kind, file, in, all, err)
			}
			for _, word := range []string{"mine", "keep", "first", "last", "no comma", "top", "end", "nothing yet", "# c", "about b"} {
				if strings.Count(file, word) != strings.Count(string(in), word) {
					t.Errorf("%s %q became %q, which lost %q", kind, file, in, word)
				}
			}
			again, err := edit.put(in, "deskhand", entry)
			if err != nil || norm(string(again)) != norm(string(in)) && kind != "yaml" {
				t.Errorf("put twice into %s %q: %q, then %q, %v", kind, file, in, again, err)
			}
			out, err := edit.cut(in, "deskhand", []byte(file))
			if err != nil {
				t.Errorf("cut %q: %v", in, err)
			}
			if norm(string(out)) != norm(file) {
				t.Errorf("%s %q became %q and then %q", kind, file, in, out)
			}
		}
	}
}

// norm leaves out what the layout of an empty object or the last line end is.
func norm(s string) string { return strings.Join(strings.Fields(s), "") }

func TestWhatCannotBeEditedIsAnErrorWithItsLine(t *testing.T) {
	for _, c := range []struct {
		edit editor
		file string
		want string
	}{
		{jsonFile{group: "mcpServers"}, "{\n  \"a\": 1\n  \"b\": 2\n}", "line 3"},
		{jsonFile{group: "mcpServers"}, "[]", "line 1: it is not a JSON object"},
		{jsonFile{group: "mcpServers"}, `{"mcpServers": []}`, `"mcpServers" is not an object`},
		{jsonFile{group: "mcpServers"}, `{"mcpServers": {}, "mcpServers": {}}`, `the key "mcpServers" twice`},
		{tomlFile{"mcp_servers"}, "a = 1\nb = = 2\n", "line 2"},
		{tomlFile{"mcp_servers"}, "mcp_servers = 3\n", "mcp_servers is not a table"},
		{tomlFile{"mcp_servers"}, "mcp_servers = { a = { command = \"x\" } }\n", errByHand.Error()},
		{tomlFile{"mcp_servers"}, "text = \"\"\"\n[mcp_servers.deskhand]\n\"\"\"\n[other]\na = 1\n", errByHand.Error()},
		{yamlFile{"extensions"}, "a: 1\n b: 2\n", "line 2"},
		{yamlFile{"extensions"}, "extensions: [1]\n", "extensions is not a group"},
		{yamlFile{"extensions"}, "extensions: {a: {cmd: x}}\n", "written on one line"},
		{yamlFile{"extensions"}, "a: 1\n---\nb: 2\n", "more than one document"},
	} {
		out, err := c.edit.put([]byte(c.file), "deskhand", entry)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("put into %q = %q, %v; want %q", c.file, out, err, c.want)
		}
	}
}

func TestAnEntryIsReplaced(t *testing.T) {
	other := []field{{"command", "deskhand"}, {"args", []string{"serve"}}}
	for _, c := range []struct {
		edit editor
		file string
		keep []string
	}{
		{jsonFile{group: "mcpServers"}, "{\"mcpServers\": {\"deskhand\": {\"command\": \"old\"}, /* c */ \"b\": {\"command\": \"y\"}}}", []string{"/* c */", `"b"`}},
		{tomlFile{"mcp_servers"}, "[mcp_servers.deskhand]\ncommand = \"old\"\n[mcp_servers.deskhand.env]\nA = \"1\"\n\n# c\n[mcp_servers.b]\ncommand = \"y\"\n", []string{"# c", "[mcp_servers.b]"}},
		{yamlFile{"extensions"}, "extensions:\n  deskhand:\n    cmd: old\n  # c\n  b:\n    cmd: y\n", []string{"# c", "  b:"}},
	} {
		out, err := c.edit.put([]byte(c.file), "deskhand", other)
		if err != nil {
			t.Errorf("put into %q: %v", c.file, err)
			continue
		}
		all, err := c.edit.entries(out)
		if err != nil || !same(all["deskhand"], other) || strings.Contains(string(out), "old") {
			t.Errorf("%q became %q, %v", c.file, out, err)
		}
		for _, text := range c.keep {
			if !strings.Contains(string(out), text) {
				t.Errorf("%q became %q, which lost %q", c.file, out, text)
			}
		}
	}
}

// Whatever the file, an edit changes the entry and nothing else, or fails.
func FuzzEdit(f *testing.F) {
	f.Add("{\n  \"mcpServers\": {\"a\": {}, /* c */},\n}")
	f.Add("[mcp_servers.a]\ncommand = \"x\"\n")
	f.Add("extensions:\n  a:\n    cmd: x\n")
	f.Fuzz(func(t *testing.T, file string) {
		for _, edit := range []editor{jsonFile{group: "mcpServers"}, tomlFile{"mcp_servers"}, yamlFile{"extensions"}} {
			in, err := edit.put([]byte(file), "deskhand", entry)
			if err != nil {
				continue
			}
			if _, err := edit.cut(in, "deskhand", []byte(file)); err != nil && err != errByHand {
				t.Errorf("%T: cut %q: %v", edit, in, err)
			}
		}
	})
}
