//go:build !cgo

package embed

// withCgo: see memory_cgo.go.
const withCgo = false
