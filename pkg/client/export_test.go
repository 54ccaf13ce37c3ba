package client

import (
	"time"
)

// Addr is the address of the node that a client is connected to, empty if it is not connected.
func Addr(db *DB) string { return db.link.Addr() }

// ReadEvery sets how long a page of a scan waits for the caller before the next one is received.
func ReadEvery(d time.Duration) Option { return func(o *options) { o.readEvery = d } }
