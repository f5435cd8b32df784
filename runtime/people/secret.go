package people

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// Prefixes of the secrets. They let a server tell a token of a person from other
// secrets without asking the store, and let scanners for secrets find one in a file.
const (
	tokenPrefix  = "dht_"
	invitePrefix = "dhi_"
)

// IsToken reports whether a secret has the form of a token of a person.
func IsToken(secret string) bool { return strings.HasPrefix(secret, tokenPrefix) }

// newSecret returns a secret with 130 random bits.
func newSecret(prefix string) string { return prefix + rand.Text() }

// hashOf returns what the store keeps of a secret. A hash without salt is enough,
// because a secret has too many random bits to be guessed.
func hashOf(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// newTokenID returns an ID that is short enough to type and says nothing of the token.
func newTokenID() string { return "tok_" + strings.ToLower(rand.Text()[:12]) }
