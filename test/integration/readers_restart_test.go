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

// Errors of readers whose shard has restarted: they were registered there, they read a snapshot that it
// retained, or the shard was late for their snapshot round.
const (
	lapsedText      = "the shard has restarted"
	notRetainedText = "a shard no longer keeps the state that the transaction reads"
	lateShardText   = "did not respond to the snapshot round in time"
	readersPerKind  = 2 // of each kind
)

// restartCase is a cluster with readers that have read two keys of the node that is restarted.
type restartCase struct {
	c  *proc.Cluster
	db *client.DB
	// first, second and third are keys of that node, other is a key of another node.
	first, second, third, other string
	// What the readers read later: nothing, other, or third. The early ones end before the restart.
	idle, otherNode, sameNode []*openReader
	early                     []*openReader
	// waiting is an update of a key that all readers have read.
	waiting <-chan error
}

func newRestartCase(t *testing.T) *restartCase {
	t.Helper()
	c := proc.StartCluster(t, proc.Options{})
	at := c.KeysByNode(t, keysOf(20))
	// Its updates wait for the restart.
	db := proc.Open(t, []string{c.Node(2).Addr}).With(client.WaitForNodes())
	x := &restartCase{c: c, db: db, first: at[1][0], second: at[1][1], third: at[1][2], other: at[2][0]}
	fill(t, x.db, x.first, x.second, x.third, x.other)
	return x
}

func (x *restartCase) open(ctx context.Context, t *testing.T) {
	t.Helper()
	noRetry := proc.Open(t, []string{x.c.Node(0).Addr}).With(client.NoRetry())
	both := []string{x.first, x.second}
	x.idle = openReaders(ctx, t, noRetry, readersPerKind, both, nil)
	x.otherNode = openReaders(ctx, t, noRetry, readersPerKind, both, []string{x.other})
	x.sameNode = openReaders(ctx, t, noRetry, readersPerKind, both, []string{x.third})
	x.early = openReaders(ctx, t, noRetry, readersPerKind, both, nil)
	x.waiting = runAsync(func() error { return putAll(ctx, x.db, x.second) })
}

// requireEnds resumes readers and requires that each ends at once. A reader that commits, if that is
// allowed, has read one state. One that aborts has one of the error texts.
func requireEnds(t *testing.T, rs []*openReader, mayCommit bool, texts ...string) {
	t.Helper()
	for _, r := range rs {
		begin := time.Now()
		err := r.finish(t)
		require.Less(t, proc.Elapsed(begin), machineSlack, "it ends at once")
		require.Equal(t, []string{"before", "before"}, r.first)
		if err == nil && mayCommit {
			for _, v := range r.later {
				require.Equal(t, "before", v, "two states")
			}
			continue
		}
		require.Equal(t, kv.KindAborted, kv.KindOf(err), "%v, after reading %q and %q", err, r.first, r.later)
		text := err.Error()
		require.True(t, slices.ContainsFunc(texts, func(w string) bool { return strings.Contains(text, w) }), text)
	}
}

// TestReadersSeeOneStateAcrossShardRestart: a node is killed and started again while readers are registered
// on it and block an update ("held"), or after they have continued at a snapshot ("snapshot").
//
//  1. Readers at a snapshot commit if they read nothing more on that node; else their snapshot is not retained there.
//  2. Registered readers abort, unless a snapshot is fixed for them after the restart, while their lease lasts.
//  3. All of them end at once, and none commits with values of two states.
//  4. Updates continue when the leases of the readers that the shard has forgotten have expired.
func TestReadersSeeOneStateAcrossShardRestart(t *testing.T) {
	t.Parallel()
	for _, atSnapshot := range []bool{false, true} {
		t.Run(map[bool]string{false: "held", true: "snapshot"}[atSnapshot], func(t *testing.T) {
			t.Parallel()
			x, ctx := newRestartCase(t), testContext(t)
			x.open(ctx, t)
			proc.Until(t, "the update is held or has committed", func(ctx context.Context) bool {
				n, err := x.c.Sum(ctx, "linchpin_shard_held_updates")
				return !atSnapshot && err == nil && n > 0 || len(x.waiting) > 0
			}, func() string { return "" })
			x.c.Node(1).Kill()
			requireEnds(t, x.early, true, lapsedText) // before their leases expire
			x.c.Node(1).Start(t)
			back := time.Now()
			later := runAsync(func() error { return putAll(ctx, x.db, x.first, x.third, x.other) })
			requireCommits(t, x.waiting, back, kv.DefaultLease+machineSlack, "an update from before the restart")
			requireCommits(t, later, back, kv.DefaultLease+machineSlack, "an update from after the restart")
			x.c.WaitConnected(t) // so that no node considers it down
			if atSnapshot {      // the update has committed, so all readers are at snapshots
				requireEnds(t, x.idle, true, lateShardText)
				requireEnds(t, x.otherNode, true, lateShardText)
				requireEnds(t, x.sameNode, false, notRetainedText, lateShardText)
			} else {
				requireEnds(t, x.idle, true, lapsedText, lateShardText)
				requireEnds(t, x.otherNode, true, lapsedText, lateShardText)
				requireEnds(t, x.sameNode, true, lapsedText, notRetainedText, lateShardText)
			}
			// With retries such readers succeed.
			all := []string{x.first, x.second, x.other}
			last := openReaders(ctx, t, proc.Open(t, []string{x.c.Node(0).Addr}), 1, all, nil)[0]
			require.NoError(t, last.finish(t))
			require.Equal(t, []string{"after", "after", "after"}, last.first)
			x.c.RequireQuiescent(t, quiescentWithin)
		})
	}
}
