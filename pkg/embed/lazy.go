package embed

import (
	"context"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/linchpindb/linchpin/pkg/gateway"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/msg"
	"github.com/linchpindb/linchpin/pkg/server"
	"github.com/linchpindb/linchpin/pkg/txn"
)

// lazyBackend refuses everything until the cluster is formed.
type lazyBackend struct {
	ready atomic.Pointer[backend]
}

func notFormed() *kv.Error {
	return &kv.Error{Kind: kv.KindUnavailable, Op: -1, Text: "the node has not met all initial members of its cluster yet",
		Hint: "start the other members with the same --join list"}
}

func (l *lazyBackend) Now() int64 {
	if b := l.ready.Load(); b != nil {
		return b.Now()
	}
	return 0
}

func (l *lazyBackend) NewID() kv.TxnID {
	if b := l.ready.Load(); b != nil {
		return b.NewID()
	}
	return kv.TxnID{Time: time.Now().UnixNano(), Rand: rand.Uint64()}
}

func (l *lazyBackend) Submit(req gateway.Request, done func(gateway.Response)) {
	if b := l.ready.Load(); b != nil {
		b.Submit(req, done)
		return
	}
	done(gateway.Response{ID: req.ID, Err: notFormed()})
}

func (l *lazyBackend) Begin(ctx context.Context, o gateway.TxOptions) (server.Tx, error) {
	if b := l.ready.Load(); b != nil {
		return b.Begin(ctx, o)
	}
	return nil, notFormed()
}

func (l *lazyBackend) Scan(ctx context.Context, o gateway.ScanOptions, page func([]msg.Pair) error) error {
	if b := l.ready.Load(); b != nil {
		return b.Scan(ctx, o, page)
	}
	return notFormed()
}

func (l *lazyBackend) Outcome(ctx context.Context, id kv.TxnID, user kv.Account) (gateway.Outcome, error) {
	if b := l.ready.Load(); b != nil {
		return b.Outcome(ctx, id, user)
	}
	return gateway.Outcome{}, notFormed()
}

func (l *lazyBackend) CreateSnapshot(ctx context.Context, name string, ttl time.Duration) (*msg.Snapshot, error) {
	if b := l.ready.Load(); b != nil {
		return b.CreateSnapshot(ctx, name, ttl)
	}
	return nil, notFormed()
}

func (l *lazyBackend) Snapshots(ctx context.Context) ([]msg.Snapshot, error) {
	if b := l.ready.Load(); b != nil {
		return b.Snapshots(ctx)
	}
	return nil, notFormed()
}

func (l *lazyBackend) DropSnapshot(ctx context.Context, at txn.SnapshotRef) (*msg.Snapshot, error) {
	if b := l.ready.Load(); b != nil {
		return b.DropSnapshot(ctx, at)
	}
	return nil, notFormed()
}

func (l *lazyBackend) Hot(ctx context.Context) (*msg.HotStatusResponse, error) {
	if b := l.ready.Load(); b != nil {
		return b.Hot(ctx)
	}
	return nil, notFormed()
}

func (l *lazyBackend) SetHot(ctx context.Context, rule *msg.HotRule, mode uint32) (*msg.HotStatusResponse, error) {
	if b := l.ready.Load(); b != nil {
		return b.SetHot(ctx, rule, mode)
	}
	return nil, notFormed()
}

func (l *lazyBackend) Status() server.Status {
	if b := l.ready.Load(); b != nil {
		return b.Status()
	}
	return server.Status{}
}

func (l *lazyBackend) Shards() []server.ShardStatus {
	if b := l.ready.Load(); b != nil {
		return b.Shards()
	}
	return nil
}

func (l *lazyBackend) HotKeys(n int) []server.HotKey {
	if b := l.ready.Load(); b != nil {
		return b.HotKeys(n)
	}
	return nil
}

func (l *lazyBackend) Activity(since int64, receipts, waits int) server.Activity {
	if b := l.ready.Load(); b != nil {
		return b.Activity(since, receipts, waits)
	}
	return server.Activity{}
}

func (l *lazyBackend) Reclaimable() uint64 {
	if b := l.ready.Load(); b != nil {
		return b.Reclaimable()
	}
	return 0
}

func (l *lazyBackend) Reclaim(ctx context.Context, progress func(done, total int)) (server.Reclaimed, error) {
	if b := l.ready.Load(); b != nil {
		return b.Reclaim(ctx, progress)
	}
	return server.Reclaimed{}, notFormed()
}

func (l *lazyBackend) CancelTransaction(id kv.TxnID) bool {
	b := l.ready.Load()
	return b != nil && b.CancelTransaction(id)
}

func (l *lazyBackend) AskNode(ctx context.Context, node kv.NodeID, question []byte) ([]byte, error) {
	if b := l.ready.Load(); b != nil {
		return b.AskNode(ctx, node, question)
	}
	return nil, notFormed()
}

// answer answers what other nodes ask this one.
func (l *lazyBackend) answer(question []byte) []byte { return server.AnswerNode(l, question) }
