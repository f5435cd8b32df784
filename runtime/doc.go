// Package runtime is the parent of the packages that deskhand uses while it
// serves. It contains only this file and the test that checks the direction of
// imports.
package runtime
