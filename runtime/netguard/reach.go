package netguard

import "net/netip"

// from defines where an address can be reached from.
type from int

const (
	outside from = iota // the internet
	inside              // this machine, its network, or the provider's
	never               // never contacted: unused by real services, or exposes the machine's secrets
)

// special lists the ranges that are not on the internet. Each range comes before
// any larger range that contains it.
var special = []struct {
	prefix netip.Prefix
	from   from
}{
	{netip.MustParsePrefix("100.100.100.200/32"), never}, // Alibaba Cloud's metadata service
	{netip.MustParsePrefix("fd00:ec2::/32"), never},      // AWS's metadata service
	{netip.MustParsePrefix("fd20:ce::/32"), never},       // Google Cloud's metadata service
	{netip.MustParsePrefix("0.0.0.0/8"), never},
	{netip.MustParsePrefix("169.254.0.0/16"), never},
	{netip.MustParsePrefix("192.0.0.0/24"), never}, // includes Oracle Cloud's metadata service
	{netip.MustParsePrefix("224.0.0.0/4"), never},
	{netip.MustParsePrefix("240.0.0.0/4"), never},
	{netip.MustParsePrefix("10.0.0.0/8"), inside},
	{netip.MustParsePrefix("100.64.0.0/10"), inside}, // carrier-grade NAT
	{netip.MustParsePrefix("127.0.0.0/8"), inside},
	{netip.MustParsePrefix("172.16.0.0/12"), inside},
	{netip.MustParsePrefix("192.168.0.0/16"), inside},
	{netip.MustParsePrefix("198.18.0.0/15"), inside}, // benchmark networks
	{netip.MustParsePrefix("::1/128"), inside},
	{netip.MustParsePrefix("::/96"), never}, // IPv4-compatible addresses (deprecated) and the unspecified address
	{netip.MustParsePrefix("64:ff9b:1::/48"), inside},
	{netip.MustParsePrefix("100::/64"), never},
	{netip.MustParsePrefix("2001::/32"), never}, // Teredo
	{netip.MustParsePrefix("5f00::/16"), never},
	{netip.MustParsePrefix("fc00::/7"), inside},
	{netip.MustParsePrefix("fe80::/10"), never},
	{netip.MustParsePrefix("fec0::/10"), inside},
	{netip.MustParsePrefix("ff00::/8"), never},
}

// reach returns where an address can be reached from. For an IPv6 address that
// stands for an IPv4 address, the IPv4 address decides.
func reach(ip netip.Addr) from {
	if !ip.IsValid() {
		return never
	}
	ip = ip.Unmap().WithZone("")
	for _, s := range special {
		if s.prefix.Contains(ip) {
			return s.from
		}
	}
	if v4, ok := embedded(ip); ok {
		return reach(v4)
	}
	return outside
}

// thisMachine reports whether an address is a loopback address or stands for
// one.
func thisMachine(ip netip.Addr) bool {
	ip = ip.Unmap().WithZone("")
	v4, ok := embedded(ip)
	return ip.IsLoopback() || ok && thisMachine(v4)
}

var (
	nat64   = netip.MustParsePrefix("64:ff9b::/96") // RFC 6052
	sixToV4 = netip.MustParsePrefix("2002::/16")    // RFC 3056
)

// embedded returns the IPv4 address that an IPv6 address stands for.
func embedded(ip netip.Addr) (v4 netip.Addr, ok bool) {
	if !ip.Is6() {
		return v4, false
	}
	b := ip.As16()
	isatap := b[8]&^2 == 0 && b[9] == 0 && b[10] == 0x5e && b[11] == 0xfe // RFC 5214
	switch {
	case nat64.Contains(ip), isatap:
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case sixToV4.Contains(ip):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return v4, false
}
