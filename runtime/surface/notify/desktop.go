package notify

import (
	"context"
	"errors"
	"os/exec"
	"runtime"
	"strings"

	"github.com/deskhand/deskhand/runtime/elicit"
)

// toDesktop shows messages on this machine's desktop.
var toDesktop = kind{name: "desktop",
	parse: func(h *Hook, rest string) error {
		if rest != "" || runtime.GOOS == "windows" {
			return errors.New("desktop takes no value, and works only on Linux and macOS: use command:PROGRAM")
		}
		return nil
	},
	send: func(ctx context.Context, h Hook, m Message) (string, error) { return "", h.run(desktop(ctx, m), m) },
}

// desktop returns the system's own notification command. Text from agents is
// passed as arguments, and never in a script or as an option.
func desktop(ctx context.Context, m Message) *exec.Cmd {
	if runtime.GOOS == "darwin" {
		return exec.CommandContext(ctx, "osascript", "-e", "on run argv", "-e",
			"display notification (item 2 of argv) with title (item 1 of argv)", "-e", "end run", m.Title, m.Body)
	}
	urgency := map[elicit.Priority]string{elicit.Low: "low", elicit.Urgent: "critical"}[m.Priority]
	if urgency == "" {
		urgency = "normal"
	}
	return exec.CommandContext(ctx, "notify-send", "--app-name=deskhand", "--urgency="+urgency, "--", m.Title, unmarked.Replace(m.Body))
}

// unmarked escapes markup, which the Desktop Notifications Specification (chapter
// 5) allows in a notification's body but not in its title.
var unmarked = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")
