package main

import (
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/web"
)

// defaultAddr is where --http listens: loopback, on the port docs-mcp uses.
const defaultAddr = "127.0.0.1:20310"

// noArguments allows none, but for the address after "--http": a flag whose
// value may be left out takes it only after "=", which nobody remembers.
func noArguments(f *serveFlags) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == 1 && f.http == defaultAddr {
			f.http = args[0]
			return nil
		}
		return arguments(0, 0, "no arguments")(cmd, args)
	}
}

// address is where to serve over HTTP; empty: stdio.
func (f *serveFlags) address(flags *pflag.FlagSet) (string, error) {
	if err := exclusive(flags, "http", "port"); err != nil {
		return "", err
	}
	over := flags.Changed("http") || flags.Changed("port")
	switch f.transport {
	case "", "http":
	case "stdio":
		if over {
			return "", misuse("--transport stdio leaves no room for --http and --port", "leave one of them out")
		}
	default:
		return "", misuse(fmt.Sprintf("unknown --transport %q", f.transport), "use stdio or http")
	}
	addr := f.http
	switch {
	case !over && f.transport != "http":
		return "", nil
	case flags.Changed("port"):
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port))
	case addr == "":
		addr = defaultAddr
	}
	return addr, web.CheckAddr(addr)
}
