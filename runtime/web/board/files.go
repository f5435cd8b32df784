package board

import (
	"encoding/json"
	"net/http"

	"github.com/deskhand/deskhand/runtime/tasks"
)

// filesPath is the path that finds the files of a project, for the script of prompts.
const filesPath = Path + "/files"

// mostFiles is the maximum number of files that a person chooses from.
const mostFiles = 12

func (b *Board) files(w http.ResponseWriter, r *http.Request, m *tasks.Manager) error {
	found, err := m.FindFiles(r.Context(), r.FormValue("project"), r.FormValue("q"), mostFiles)
	if err != nil {
		return err
	}
	if found == nil {
		found = []string{}
	}
	data, err := json.Marshal(found)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(data) // the client is gone
	return nil
}
