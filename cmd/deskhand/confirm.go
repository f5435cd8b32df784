package main

import (
	"bufio"
	"fmt"
	"strings"
)

// confirmed asks the person at the terminal a question that only yes answers.
// Without a terminal it is refused: --yes is how a script says it.
func (a *app) confirmed(question string, yes bool) error {
	if yes {
		return nil
	}
	if !onTerminal(a.stdin) {
		return misuse("this asks before it does something, and there is no terminal", "add --yes")
	}
	fmt.Fprintf(a.stderr, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.stdin).ReadString('\n')
	if answer := strings.ToLower(strings.TrimSpace(line)); answer == "y" || answer == "yes" {
		return nil
	} else if err != nil && line == "" {
		return fmt.Errorf("read the answer: %w", err)
	}
	return misuse("nothing was done", "answer y, or add --yes")
}
