package notify

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/deskhand/deskhand/runtime/outbox"
)

// toCommand starts a program for each message.
var toCommand = kind{name: "command",
	parse: func(h *Hook, rest string) error {
		if h.path = rest; rest == "" {
			return errors.New("command needs a program, for example command:/usr/local/bin/tell-me")
		}
		return nil
	},
	send: func(ctx context.Context, h Hook, m Message) (string, error) {
		return "", h.run(exec.CommandContext(ctx, h.path), m)
	},
}

// run starts a command with the message on stdin and in its environment.
func (h Hook) run(cmd *exec.Cmd, m Message) error {
	m.Path = ""
	body, err := json.Marshal(m)
	if err != nil {
		return fmt.Errorf("encode notification: %w", err)
	}
	cmd.Stdin = bytes.NewReader(body)
	cmd.Env = append(os.Environ(), "DESKHAND_QUESTION_ID="+m.ID, "DESKHAND_QUESTION_TITLE="+m.Title, "DESKHAND_QUESTION_URL="+m.URL)
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return outbox.Final(fmt.Errorf("run %s: %w", cmd.Path, err))
	}
	return nil
}
