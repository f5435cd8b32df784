// Package runtime holds everything that lives while deskhand serves. The folder
// itself has only this file and the test of the direction of imports.
package runtime
