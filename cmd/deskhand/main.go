// Command deskhand is the help desk for coding agents. Over MCP, it lets them search
// docs, ask people questions and hand tasks to other agents.
package main

import (
	"os"
	"slices"

	"github.com/deskhand/deskhand/runtime/tasks/box"
)

func main() {
	// A sandbox has no trustworthy configuration: the one in its folder
	// belongs to an agent.
	if n := len(box.Args); len(os.Args) > n && slices.Equal(os.Args[1:1+n], box.Args) {
		os.Exit(box.Main(os.Args[1+n:], os.Stderr))
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
