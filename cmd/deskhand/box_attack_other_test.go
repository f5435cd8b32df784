//go:build !linux

package main

import "errors"

func ptrace(int) error { return errors.New("not here") }
