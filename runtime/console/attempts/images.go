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
	if len(files) > tasks.MaxPromptImages {
		return "", fault.Misuse(fmt.Sprintf("a prompt can have %d images, not %d", tasks.MaxPromptImages, len(files)), "attach fewer images, or send the others with \"deskhand tasks say\"")
	}
	for _, name := range files {
		data, err := readImage(name)
		if err != nil {
			return "", err
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

// readImage returns a file's bytes. It refuses what is no file and what is too large for an
// image; a pipe has no size before it is read.
func readImage(name string) ([]byte, error) {
	const hint = "pass the path of an image file"
	if name == "" {
		return nil, fault.Misuse("--image is empty", hint)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, fault.Misuse(fmt.Sprintf("cannot read the image: %v", err), hint)
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the image %s: %w", name, err)
	case info.IsDir():
		return nil, fault.Misuse(name+" is a folder, not an image", hint)
	case info.Size() > tasks.MaxImage:
		return nil, fault.Misuse(fmt.Sprintf("%s has %d bytes; an image can have at most %d", name, info.Size(), tasks.MaxImage), "make it smaller")
	}
	data, err := io.ReadAll(io.LimitReader(f, tasks.MaxImage+1))
	if err != nil {
		return nil, fmt.Errorf("read the image %s: %w", name, err)
	}
	return data, nil
}
