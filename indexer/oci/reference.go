// Package oci pushes indexes to container registries and pulls them, as OCI artifacts.
//
// Registries are untrusted. The size of everything they send is limited, and its digest
// is checked before it is used. Requests go only to addresses that follow from the
// user's reference. If a server stops sending, the transfer is cancelled.
package oci

import (
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
)

// Prefix is the prefix of a library's address in a registry.
const Prefix = "oci://"

// IsAddress reports whether address refers to a library in a registry. As in any address,
// the case of the scheme has no meaning.
func IsAddress(address string) bool {
	return len(address) >= len(Prefix) && strings.EqualFold(address[:len(Prefix)], Prefix)
}

// Reference is a library in a registry: its repository, and a tag or the digest of its
// manifest. Use Parse to create one.
type Reference struct{ ref registry.Reference }

// defaultTag is the tag used if a reference has none.
const defaultTag = "latest"

// Parse parses HOST[:PORT]/REPOSITORY[:TAG][@DIGEST], with or without Prefix. The
// default tag is "latest". If there is a digest, the tag is ignored. Parse returns
// fault "bad_source" if the address is invalid.
func Parse(address string) (Reference, error) {
	bare := address
	if IsAddress(address) {
		bare = address[len(Prefix):]
	}
	ref, err := registry.ParseReference(bare)
	if err != nil || strings.ContainsAny(ref.Registry, "@?#") || strings.HasPrefix(bare, "-") {
		return Reference{}, fault.New("bad_source", fmt.Sprintf("'%s' is not a reference to a library in a registry", shown(address)),
			"write HOST/REPOSITORY:TAG with a lowercase repository, for example oci://ghcr.io/acme/docs/cobra:1.9.1")
	}
	if ref.Reference == "" {
		ref.Reference = defaultTag
	}
	return Reference{ref}, nil
}

// String returns the address, including Prefix.
func (r Reference) String() string {
	separator := ":"
	if r.IsDigest() {
		separator = "@"
	}
	return Prefix + r.ref.Registry + "/" + r.ref.Repository + separator + r.ref.Reference
}

// IsDigest reports whether r contains a digest. Such a reference always resolves to
// the same bytes.
func (r Reference) IsDigest() bool { return strings.Contains(r.ref.Reference, ":") }

// At returns a reference to the manifest with the given digest in the same repository.
// The digest must begin with "sha256:". If it is invalid, At returns fault
// "bad_source".
func (r Reference) At(digest string) (Reference, error) {
	r.ref.Reference = digest
	if !r.IsDigest() || r.ref.ValidateReferenceAsDigest() != nil {
		return Reference{}, fault.New("bad_source", fmt.Sprintf("'%s' is not a digest", shown(digest)), "write it as sha256:, followed by 64 hexadecimal digits")
	}
	return r, nil
}

// isThisMachine reports whether the registry's host name refers to this machine.
func (r Reference) isThisMachine() bool {
	host, _, _ := strings.Cut(r.ref.Registry, ":")
	if strings.HasPrefix(r.ref.Registry, "[") {
		host, _, _ = strings.Cut(r.ref.Registry, "]")
	}
	return netguard.IsThisMachine(strings.Trim(host, "[]"))
}
