package box

// Codes of faults.
const (
	InvalidArgument    = "invalid_argument"
	SandboxUnavailable = "sandbox_unavailable"
)

// Cases of faults, for the hints of doors; see [fault.Fault].
const (
	SandboxNamed = "sandbox_named" // sandbox_unavailable: one that was asked for by name
)

// Codes are those of this package.
var Codes = []string{
	InvalidArgument, SandboxUnavailable,
}

// Cases are those of this package.
var Cases = []string{
	SandboxNamed,
}
