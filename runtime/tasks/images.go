package tasks

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/deskhand/deskhand/runtime/store"
	"github.com/deskhand/deskhand/runtime/tasks/executor"
	"github.com/deskhand/deskhand/runtime/tasks/logs"
)

// Limits of images. If the store has more than maxImages bytes of them, it forgets the
// oldest.
const (
	MaxImage         = 5 << 20 // bytes of one image
	maxImages        = 256 << 20
	MaxPromptImages  = 8                  // references in one prompt
	imageFolder      = ".deskhand-images" // in the attempt's folder; no repository has such a name
	imageFilePattern = `[0-9a-f]{64}\.(?:png|jpeg|gif|webp)`
)

// imageKinds maps the media types of images that prompts may have to their kinds.
var imageKinds = map[string]string{"image/png": "png", "image/jpeg": "jpeg", "image/gif": "gif", "image/webp": "webp"}

// imageReference matches a reference to an image in a prompt. It is a Markdown image, so
// that a description with one is also readable elsewhere.
var imageReference = regexp.MustCompile(`!\[image\]\(image:(` + imageFilePattern + `)\)`)

// Image is a stored image.
type Image struct {
	// Name is the image's ID with its kind as the extension.
	Name string
	// Type is its media type, for example image/png.
	Type string
	Data []byte
}

// Reference returns the text that refers to the image in a prompt.
func (i Image) Reference() string { return "![image](image:" + i.Name + ")" }

// PutImage stores an image for prompts. Only the content determines what it is. Fault:
// invalid_argument if it is no PNG, JPEG, GIF or WebP image, or too big.
func (m *Manager) PutImage(ctx context.Context, data []byte) (Image, error) {
	kind := imageKinds[http.DetectContentType(data)]
	switch {
	case kind == "":
		return Image{}, refuse(InvalidArgument, "choose a PNG, JPEG, GIF or WebP image", "the file is not an image that agents can read")
	case len(data) > MaxImage:
		return Image{}, refuse(InvalidArgument, "make it smaller", "the image has %d bytes; at most %d are allowed", len(data), MaxImage)
	}
	sum := sha256.Sum256(data)
	i := Image{Name: hex.EncodeToString(sum[:]) + "." + kind, Type: "image/" + kind, Data: data}
	err := m.db.Update(ctx, func(tx *store.Tx) error {
		_, err := tx.Exec(ctx, "INSERT INTO images (id, kind, data, size, created_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET created_at = excluded.created_at",
			hex.EncodeToString(sum[:]), kind, base64.StdEncoding.EncodeToString(data), len(data), millis(tx.Now))
		if err != nil {
			return err
		}
		return dropOldImages(ctx, tx)
	})
	if err != nil {
		return Image{}, fmt.Errorf("store an image: %w", err)
	}
	return i, nil
}

// dropOldImages deletes the oldest images until the others have at most maxImages bytes.
func dropOldImages(ctx context.Context, tx *store.Tx) error {
	type row struct {
		id   string
		size int64
	}
	rows, err := all(ctx, tx, func(s scanner) (r row, err error) { return r, s.Scan(&r.id, &r.size) }, "SELECT id, size FROM images ORDER BY created_at DESC, id")
	total := int64(0)
	for _, r := range rows {
		if total += r.size; total > maxImages && err == nil {
			_, err = tx.Exec(ctx, "DELETE FROM images WHERE id = ?", r.id)
		}
	}
	return err
}

// Image returns a stored image by its name. Fault: not_found.
func (m *Manager) Image(ctx context.Context, name string) (i Image, err error) {
	id, kind, _ := strings.Cut(name, ".")
	var data string
	err = m.db.View(ctx, func(tx *store.Tx) error {
		return tx.QueryRow(ctx, "SELECT data FROM images WHERE id = ? AND kind = ?", id, kind).Scan(&data)
	})
	if errors.Is(err, sql.ErrNoRows) {
		return i, refuse(NotFound, "attach the image again", "the image %s is not stored, or no longer", brief(name))
	}
	if err == nil {
		i.Name, i.Type = name, "image/"+kind
		i.Data, err = base64.StdEncoding.DecodeString(data)
	}
	return i, err
}

// SplitImages returns a prompt without its references to images, and their names.
func SplitImages(prompt string) (text string, names []string) {
	for _, found := range imageReference.FindAllStringSubmatch(prompt, -1) {
		names = append(names, found[1])
	}
	if len(names) == 0 {
		return prompt, nil
	}
	return strings.TrimSpace(imageReference.ReplaceAllString(prompt, "")), names
}

// checkImages returns a fault if a prompt refers to more images than are sent.
func checkImages(prompt string) error {
	if n := len(imageReference.FindAllString(prompt, -1)); n > MaxPromptImages {
		return refuse(InvalidArgument, "remove some, and send them in a message when the agent has finished", "the prompt has %d images; at most %d are allowed", n, MaxPromptImages)
	}
	return nil
}

// withImages writes the images of the spec's prompt into the attempt's folder, and names
// their files in the prompt in place of the references. An image that is no longer stored
// is told of in the log, and the agent goes on without it.
func (r *run) withImages(spec *executor.Spec) error {
	var problem error
	spec.Prompt = imageReference.ReplaceAllStringFunc(spec.Prompt, func(reference string) string {
		name := imageReference.FindStringSubmatch(reference)[1]
		if len(spec.Images) >= MaxPromptImages {
			r.log.Append(logs.System(fmt.Sprintf("only %d images are sent; the others are left out", MaxPromptImages)))
			return "[image left out]"
		}
		i, err := r.m.Image(r.ctx, name)
		if err != nil {
			r.log.Append(logs.Failed("an image is missing: " + errorText(err)))
			return "[image missing]"
		}
		path := filepath.Join(r.c.tree.Dir, imageFolder, name)
		if err := writeImage(r.c.tree.Dir, i); err != nil {
			problem = fmt.Errorf("write an image: %w", err)
		}
		spec.Images = append(spec.Images, executor.Image{Path: path, Type: i.Type, Data: i.Data})
		return fmt.Sprintf("[image %d: %s]", len(spec.Images), path)
	})
	return problem
}

// writeImage writes an image's file into an attempt's folder. The agent may have put
// links there, so nothing outside the folder is written, and no existing file.
func writeImage(dir string, i Image) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer root.Close()
	if is, err := root.Lstat(imageFolder); err == nil && !is.IsDir() {
		if err := root.Remove(imageFolder); err != nil {
			return err
		}
	}
	if err := root.MkdirAll(imageFolder, 0o700); err != nil {
		return err
	}
	name := filepath.Join(imageFolder, i.Name)
	if err := root.RemoveAll(name); err != nil {
		return err
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(i.Data)
	return errors.Join(err, f.Close())
}
