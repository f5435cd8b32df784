// Package oci sends indexes to container registries and gets them back, as OCI
// artifacts.
//
// Registries are strangers: every byte is compared with its digest and counted
// before it is used, requests go only where the person's own reference leads, and
// a server that stops sending is given up.
package oci

import (
	"fmt"
	"strings"

	"oras.land/oras-go/v2/registry"

	"github.com/deskhand/deskhand/runtime/fault"
	"github.com/deskhand/deskhand/runtime/netguard"
)

// Prefix begins the address of a library in a registry.
const Prefix = "oci://"

// IsAddress reports whether address is one of a library in a registry.
func IsAddress(address string) bool { return strings.HasPrefix(address, Prefix) }

// Reference is a library in a registry: its repository, and a tag or the digest
// of its manifest. Only Parse makes one.
type Reference struct{ ref registry.Reference }

// defaultTag is the tag of a reference without one.
const defaultTag = "latest"

// Parse reads HOST[:PORT]/REPOSITORY[:TAG][@DIGEST], with or without Prefix. The
// default tag is "latest"; if there is a digest, the tag counts for nothing. Fault
// "bad_source".
func Parse(address string) (Reference, error) {
	bare := strings.TrimPrefix(address, Prefix)
	ref, err := registry.ParseReference(bare)
	if err != nil || strings.ContainsAny(ref.Registry, "@?#") || strings.HasPrefix(bare, "-") {
		return Reference{}, fault.New("bad_source", fmt.Sprintf("'%s' is not a reference to a library in a registry", shown(address)),
			"write HOST/REPOSITORY:TAG with a repository in small letters, for example oci://ghcr.io/acme/docs/cobra:1.9.1")
	}
	if ref.Reference == "" {
		ref.Reference = defaultTag
	}
	return Reference{ref}, nil
}

// String returns the address, with Prefix.
func (r Reference) String() string {
	separator := ":"
	if r.IsDigest() {
		separator = "@"
	}
	return Prefix + r.ref.Registry + "/" + r.ref.Repository + separator + r.ref.Reference
}

// IsDigest reports whether r names a digest, and so always the same bytes.
func (r Reference) IsDigest() bool { return strings.Contains(r.ref.Reference, ":") }

// At returns the reference to the manifest with that digest, which begins with
// "sha256:", in the same repository. Fault "bad_source".
func (r Reference) At(digest string) (Reference, error) {
	r.ref.Reference = digest
	if !r.IsDigest() || r.ref.ValidateReferenceAsDigest() != nil {
		return Reference{}, fault.New("bad_source", fmt.Sprintf("'%s' is not a digest", shown(digest)), "write it as sha256:, followed by 64 hexadecimal digits")
	}
	return r, nil
}

// isThisMachine says that the registry is on this machine by its name.
func (r Reference) isThisMachine() bool {
	host, _, _ := strings.Cut(r.ref.Registry, ":")
	if strings.HasPrefix(r.ref.Registry, "[") {
		host, _, _ = strings.Cut(r.ref.Registry, "]")
	}
	return netguard.IsThisMachine(strings.Trim(host, "[]"))
}
