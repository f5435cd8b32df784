package gateway

//lint:file-ignore SA1019 2026-07-28 deprecates logging, but earlier servers use it

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (u *upstream) hearLogs(o *mcp.ClientOptions) { o.LoggingMessageHandler = u.logged }

// askForLogs asks a server for everything that it logs. The client's own transport
// leaves out messages that the client does not want.
func (s *session) askForLogs(ctx context.Context) {
	opened := s.InitializeResult()
	if opened != nil && opened.Capabilities != nil && opened.Capabilities.Logging != nil && opened.ProtocolVersion < modernVersion {
		_ = s.SetLoggingLevel(ctx, &mcp.SetLoggingLevelParams{Level: "debug"}) // a server that refuses logs nothing
	}
}

// logged forwards an upstream's log message to the clients of all calls that it may
// belong to.
func (u *upstream) logged(_ context.Context, req *mcp.LoggingMessageRequest) {
	logger := u.Name
	if req.Params.Logger != "" {
		logger += "/" + req.Params.Logger
	}
	for _, c := range u.inFlight() {
		if caller, ctx := c.who(), c.wait(); caller.Log != nil && ctx != nil {
			caller.Log(ctx, string(req.Params.Level), logger, req.Params.Data)
		}
	}
}
