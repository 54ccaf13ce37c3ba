package client

import (
	"time"

	pb "github.com/linchpindb/linchpin/pkg/rpc/linchpinpb"
)

// Addr is the address of the node that a client is connected to, empty if it is not connected.
func Addr(db *DB) string { return db.addr() }

// ByPlan has read-only transactions read by a plan.
func ByPlan(p pb.ReadPlan) CallOption { return func(h *how) { h.plan = p } }

// ReadEvery sets how long a page of a scan waits for the caller before the next one is received.
func ReadEvery(d time.Duration) Option { return func(o *options) { o.readEvery = d } }
