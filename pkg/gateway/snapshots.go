package gateway

import (
	"context"
	"time"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// CreateSnapshot keeps the state of the whole store at one instant of this
// call, for a time.
func (g *Gateway) CreateSnapshot(ctx context.Context, name string, ttl time.Duration) (*msg.Snapshot, error) {
	return one(g.aboutPins(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.KeepSnapshot(now, cb, id, name, int64(ttl), deadline)
	}))
}

// Snapshots lists those that have a name, oldest first.
func (g *Gateway) Snapshots(ctx context.Context) ([]msg.Snapshot, error) {
	return g.aboutPins(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.Snapshots(now, cb, id, deadline)
	})
}

// DropSnapshot gives a snapshot up, and tells what it was.
func (g *Gateway) DropSnapshot(ctx context.Context, at txn.At) (*msg.Snapshot, error) {
	return one(g.aboutPins(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.DropSnapshot(now, cb, id, at, deadline)
	}))
}

func one(ps []msg.Snapshot, err error) (*msg.Snapshot, error) {
	if err != nil {
		return nil, err
	}
	return &ps[0], nil
}

// aboutPins makes a call about pins. All go to the first stripe, so that who asks at
// a time shares a round.
func (g *Gateway) aboutPins(ctx context.Context, f func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64)) ([]msg.Snapshot, error) {
	if g.closed.Load() {
		return nil, errDraining
	}
	var id kv.TxnID
	g.run(g.stripes[0], func(m *txn.Gateway, _ int64) { id = txn.OwnID(m) })
	deadline := g.deadline(g.opt.Clock.Now(), deadlineOf(ctx))
	d, err := g.await(ctx, id, func(m *txn.Gateway, now int64, cb callback) { f(m, now, cb, id, deadline) })
	if err != nil {
		return nil, err
	}
	return d.Pins, doneError(g, d)
}
