package gateway

import (
	"context"

	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// Hot returns the status of the hot shard.
func (g *Gateway) Hot(ctx context.Context) (*msg.HotStatusResponse, error) {
	return g.callHotShard(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.HotStatus(now, cb, id, deadline)
	})
}

// SetHot sets a rule, unless it is nil, and the mode, unless that is 0 (msg.SetHot), and returns the status
// after that.
func (g *Gateway) SetHot(ctx context.Context, rule *msg.HotRule, mode uint32) (*msg.HotStatusResponse, error) {
	return g.callHotShard(ctx, func(m *txn.Gateway, now int64, cb callback, id kv.TxnID, deadline int64) {
		m.SetHotPolicy(now, cb, id, rule, mode, deadline)
	})
}

func (g *Gateway) callHotShard(ctx context.Context, f func(m *txn.Gateway, now int64, cb callback, id kv.TxnID,
	deadline int64)) (*msg.HotStatusResponse, error) {
	if g.closed.Load() {
		return nil, errDraining
	}
	id := g.NewID()
	deadline := localDeadline(g.opt.Clock.Now(), deadlineOf(ctx))
	d, err := g.await(ctx, id, func(m *txn.Gateway, now int64, cb callback) { f(m, now, cb, id, deadline) })
	if err != nil {
		return nil, err
	}
	return d.Hot, doneError(g, d)
}
