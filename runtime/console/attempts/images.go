package attempts

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// WithImages returns a prompt with references to image files, which it stores.
func (c *Command) WithImages(ctx context.Context, prompt string, files []string) (string, error) {
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return "", fault.Misuse(fmt.Sprintf("cannot read the image %s: %v", name, err), "pass the path of an image file")
		}
		data, err := io.ReadAll(io.LimitReader(f, tasks.MaxImage+1))
		f.Close()
		if err != nil {
			return "", fmt.Errorf("read the image %s: %w", name, err)
		}
		i, err := c.Manager.PutImage(ctx, data)
		if f := fault.Of(err); f != nil {
			return "", fault.Misuse(name+": "+f.Message, f.Hint)
		}
		if err != nil {
			return "", err
		}
		prompt += "\n\n" + i.Reference()
	}
	return prompt, nil
}
