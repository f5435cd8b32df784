package gateway

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/deskhand/deskhand/runtime/contract"
	"github.com/deskhand/deskhand/runtime/fault"
)

// An upstream may lead back to this server: its URL may be this server's address,
// or its command may start deskhand with the same configuration. Each round would
// add tools or start another process. To prevent this, tools and processes carry
// the marks of the upstreams that they came through.

// viaKey is the member of a tool's _meta that holds its marks. viaVariable is the
// environment variable that holds a process's marks, separated by commas.
const (
	viaKey      = "deskhand/via"
	viaVariable = "DESKHAND_VIA"
)

// mark returns a value that identifies the upstream's configuration. It is the
// same wherever that configuration is used.
func (u *Upstream) mark() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %q", u.Name, u.Command, u.Dir, u.URL)))
	return hex.EncodeToString(sum[:6])
}

// cameThrough reports whether a tool has come through u before.
func (u *upstream) cameThrough(t *mcp.Tool) bool { return u.passed(t.Meta) }

// passed reports whether the object with this meta has come through u before.
func (u *upstream) passed(meta mcp.Meta) bool {
	marks, _ := meta[viaKey].([]any)
	return slices.Contains(marks, any(u.mark()))
}

// through returns a copy of t that carries u's mark.
func (u *upstream) through(t *mcp.Tool) *mcp.Tool {
	marked := *t
	marked.Meta = u.withMark(t.Meta)
	return &marked
}

func (u *upstream) withMark(meta mcp.Meta) mcp.Meta {
	marked := mcp.Meta{}
	maps.Copy(marked, meta)
	marks, _ := meta[viaKey].([]any)
	marked[viaKey] = append(slices.Clip(marks), u.mark())
	return marked
}

// marked returns an entry with u's mark added to meta.
func (u *upstream) marked(raw json.RawMessage, meta mcp.Meta) (json.RawMessage, error) {
	value, err := json.Marshal(u.withMark(meta))
	if err != nil {
		return nil, err
	}
	return contract.With(raw, "_meta", value)
}

// marksWith returns the marks of this process and of u, for u's command. It fails
// if this process itself was started for u.
func (u *Upstream) marksWith() (string, error) {
	marks := strings.FieldsFunc(os.Getenv(viaVariable), func(c rune) bool { return c == ',' })
	if slices.Contains(marks, u.mark()) {
		return "", fault.New("upstream_loop", fmt.Sprintf("the command of upstream %s starts this same server again", u.Name),
			"remove it from the configuration file, or pass it a different --config")
	}
	return viaVariable + "=" + strings.Join(append(marks, u.mark()), ","), nil
}
