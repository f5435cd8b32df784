package board

import (
	"encoding/json"
	"io"
	"net/http"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/tasks"
)

// imagesPath is the path that stores images of prompts. Below it are the images.
const imagesPath = Path + "/images"

// addImage stores an image, and answers with the text that refers to it in a prompt: as
// JSON for the script of prompts, and otherwise as a page.
func (b *Board) addImage(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	f, _, err := r.FormFile("image")
	if err != nil {
		return fault.New(tasks.MissingRequired, "No image was sent.", "Choose a file first.")
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, tasks.MaxImage+1))
	if err != nil {
		return err
	}
	i, err := m.PutImage(r.Context(), data)
	if err != nil {
		return err
	}
	if r.Header.Get("Deskhand-Part") == "" {
		b.write(w, r, http.StatusOK, b.troubles, "Image stored", trouble{"The image is stored.", "Go back and add this line where the agent should see it: " + i.Reference()})
		return nil
	}
	answer, err := json.Marshal(map[string]string{"text": i.Reference()})
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(answer) // the client is gone
	return nil
}

// image sends a stored image. Its type is one that its bytes were checked for.
func (b *Board) image(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	i, err := m.Image(r.Context(), r.PathValue("name"))
	if f := fault.Of(err); f != nil {
		http.NotFound(w, r)
		return nil
	}
	if err != nil {
		return err
	}
	h := w.Header()
	h.Set("Content-Type", i.Type)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "private, max-age=86400, immutable")
	_, _ = w.Write(i.Data) // the client is gone
	return nil
}

// Plain returns the description without its images.
func (v taskView) Plain() string {
	text, _ := tasks.SplitImages(v.Description)
	return text
}

// Images returns the names of the description's images.
func (v taskView) Images() []string {
	_, names := tasks.SplitImages(v.Description)
	return names
}
