package artifact

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// Digest covers metadata.json, so that damage and edits are found before they
// change an answer. It is against accidents: whoever may write the folder can
// make a digest too. Both are SHA-256 in hex.
type Digest struct {
	// Metadata is of the file without its member digest and with the digest
	// CorpusDescription in place of that text, as JSON in its shortest form with
	// sorted keys. Spaces and the order of members do not count.
	Metadata string `json:"metadata"`
	// CorpusDescription is of that text. It stands apart because the contract
	// has the text read at each start, an edited one too: seed 004.
	CorpusDescription string `json:"corpus_description"`
}

// undigested is the last metadata_version without a digest. All before it have
// an older format, which is refused for that.
const undigested = "1.2.0"

// Encode returns m as metadata.json and fills in m.Digest.
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

// Edited says that corpus_description is not the one that was built.
func (m *Metadata) Edited() bool {
	return m.Digest != nil && m.Digest.CorpusDescription != hexSum([]byte(m.CorpusDescription))
}

// checkDigest compares the text of a metadata.json that was decoded as m with
// its digest.
func checkDigest(m Metadata, text []byte) error {
	if m.Digest == nil {
		if m.MetadataVersion == undigested {
			return nil
		}
		return errors.New("it has no digest")
	}
	d, err := digestOf(text, m.Digest)
	if err != nil {
		return err
	}
	if d.Metadata != m.Digest.Metadata {
		return fmt.Errorf("it was changed after it was built: its digest begins with %.16s, and it says %.16s", d.Metadata, m.Digest.Metadata)
	}
	return nil
}

// checkDescription refuses an edited corpus_description.
func (m *Metadata) checkDescription(dir string) error {
	if m.Edited() {
		return changed(dir, errors.New("corpus_description was changed after it was built"))
	}
	return nil
}

// digestOf is the digest of the text of a metadata.json that says that it has
// the digest said; nil: it says none yet. Members that this deskhand does not
// know count too.
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
