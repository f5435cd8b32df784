package mcpserver

import (
	"context"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/deskhand/deskhand/runtime/waittest"
)

// A client that sends and does not read fills the pipe of answers; then the
// server hangs in a write, and the end of its context must still end it.
func TestEndOfContextEndsAServerThatNobodyReads(t *testing.T) {
	for name, line := range map[string]string{
		"malformed lines": "hello\n",
		"too many calls":  `{"jsonrpc":"2.0","id":%d,"method":"ping"}` + "\n",
		"unknown methods": `{"jsonrpc":"2.0","id":%d,"method":"x/y"}` + "\n",
		"fast calls":      `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"empty"}}` + "\n",
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, Options{DrainTime: 50 * time.Millisecond, MaxCalls: 8}, newDesk().catalog())
			ctx, cancel := context.WithCancel(t.Context())
			inR, inW := io.Pipe()
			outR, outW := io.Pipe()
			ended := make(chan error, 1)
			go func() { ended <- s.ServeStdio(ctx, inR, outW) }()
			t.Cleanup(func() { inW.Close(); outR.Close() })

			io.WriteString(inW, initializeLine+"\n")
			if _, err := outR.Read(make([]byte, 64<<10)); err != nil {
				t.Fatal(err)
			}
			var written atomic.Int32
			go func() {
				for id := range 1000 {
					text := line
					if line[0] == '{' {
						text = fmt.Sprintf(line, id)
					}
					if _, err := io.WriteString(inW, text); err != nil {
						return
					}
					written.Add(1)
				}
			}()
			waittest.Settled(t, "every write hangs", written.Load)
			start := time.Now()
			cancel()
			select {
			case err := <-ended:
				if err != nil {
					t.Errorf("ServeStdio = %v, want nil", err)
				}
				if took := time.Since(start); took > 50*time.Millisecond+cancelTime+waittest.Soon {
					t.Errorf("it took %v to end", took)
				}
			case <-time.After(waittest.Patience):
				t.Error("ServeStdio does not end after its context")
			}
		})
	}
}
