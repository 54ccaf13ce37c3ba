package integration

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/linchpindb/linchpin/pkg/client"
	"github.com/linchpindb/linchpin/pkg/kv"
	"github.com/linchpindb/linchpin/test/integration/proc"
)

// What readers are told whose shard has restarted: those that were registered
// there, and those that read at a state that it was to keep.
const (
	toldLapsed   = "the shard has restarted"
	toldNotKept  = "a shard no longer keeps the state that the transaction reads"
	toldLeftOut  = "did not respond to the snapshot round in time"
	readersAsked = 2 // of each kind
)

// restarting is a node with readers, which read two keys of it first.
type restarting struct {
	c  *proc.Cluster
	db *client.DB
	// third is one more key of it, other one of another node.
	lost, lone, third, other string
	// What they read later: nothing, the key of another node, the third.
	silent, elsewhere, again []*openReader
	quick                    []*openReader
	// waiting is an update of what all of them have read.
	waiting <-chan error
}

func newRestarting(t *testing.T) *restarting {
	t.Helper()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(20))
	// Its updates wait for the node, however long that takes to come back.
	db := proc.Open(t, []string{c.Node(2).Addr}).With(client.WaitForNodes())
	x := &restarting{c: c, db: db, lost: at[1][0], lone: at[1][1], third: at[1][2], other: at[2][0]}
	fill(t, x.db, x.lost, x.lone, x.third, x.other)
	return x
}

func (x *restarting) open(ctx context.Context, t *testing.T) {
	t.Helper()
	hasty := proc.Open(t, []string{x.c.Node(0).Addr}).With(client.NoRetry())
	both := []string{x.lost, x.lone}
	x.silent = openReaders(ctx, t, hasty, readersAsked, both, nil)
	x.elsewhere = openReaders(ctx, t, hasty, readersAsked, both, []string{x.other})
	x.again = openReaders(ctx, t, hasty, readersAsked, both, []string{x.third})
	x.quick = openReaders(ctx, t, hasty, readersAsked, both, nil)
	x.waiting = writer(func() error { return putAll(ctx, x.db, x.lone) })
}

// ends has readers end, and holds that each is told at once, has seen one state
// if it ends well, and else is told one of some texts.
func ends(t *testing.T, rs []*openReader, wellToo bool, texts ...string) {
	t.Helper()
	for _, r := range rs {
		begin := time.Now()
		err := r.end(t)
		require.Less(t, proc.Elapsed(begin), busy, "it is told at once")
		require.Equal(t, []string{"before", "before"}, r.saw)
		if err == nil && wellToo {
			for _, v := range r.later {
				require.Equal(t, "before", v, "two states")
			}
			continue
		}
		require.Equal(t, kv.KindAborted, kv.KindOf(err), "%v, after it saw %q and %q", err, r.saw, r.later)
		text := err.Error()
		require.True(t, slices.ContainsFunc(texts, func(w string) bool { return strings.Contains(text, w) }), text)
	}
}

// TestShardRestartsUnderReaders: a node is killed and started again while
// readers are registered on it, and hold updates, or have been pinned. Those
// that are pinned end well if they do not read there any more, and else are told
// that their state is not kept. Those that are not are told that they have
// lapsed, unless they are pinned after the restart, while their lease stands.
// All are told soon, and none ends well with values of two states. The updates go on when the lease
// of the readers that the shard has forgotten is over.
func TestShardRestartsUnderReaders(t *testing.T) {
	t.Parallel()
	for _, pinned := range []bool{false, true} {
		t.Run(map[bool]string{false: "held", true: "pinned"}[pinned], func(t *testing.T) {
			t.Parallel()
			x, ctx := newRestarting(t), soon(t)
			x.open(ctx, t)
			proc.Until(t, "the update is held, or through", func(ctx context.Context) bool {
				n, err := x.c.Sum(ctx, "linchpin_shard_held_updates")
				return !pinned && err == nil && n > 0 || len(x.waiting) > 0
			}, func() string { return "" })
			x.c.Node(1).Kill()
			ends(t, x.quick, true, toldLapsed) // while the leases stand
			x.c.Node(1).Start(t)
			back := time.Now()
			fresh := writer(func() error { return putAll(ctx, x.db, x.lost, x.third, x.other) })
			goesOn(t, x.waiting, back, kv.DefaultLease+busy, "an update that waited")
			goesOn(t, fresh, back, kv.DefaultLease+busy, "an update that came later")
			x.c.WaitConnected(t)  // so that no node takes it for down
			if pinned { // the update was through, so all of them were
				ends(t, x.silent, true, toldLeftOut)
				ends(t, x.elsewhere, true, toldLeftOut)
				ends(t, x.again, false, toldNotKept, toldLeftOut)
			} else {
				ends(t, x.silent, true, toldLapsed, toldLeftOut)
				ends(t, x.elsewhere, true, toldLapsed, toldLeftOut)
				ends(t, x.again, true, toldLapsed, toldNotKept, toldLeftOut)
			}
			// With retries the same readers are run again, and end well.
			all := []string{x.lost, x.lone, x.other}
			last := openReaders(ctx, t, proc.Open(t, []string{x.c.Node(0).Addr}), 1, all, nil)[0]
			require.NoError(t, last.end(t))
			require.Equal(t, []string{"after", "after", "after"}, last.saw)
			x.c.RequireQuiescent(t, leftWithin)
		})
	}
}
