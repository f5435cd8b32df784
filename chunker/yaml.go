package chunker

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
)

// DecodeYAML decodes src into v and returns the problems, or nil if there are none.
// Each problem has its line in src, or 0 if the line is unknown. DecodeYAML never
// panics.
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

// unmarshal calls yaml.Unmarshal and converts a panic to an error.
func unmarshal(src []byte, v any) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	return yaml.Unmarshal(src, v)
}

// maxBadLineLines and maxBadLineBytes limit the input of firstBadLine, because it
// parses its input once per line.
const (
	maxBadLineLines = 200
	maxBadLineBytes = 16 << 10
)

// firstBadLine returns the line of src that causes err, or 0 if all of src can be
// parsed. It is the line after the longest sequence of initial lines that can be
// parsed. The parser's line numbers are sometimes off by one and sometimes missing,
// so they are used only if src is too large for this search.
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

var yamlPrefix = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(?:yaml: )?(?:line (\d+): )?`) })

// yamlLine returns the line number in a YAML library message, or 0 if there is none.
func yamlLine(message string) int {
	line, _ := strconv.Atoi(yamlPrefix().FindStringSubmatch(message)[1])
	return line
}

// yamlReason returns the message without its line number, on one line.
func yamlReason(message string) string {
	reason := message[len(yamlPrefix().FindString(message)):]
	return strings.TrimRight(strings.ReplaceAll(reason, "\n", " "), ".")
}
