package executor

// Codes of faults.
const (
	ExecutorUnavailable = "executor_unavailable"
	InvalidArgument     = "invalid_argument"
)

// Codes are those of this package.
var Codes = []string{
	ExecutorUnavailable, InvalidArgument,
}
