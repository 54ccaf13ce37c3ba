package gateway

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// CreateSnapshot retains a snapshot of the whole store, of one instant during this call, for a time.
func (g *Gateway) CreateSnapshot(ctx context.Context, name string, ttl time.Duration) (*msg.Snapshot, error) {
	return first(g.callRegistry(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.RetainSnapshot(now, cb, id, name, int64(ttl), deadline)
	}))
}

// Snapshots returns the named snapshots, oldest first.
func (g *Gateway) Snapshots(ctx context.Context) ([]msg.Snapshot, error) {
	return g.callRegistry(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.Snapshots(now, cb, id, deadline)
	})
}

// DropSnapshot drops a snapshot and returns its description.
func (g *Gateway) DropSnapshot(ctx context.Context, at txn.SnapshotRef) (*msg.Snapshot, error) {
	return first(g.callRegistry(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.DropSnapshot(now, cb, id, at, deadline)
	}))
}

func first(ps []msg.Snapshot, err error) (*msg.Snapshot, error) {
	if err != nil {
		return nil, err
	}
	return &ps[0], nil
}

// callRegistry makes a call about snapshots. All go to the first stripe, so that concurrent ones share a
// round.
func (g *Gateway) callRegistry(ctx context.Context, f func(m *txn.Gateway, now int64, cb callback, id kv.TxnID,
	deadline int64)) ([]msg.Snapshot, error) {
	if g.closed.Load() {
		return nil, errDraining
	}
	var id kv.TxnID
	g.run(g.stripes[0], func(m *txn.Gateway, _ int64) { id = txn.NewID(m) })
	deadline := localDeadline(g.opt.Clock.Now(), deadlineOf(ctx))
	d, err := g.await(ctx, id, func(m *txn.Gateway, now int64, cb callback) { f(m, now, cb, id, deadline) })
	if err != nil {
		return nil, err
	}
	return d.Snapshots, doneError(g, d)
}
