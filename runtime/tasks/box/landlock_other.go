//go:build !linux

package box

import "errors"

const (
	landlockTruncate = 3
	landlockTCP      = 4
	landlockScopes   = 6
	landlockSockets  = 9
)

func landlockVersion() int { return 0 }

func (Rules) restrict() error { return errors.New("Landlock requires Linux") }
