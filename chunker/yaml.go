package chunker

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// DecodeYAML decodes src into v and returns the problems by line of src, 0 if
// unknown; nil if there are none. It never panics.
func DecodeYAML(src []byte, v any) []Problem {
	err := unmarshal(src, v)
	if err == nil {
		return nil
	}
	types := new(yaml.TypeError)
	if !errors.As(err, &types) {
		return []Problem{{firstBadLine(src, err), yamlReason(err.Error())}}
	}
	var problems []Problem
	for _, message := range types.Errors {
		problems = append(problems, Problem{yamlLine(message), yamlReason(message)})
	}
	return problems
}

// unmarshal is yaml.Unmarshal with a panic made an error.
func unmarshal(src []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return yaml.Unmarshal(src, v)
}

// maxBadLineLines and maxBadLineBytes bound the search of firstBadLine, which
// parses the text once per line.
const (
	maxBadLineLines = 200
	maxBadLineBytes = 16 << 10
)

// firstBadLine returns the line of src at which err arises: the one after the
// longest run of first lines that can be parsed, 0 if all of them can. The
// parser's own numbers are sometimes off by one, sometimes missing; they serve
// only for texts too large for the search.
func firstBadLine(src []byte, err error) int {
	lines := bytes.SplitAfter(src, newline)
	if len(lines) > maxBadLineLines || len(src) > maxBadLineBytes {
		return max(yamlLine(err.Error()), 1)
	}
	if unmarshal(src, new(yaml.Node)) == nil {
		return 0
	}
	length := len(src)
	for i := len(lines) - 1; i > 0; i-- {
		length -= len(lines[i])
		if unmarshal(src[:length], new(yaml.Node)) == nil {
			return i + 1
		}
	}
	return 1
}

var yamlPrefix = regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`)

// yamlLine is the line that a message of the YAML library names, else 0.
func yamlLine(message string) int {
	line, _ := strconv.Atoi(yamlPrefix.FindStringSubmatch(message)[1])
	return line
}

// yamlReason is the message without its line, on one line.
func yamlReason(message string) string {
	reason := message[len(yamlPrefix.FindString(message)):]
	return strings.TrimRight(strings.ReplaceAll(reason, "\n", " "), ".")
}
