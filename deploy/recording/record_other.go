//go:build !linux

package main

import "errors"

func record([]step, string) ([]event, error) {
	return nil, errors.New("a session is recorded on Linux; elsewhere, draw the asciicast: -draw")
}
