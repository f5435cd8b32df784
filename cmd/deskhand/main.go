// Command deskhand is the help desk for coding agents: a library they can
// search, over MCP.
package main

import (
	"os"
)

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}
