package executor

// Fault codes.
const (
	ExecutorUnavailable = "executor_unavailable"
	InvalidArgument     = "invalid_argument"
)

// Codes lists this package's fault codes.
var Codes = []string{
	ExecutorUnavailable, InvalidArgument,
}
