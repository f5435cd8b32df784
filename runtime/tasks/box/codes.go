package box

// Fault codes.
const (
	InvalidArgument    = "invalid_argument"
	SandboxUnavailable = "sandbox_unavailable"
)

// Fault cases, which select hints; see [fault.Fault].
const (
	SandboxNamed = "sandbox_named" // sandbox_unavailable: the user requested this mode by name
)

// Codes lists this package's fault codes.
var Codes = []string{
	InvalidArgument, SandboxUnavailable,
}

// Cases lists this package's fault cases.
var Cases = []string{
	SandboxNamed,
}
