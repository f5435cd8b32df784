package worktree

import (
	"bytes"
	"context"
	"regexp"
	"strconv"
)

var behindBy = regexp.MustCompile(`\bbehind (\d+)`)

// BehindUpstream returns how many commits the target branch lacks of the branch that it
// follows, and that branch's name, such as origin/main. It fetches nothing, so it counts
// what the last fetch has brought. It returns 0 if the branch follows none.
func (r Repo) BehindUpstream(ctx context.Context) (upstream string, commits int, err error) {
	out, err := git(ctx, r.Path, "for-each-ref", "--format=%(upstream:short)%00%(upstream:track)", "refs/heads/"+r.Target)
	if err != nil {
		return "", 0, err
	}
	name, track, _ := bytes.Cut(out, []byte{0})
	if m := behindBy.FindSubmatch(track); m != nil {
		commits, err = strconv.Atoi(string(m[1]))
	}
	return string(name), commits, err
}
