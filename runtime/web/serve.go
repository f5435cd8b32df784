package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"syscall"
	"time"

	"github.com/deskhand/deskhand/runtime/fault"
)

// Serve listens and answers until ctx ends. It then accepts no more
// connections. It lets running requests continue for Options.Grace, ends the
// remaining requests, and returns nil. Call it once. If the address causes an
// error, the error is a fault with code "port_in_use", "port_denied" or
// "bad_address".
func (s *Server) Serve(ctx context.Context) error {
	listener, err := net.Listen("tcp", s.opts.Addr)
	if err != nil {
		return s.listenError(err)
	}
	// Requests get base instead of ctx, because running requests may continue
	// after ctx has ended.
	base, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	limited := limit(listener, s.opts.MaxConns)
	server := &http.Server{
		ConnState:         limited.follow,
		ConnContext:       withConn,
		Handler:           s.handler,
		ReadHeaderTimeout: s.opts.HeaderTime,
		IdleTimeout:       s.opts.IdleTime,
		MaxHeaderBytes:    s.opts.MaxHeaderBytes,
		BaseContext:       func(net.Listener) context.Context { return base },
		ErrorLog:          slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelDebug),
	}
	if s.opts.OnShutdown != nil {
		server.RegisterOnShutdown(sync.OnceFunc(s.opts.OnShutdown))
	}
	if s.opts.OnListen != nil {
		s.opts.OnListen(listener.Addr())
	}
	var looking sync.WaitGroup
	defer looking.Wait()
	defer cut()
	looking.Go(func() { s.endSessions(base) })
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(limited) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve http: %w", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.opts.Grace)
	defer cancel()
	if err := server.Shutdown(grace); err != nil {
		s.opts.Logger.Warn("requests were cut off at shutdown", "after", s.opts.Grace)
		cut()
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), cutTime)
		defer cancel()
		_ = server.Shutdown(last) // requests that check their context end now
		_ = server.Close()        // closes the connections of all other requests
	}
	<-ended
	return nil
}

// cutTime is how long a cancelled request may take to return.
const cutTime = 250 * time.Millisecond

func (s *Server) listenError(err error) error {
	host, port, _ := net.SplitHostPort(s.opts.Addr) // no error: New has checked the address
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fault.New("port_in_use", fmt.Sprintf("port %s is already in use on %s", port, host),
			"stop the program that uses it, or choose another with --http HOST:PORT; port 0 picks a free one")
	case errors.Is(err, syscall.EACCES):
		return fault.New("port_denied", fmt.Sprintf("this user has no permission to listen on port %s of %s", port, host),
			"choose a port above 1023 with --http HOST:PORT")
	}
	if unknown := new(net.DNSError); errors.As(err, &unknown) || errors.Is(err, syscall.EADDRNOTAVAIL) {
		return fault.New("bad_address", fmt.Sprintf("cannot listen on '%s': it is not an address of this machine", s.opts.Addr),
			"use, for example, 127.0.0.1:20310, or 0.0.0.0:20310 for all addresses")
	}
	return fmt.Errorf("listen on %s: %w", s.opts.Addr, err)
}
