package mcpserver

//lint:file-ignore SA1019 2026-07-28 deprecates logging, and clients of before do it

import (
	"context"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func (s *Server) announceLogs(c *mcp.ServerCapabilities) {
	if s.opts.Logs {
		c.Logging = &mcp.LoggingCapabilities{}
	}
}

// logTo returns the function that sends log messages to a call's client, or nil if
// logging is not announced.
func (s *Server) logTo(req *mcp.CallToolRequest) func(ctx context.Context, level, logger string, data any) {
	if !s.opts.Logs {
		return nil
	}
	return func(ctx context.Context, level, logger string, data any) {
		err := req.Session.Log(ctx, &mcp.LoggingMessageParams{Level: mcp.LoggingLevel(level), Logger: logger, Data: data})
		if err != nil { // only logged, because a lost client also ends the call
			s.opts.Logger.Debug("cannot send a log message", slog.Any("error", err))
		}
	}
}
