// Command deskhand is the help desk for coding agents. Over MCP, it lets them search
// docs, ask people questions and hand tasks to other agents.
package main

import (
	"os"
	"slices"

	"github.com/deskhand/deskhand/runtime/tasks/box"
)

func main() {
	// A sandboxed process has no trustworthy configuration, because the file in
	// its folder is under the control of an agent.
	if n := len(box.Args); len(os.Args) > n && slices.Equal(os.Args[1:1+n], box.Args) {
		os.Exit(box.Main(os.Args[1+n:], os.Stderr))
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
