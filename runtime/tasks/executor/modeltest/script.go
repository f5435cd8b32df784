package modeltest

import "fmt"

// Models that Codex knows may get no tools but exec, which runs JavaScript that
// calls the tools of MCP servers. They are not listed, so that the script looks
// for a name itself.

// unseen are names for the steps, as if every tool was on offer.
func (m *Model) unseen() (tools []string) {
	for _, s := range m.steps {
		if len(s.Tools) > 0 {
			tools = append(tools, s.Tools[0])
		}
	}
	return tools
}

// script calls the first tool that has one of the names of a step, as offered
// finds it, and prints the whole result.
func (next move) script() string {
	return fmt.Sprintf(`const all = ALL_TOOLS.map((tool) => tool.name);
const name = %s.flatMap((end) => all.filter((one) => one === end || one.endsWith("_" + end)))[0];
text(name ? await tools[name](%s) : "no such tool");`, text(next.names), text(next.args))
}
