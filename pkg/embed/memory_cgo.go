//go:build cgo

package embed

// withCgo: the blocks of the store's cache and its memtables are in memory of C. Without cgo, they are in Go's heap.
const withCgo = true
