package contract

import (
	"math"
	"strconv"
	"strings"
)

// integer parses a JSON number as JSON Schema does: 5, 5.0 and 50e-1 are the same
// integer. It returns the plain digits, and the value clamped to int64. Numbers of
// any length are safe, because nothing is expanded beyond 20 digits.
func integer(number string) (digits string, value int64, ok bool) {
	sign := ""
	if rest, negative := strings.CutPrefix(number, "-"); negative {
		sign, number = "-", rest
	}
	mantissa, exponent := number, 0
	if i := strings.IndexAny(number, "eE"); i >= 0 {
		mantissa, exponent = number[:i], clampedInt(number[i+1:])
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	all := strings.TrimLeft(whole+fraction, "0")
	point := len(all) - len(fraction) + exponent // digits before the point
	if all == "" {
		return "0", 0, true
	}
	if point < len(all) && strings.Trim(all[max(point, 0):], "0") != "" {
		return "", 0, false
	}
	if point > 20 { // outside int64, whatever the digits are
		if sign != "" {
			return sign + number, math.MinInt64, true
		}
		return number, math.MaxInt64, true
	}
	if point <= len(all) {
		all = all[:point]
	} else {
		all += strings.Repeat("0", point-len(all))
	}
	value, _ = strconv.ParseInt(sign+all, 10, 64) // after a range error, value is the nearest bound
	return sign + all, value, true
}

// clampedInt parses an exponent and clamps it to ±2^30, which is more than the
// number of digits in any number.
func clampedInt(s string) int {
	n, err := strconv.Atoi(s)
	const limit = 1 << 30
	if err != nil && strings.HasPrefix(s, "-") || n < -limit {
		return -limit
	}
	if err != nil || n > limit {
		return limit
	}
	return n
}

// plain formats a bound of a schema without an exponent.
func plain(f float64) string { return strconv.FormatFloat(f, 'f', -1, 64) }
