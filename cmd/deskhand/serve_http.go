package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"runtime"

	"github.com/deskhand/deskhand/runtime/web"
)

// serveHTTP serves until ctx ends, then lets the calls in flight finish.
func (a *app) serveHTTP(ctx context.Context, f *serveFlags, lib *library, addr string) error {
	o := web.Options{
		Addr: addr, NoToken: f.noToken,
		AllowedHosts: a.settings.list("allow-host"), AllowedOrigins: a.settings.list("allow-origin"),
		Mounts: map[string]http.Handler{"/mcp": lib.server.Handler()},
		Build:  map[string]string{"name": a.serverName(), "version": buildVersion(), "go": runtime.Version()},
		Logger: lib.log,
		OnShutdown: func() {
			if err := lib.server.Close(context.WithoutCancel(ctx)); err != nil {
				lib.log.Warn("sessions did not end", "error", err)
			}
		},
	}
	agents, err := a.openAgents(ctx, f.noToken, lib.log)
	if err != nil {
		return err
	}
	defer agents.close()
	agents.mount(&o)
	where := ""
	if !f.noToken {
		if o.Token, where, err = a.token(lib.log); err != nil {
			return err
		}
	}
	o.OnListen = func(at net.Addr) {
		a.tell(fmt.Sprintf("serving MCP at http://%s/mcp%s", shownAddr(addr, at), where))
	}
	server, err := web.New(o)
	if err != nil {
		return err
	}
	return server.Serve(ctx)
}

// token is the bearer token to ask for, and where a person finds it.
func (a *app) token(log *slog.Logger) (token, where string, err error) {
	if token := a.settings.get("token"); token != "" {
		return token, "", nil
	}
	dir, err := a.settings.stateFolder()
	if err != nil {
		return "", "", err
	}
	token, err = web.Token(dir, log)
	return token, " (token in " + filepath.Join(dir, "token") + ")", err
}
