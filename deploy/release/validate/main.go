// Command validate checks a JSON file against a JSON schema.
//
//	validate schema.json file.json
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/google/jsonschema-go/jsonschema"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: validate schema.json file.json")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintf(os.Stderr, "validate: %v\n", err)
		os.Exit(1)
	}
}

func run(schemaFile, file string) error {
	var schema jsonschema.Schema
	if err := read(schemaFile, &schema); err != nil {
		return err
	}
	// The draft of the schema is older than the package's; the keywords used are the same.
	schema.Schema = ""
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return fmt.Errorf("resolve %s: %w", schemaFile, err)
	}
	var value any
	if err := read(file, &value); err != nil {
		return err
	}
	if err := resolved.Validate(value); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	return nil
}

func read(file string, into any) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	return nil
}
