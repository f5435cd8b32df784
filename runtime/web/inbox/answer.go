package inbox

import (
	"net/http"

	"github.com/deskhand/deskhand/runtime/elicit"
)

func (in *Inbox) byLink(w http.ResponseWriter, r *http.Request, hub *elicit.Hub) error { return nil }
