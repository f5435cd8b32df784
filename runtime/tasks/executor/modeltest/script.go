package modeltest

import "fmt"

// Some models that Codex recognizes get only the tool exec. It runs JavaScript,
// which calls the tools of MCP servers. Those tools are not listed, so the
// script looks up their names itself.

// unseen returns one name per step, as if every tool were offered.
func (m *Model) unseen() (tools []string) {
	for _, s := range m.steps {
		if len(s.Tools) > 0 {
			tools = append(tools, s.Tools[0])
		}
	}
	return tools
}

// script returns JavaScript that calls the first matching tool and prints the
// whole result. A tool matches a step's names by the same rules as in offered.
func (next move) script() string {
	return fmt.Sprintf(`const all = ALL_TOOLS.map((tool) => tool.name);
const name = %s.flatMap((end) => all.filter((one) => one === end || one.endsWith("_" + end)))[0];
text(name ? await tools[name](%s) : "no such tool");`, text(next.names), text(next.args))
}
