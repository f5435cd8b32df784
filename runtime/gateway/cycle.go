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

// An upstream may lead back to where it is asked from: the address of this very
// server, or a command that starts deskhand with the same configuration. Each
// round would have more tools than the one before, or start one more process. So
// tools and processes carry the marks of the upstreams that they came through.

// viaKey is where a tool has its marks, among its _meta; viaVariable is where a
// process has them, with commas between.
const (
	viaKey      = "deskhand/via"
	viaVariable = "DESKHAND_VIA"
)

// mark is the same for an upstream wherever it is configured alike.
func (u *Upstream) mark() string {
	sum := sha256.Sum256([]byte(fmt.Sprintf("%q %q %q %q", u.Name, u.Command, u.Dir, u.URL)))
	return hex.EncodeToString(sum[:6])
}

// cameThrough says that a tool has come through u before.
func (u *upstream) cameThrough(t *mcp.Tool) bool { return u.passed(t.Meta) }

// passed says that what has this meta has come through u before.
func (u *upstream) passed(meta mcp.Meta) bool {
	marks, _ := meta[viaKey].([]any)
	return slices.Contains(marks, any(u.mark()))
}

// through is t with the mark of u.
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

// marked is an entry that has meta, with the mark of u.
func (u *upstream) marked(raw json.RawMessage, meta mcp.Meta) (json.RawMessage, error) {
	value, err := json.Marshal(u.withMark(meta))
	if err != nil {
		return nil, err
	}
	return contract.With(raw, "_meta", value)
}

// marksWith are the marks of this process and that of u, for its command. The
// error is that this process was started for u.
func (u *Upstream) marksWith() (string, error) {
	marks := strings.FieldsFunc(os.Getenv(viaVariable), func(c rune) bool { return c == ',' })
	if slices.Contains(marks, u.mark()) {
		return "", fault.New("upstream_loop", fmt.Sprintf("the command of upstream %s starts this same server again", u.Name),
			"remove it from the configuration file, or give it its own --config")
	}
	return viaVariable + "=" + strings.Join(append(marks, u.mark()), ","), nil
}
