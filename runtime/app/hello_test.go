package app

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/deskhand/deskhand/runtime/contract"
)

func TestFirstMessageSaysWhatAClientLends(t *testing.T) {
	long := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"roots":{}},"x":"` + strings.Repeat("x", maxHello) + `"}}` + "\n"
	for name, c := range map[string]struct {
		in   string
		want contract.Lends
	}{
		"initialize": {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{"listChanged":true},"sampling":{"tools":{}}},"clientInfo":{"name":"x","version":"1"}}}` + "\nmore", contract.Lends{Sampling: true, SamplingTools: true, Roots: true}},
		"discover":   {`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/clientCapabilities":{"sampling":{}}}}}` + "\n", contract.Lends{Sampling: true}},
		"nothing":    {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{}}}` + "\n", contract.Lends{}},
		"odd":        {`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"roots":true,"sampling":[]}}}` + "\n", contract.Lends{}},
		"no message": {"hello\n", contract.Lends{}},
		"no line":    {"", contract.Lends{}},
		"too long":   {long, contract.Lends{}},
	} {
		t.Run(name, func(t *testing.T) {
			got, rest := hello(t.Context(), strings.NewReader(c.in))
			if got != c.want {
				t.Errorf("hello = %+v, want %+v", got, c.want)
			}
			if all, err := io.ReadAll(rest); err != nil || string(all) != c.in {
				t.Errorf("what is left to read is %.80q, %v; want all of it", all, err)
			}
		})
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	silent, _ := io.Pipe()
	if got, rest := hello(ctx, silent); got != (contract.Lends{}) {
		t.Errorf("hello of a client that is told to stop = %+v, %v", got, rest)
	}
}
