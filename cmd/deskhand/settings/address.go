package settings

import (
	"fmt"
	"net"
	"strconv"

	"github.com/spf13/pflag"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/web"
)

// DefaultAddr is the default address of --http, on the loopback interface and the
// port that docs-mcp uses.
const DefaultAddr = "127.0.0.1:20310"

// Listen holds the flags of the command serve that set the transport and the
// address.
type Listen struct {
	HTTP      string // HOST:PORT
	Transport string // stdio or http; if empty, the other flags determine the transport
	Port      int    // port on 127.0.0.1
}

// Declare adds the flags.
func (l *Listen) Declare(flags *pflag.FlagSet) {
	flags.StringVar(&l.HTTP, "http", "", "serve over HTTP at this address (without a value: "+DefaultAddr+")")
	flags.Lookup("http").NoOptDefVal = DefaultAddr
	flags.StringVar(&l.Transport, "transport", "", "stdio or http; stdio is the same as omitting --http")
	flags.IntVar(&l.Port, "port", 0, "port on 127.0.0.1, the same as --http 127.0.0.1:PORT")
}

// Address returns the HOST:PORT to serve over HTTP, or "" for stdio.
func (l *Listen) Address(flags *pflag.FlagSet) (string, error) {
	if err := Exclusive(flags, "http", "port"); err != nil {
		return "", err
	}
	over := flags.Changed("http") || flags.Changed("port")
	switch l.Transport {
	case "", "http":
	case "stdio":
		if over {
			return "", fault.Misuse("--transport stdio cannot be combined with --http or --port", "omit one of them")
		}
	default:
		return "", fault.Misuse(fmt.Sprintf("unknown --transport %q", l.Transport), "use stdio or http")
	}
	addr := l.HTTP
	switch {
	case !over && l.Transport != "http":
		return "", nil
	case flags.Changed("port"):
		addr = net.JoinHostPort("127.0.0.1", strconv.Itoa(l.Port))
	case addr == "":
		addr = DefaultAddr
	}
	if n, err := strconv.Atoi(addr); err == nil && n >= 0 {
		addr = net.JoinHostPort("127.0.0.1", addr) // a port alone
	}
	return addr, web.CheckAddr(addr)
}
