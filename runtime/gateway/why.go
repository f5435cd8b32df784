package gateway

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// commandError is the error of a command that exited before it answered, with the
// end of its stderr.
type commandError struct {
	error
	said string
}

func (e *commandError) Error() string {
	if e.said == "" {
		return e.error.Error()
	}
	return e.error.Error() + "; it printed: " + e.said
}

func (e *commandError) Unwrap() error { return e.error }

// why describes the reason why an upstream did not answer. The log has the
// original error, which names calls and packages.
func (u *upstream) why(err error) string {
	dns, wrongCert, said := new(net.DNSError), new(tls.CertificateVerificationError), new(commandError)
	command := "its command"
	if len(u.Command) > 0 {
		command = "the command " + u.Command[0]
	}
	timeout, isTimeout := net.Error(nil), false
	if errors.As(err, &timeout) {
		isTimeout = timeout.Timeout()
	}
	text := err.Error()
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return "the host " + dns.Name + " is not found"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "nothing is listening at " + u.host()
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		return "the connection broke"
	case errors.As(err, &wrongCert):
		return "its certificate is not trusted: " + wrongCert.Err.Error()
	case errors.Is(err, context.DeadlineExceeded), isTimeout:
		return fmt.Sprintf("it did not answer within %v", connectTime)
	case errors.Is(err, exec.ErrNotFound), len(u.Command) > 0 && errors.Is(err, fs.ErrNotExist):
		return command + " is not found"
	case len(u.Command) > 0 && errors.Is(err, os.ErrPermission):
		return command + " cannot be run: permission denied"
	case errors.As(err, &said) && said.said != "":
		return command + " exited and printed: " + said.said
	case len(u.Command) > 0 && (errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)):
		return command + " exited"
	case len(u.Command) == 0 && (errors.Is(err, io.EOF) || errors.Is(err, mcp.ErrConnectionClosed)):
		return "the server at " + u.host() + " does not speak MCP, or closed the connection"
	case strings.Contains(text, "unsupported content type"):
		return "the server at " + u.host() + " does not speak MCP"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection ended"
	}
	last := strings.TrimSpace(text[strings.LastIndex(text, ": ")+1:])
	for code := http.StatusBadRequest; code < 600; code++ {
		if http.StatusText(code) == last && last != "" {
			return fmt.Sprintf("it returned %d %s", code, last)
		}
	}
	return last
}
