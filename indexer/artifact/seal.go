package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Digest holds the digests of metadata.json. They detect damage and edits before these
// change an answer. They protect only against accidents, because anyone with write
// access to the folder can also write new digests. Both fields are SHA-256 in hex.
type Digest struct {
	// Metadata is the digest of the file as compact JSON with sorted keys. For this
	// digest, the member digest is removed, and the corpus description is replaced by
	// the digest CorpusDescription. White space and the order of members do not affect
	// the result.
	Metadata string `json:"metadata"`
	// CorpusDescription is the digest of the corpus description. It is separate because
	// deskhand must be able to read the description at each start, even if it was
	// edited; the contract (seed 004) requires this.
	CorpusDescription string `json:"corpus_description"`
}

// undigested is the last metadata_version without a digest. Earlier versions are
// rejected because they have an older data format.
const undigested = "1.2.0"

// Encode returns m as the text of metadata.json and sets m.Digest.
func (m *Metadata) Encode() ([]byte, error) {
	m.Digest = nil
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	d, err := digestOf(text, nil)
	if err != nil {
		return nil, err
	}
	m.Digest = &d
	if text, err = json.MarshalIndent(m, "", "  "); err != nil {
		return nil, err
	}
	return append(text, '\n'), nil
}

// Edited reports whether corpus_description was changed after the build.
func (m *Metadata) Edited() bool {
	return m.Digest != nil && m.Digest.CorpusDescription != hexSum([]byte(m.CorpusDescription))
}

// checkDigest checks the text of a metadata.json, decoded as m, against its digest.
func checkDigest(m Metadata, text []byte) error {
	if m.Digest == nil {
		if m.MetadataVersion == undigested {
			return nil
		}
		return errors.New("it has no digest")
	}
	if canonicalDigest(text, m.Digest.CorpusDescription) == m.Digest.Metadata {
		return nil
	}
	d, err := digestOf(text, m.Digest)
	if err != nil {
		return err
	}
	if d.Metadata != m.Digest.Metadata {
		return fmt.Errorf("it was changed after the build: its digest starts with %.16s, but the recorded one with %.16s", d.Metadata, m.Digest.Metadata)
	}
	return nil
}

// checkDescription returns an error if corpus_description was edited.
func (m *Metadata) checkDescription(dir string) error {
	if m.Edited() {
		return changed(dir, errors.New("corpus_description was changed after the build"))
	}
	return nil
}

// digestOf returns the digest of a metadata.json's text. said is the digest in the
// text, or nil if the text has none yet. The digest includes members that this version
// of deskhand does not know.
func digestOf(text []byte, said *Digest) (sum Digest, err error) {
	var all map[string]any
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	if err := d.Decode(&all); err != nil {
		return sum, err
	}
	delete(all, "digest")
	if description, ok := all["corpus_description"].(string); ok {
		sum.CorpusDescription = hexSum([]byte(description))
		all["corpus_description"] = sum.CorpusDescription
		if said != nil {
			all["corpus_description"] = said.CorpusDescription
		}
	}
	canonical, err := json.Marshal(all)
	if err != nil {
		return sum, err
	}
	sum.Metadata = hexSum(canonical)
	return sum, nil
}

func hexSum(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
