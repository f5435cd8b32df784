package elicit

import (
	"crypto/rand"
	"math/big"
	"time"
)

// idDigits is Crockford's alphabet, without I, L, O and U, in byte order.
const idDigits = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"

// Every request ID has this prefix and idLength digits.
const (
	idPrefix = "elc_"
	idLength = 26
)

// NewID returns a new request ID: 48 bits of milliseconds and 80 random bits, so
// IDs sort by time and cannot be guessed.
func NewID(now time.Time) string {
	var random [10]byte
	rand.Read(random[:]) // never fails
	return idAt(now, random)
}

// idAt returns the ID for a time. Without random bits, it is the first ID of that
// time.
func idAt(now time.Time, random [10]byte) string {
	n := new(big.Int).SetInt64(now.UnixMilli() & (1<<48 - 1))
	n.Lsh(n, 80).Or(n, new(big.Int).SetBytes(random[:]))
	id := make([]byte, idLength)
	digit, base := new(big.Int), big.NewInt(32)
	for i := len(id) - 1; i >= 0; i-- {
		n.DivMod(n, base, digit)
		id[i] = idDigits[digit.Int64()]
	}
	return idPrefix + string(id)
}

// newQuestionID generates an ID for a question that has none.
func newQuestionID() string {
	const digits = "0123456789abcdefghijklmnopqrstuvwxyz"
	id := []byte("q_......")
	for i := 2; i < len(id); i++ {
		n, _ := rand.Int(rand.Reader, big.NewInt(int64(len(digits)))) // never fails
		id[i] = digits[n.Int64()]
	}
	return string(id)
}
