package node_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/clock"
	"github.com/linchpindb/linchpin/pkg/engine"
	"github.com/linchpindb/linchpin/pkg/engine/memstore"
	"github.com/linchpindb/linchpin/pkg/entry"
	"github.com/linchpindb/linchpin/pkg/hotshard"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/pkg/node"
)

var errBroken = errors.New("the store is broken")

// broken is an engine on a full disk. It reclaims space until its context ends, and fails to recover or to
// append meanwhile.
type broken struct {
	engine.Engine
	noRecovery bool
	reclaiming chan struct{}
	reclaimed  atomic.Bool
}

func (b *broken) FreeBytes() (uint64, error) { return 0, nil }

func (b *broken) Sparing(bool) {}

func (b *broken) Reclaim(ctx context.Context) error {
	close(b.reclaiming)
	<-ctx.Done()
	b.reclaimed.Store(true)
	return ctx.Err()
}

func (b *broken) Recover(s kv.ShardID, visit func(entry.Table, entry.Row) error) error {
	if b.noRecovery {
		<-b.reclaiming
		return errBroken
	}
	return b.Engine.Recover(s, visit)
}

func (b *broken) Append([]entry.Group) (engine.Position, error) {
	<-b.reclaiming
	return 0, errBroken
}

// A failed Start must not leave a goroutine that uses the engine, which its owner closes next.
func TestFailedStartStopsGoroutines(t *testing.T) {
	for name, noRecovery := range map[string]bool{"a shard cannot be recovered": true,
		"an incarnation cannot be saved": false} {
		t.Run(name, func(t *testing.T) {
			e := &broken{Engine: memstore.NewAutoSync(), noRecovery: noRecovery, reclaiming: make(chan struct{})}
			opt := node.Options{ID: 1, Engine: e, DiskReserve: 1, Clock: clock.NewManual(1, 1)}
			var err error
			opt.Router, err = hotshard.NewRouter(1, 1, nil)
			require.NoError(t, err)
			_, err = node.Start(opt)
			require.ErrorIs(t, err, errBroken)
			require.True(t, e.reclaimed.Load())
			require.NoError(t, e.Close())
		})
	}
}
